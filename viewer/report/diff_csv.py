"""A comparison as comma-separated values: one line per row that counts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from viewer.compare.comparison import Comparison, status_name
from viewer.compare.results import Measures
from viewer.compare.task import difference_of_scalars
from viewer.report.diff_text import side_texts

_MEASURES: Final = tuple(field.name for field in fields(Measures) if field.name != "ulp_counts")
COLUMNS: Final = ("path", "path_b", "status", "bits", "numbers", "a", "b", *_MEASURES, "problem")


def iter_diff_csv(comparison: Comparison) -> Iterator[str]:
    """Lines with their line feeds, the names of the columns first. What is not known is empty."""
    yield _line(COLUMNS)
    for row in comparison.counted_rows():
        measures, result = comparison.measures(row), comparison.results.get(row)
        numbers: list[object] = [None] * len(_MEASURES)
        if measures is not None:
            numbers = [getattr(measures, name) for name in _MEASURES]
        else:
            numbers[_MEASURES.index("max_abs")] = difference_of_scalars(comparison, row)
        path_a, path_b = comparison.path_a(row), comparison.path_b(row)
        yield _line(
            (
                path_b if path_a is None else path_a,
                path_b,
                status_name(comparison.status(row)),
                *comparison.verdicts(row),
                *side_texts(comparison, row),
                *numbers,
                "" if result is None else result.problem,
            )
        )


def _line(cells: tuple[object, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["" if cell is None else _cell(cell) for cell in cells])
    return text.getvalue()


def _cell(cell: object) -> str:
    text = repr(cell) if isinstance(cell, float) else str(cell)
    # A name chosen by the file must not become a formula in a spreadsheet.
    return f"'{text}" if isinstance(cell, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
