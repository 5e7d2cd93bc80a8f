"""Statistics of a tensor as named fields, in the order in which reports show them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from viewer.tensors.results import Statistics, TensorSummary

TEXT_COLUMNS: Final = ("min", "max", "mean", "std", "zeros", "nan", "+inf", "-inf")
"""Titles of the columns of a text report; `column_values` fills them."""

_FIRST: Final = ("count", "min", "max", "mean", "std", "zeros", "nan", "posinf", "neginf")
"""What most readers want stands first; the order of the rest is that of the dataclass."""


def column_values(statistics: Statistics) -> tuple[object, ...]:
    """One value for each of `TEXT_COLUMNS`."""
    return (
        statistics.min,
        statistics.max,
        statistics.mean,
        statistics.std,
        statistics.zeros,
        statistics.nan,
        statistics.posinf,
        statistics.neginf,
    )


def statistics_fields(statistics: Statistics) -> dict[str, object]:
    """Every statistic by its name; quantiles by their fraction. What has no value (the mean of nothing) is None."""
    fields: dict[str, object] = {name: getattr(statistics, name) for name in _FIRST}
    for field in dataclasses.fields(statistics):
        if field.name not in fields and field.name != "quantiles":
            fields[field.name] = getattr(statistics, field.name)
    fields["quantiles"] = [dataclasses.asdict(quantile) for quantile in statistics.quantiles]
    return fields


def summary_fields(summary: TensorSummary) -> dict[str, object]:
    """The statistics, what they are of, and those of the parts ("real" and "imaginary" of a complex tensor)."""
    fields = statistics_fields(summary.statistics)
    fields["of"] = summary.of
    if summary.parts:
        fields["parts"] = {part.name: statistics_fields(part.statistics) for part in summary.parts}
    return fields
