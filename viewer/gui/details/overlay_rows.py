"""Statistics of several tensors as rows to compare. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from viewer.gui.details.cell import Cell
from viewer.gui.format import NO_VALUE, format_count, format_exact, format_number
from viewer.tensors.results import Number, TensorSummary

HEADS: Final = (
    "tensor",
    "elements",
    "NaN",
    "inf",
    "min",
    "1 %",
    "median",
    "99 %",
    "max",
    "mean",
    "std",
    "L2 norm",
    "zeros",
)
_DIGITS: Final = 4


def statistics_row(name: str, path: str, summary: TensorSummary | None, problem: str) -> tuple[Cell, ...]:
    """A tensor's name and figures, in the order of HEADS; dashes with the reason where it could not be read."""
    first = Cell(name, path)
    if summary is None:
        return (first, *[Cell(NO_VALUE, problem, right=True)] * (len(HEADS) - 1))
    s = summary.statistics
    quantiles = {quantile.fraction: quantile for quantile in s.quantiles}
    cells = [first, _count(s.count), _count(s.nan, warns=True), _count(s.posinf + s.neginf, warns=True)]
    cells.append(_value(s.min))
    for fraction in (0.01, 0.5, 0.99):
        found = quantiles.get(fraction)
        if found is None:
            cells.append(_value(None))
        else:
            near = f"≈ {format_number(found.value, _DIGITS)}" if found.error else format_number(found.value, _DIGITS)
            exact = f"{format_exact(found.value)} ± {format_exact(found.error)}" if found.error else ""
            cells.append(Cell(near, exact or format_exact(found.value), right=True))
    cells += [_value(s.max), _value(s.mean), _value(s.std), _value(s.l2), _count(s.zeros)]
    return tuple(cells)


def short_names(paths: Sequence[str]) -> list[str]:
    """The paths without the parts that all of them begin with, but never without their last two."""
    split = [path.replace("/", "\0/").replace(".", "\0.").split("\0") for path in paths]
    n_common = 0
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        n_common += 1
    names = []
    for own in split:
        keep = max(0, min(n_common, len(own) - 2))
        names.append("".join(own[keep:]).lstrip("/.") if keep else "".join(own))
    return names


def _count(count: int, *, warns: bool = False) -> Cell:
    return Cell(
        f"⚠ {format_count(count)}" if warns and count else format_count(count), format_exact(count), right=True
    )


def _value(value: Number | None) -> Cell:
    if value is None:
        return Cell(NO_VALUE, right=True)
    return Cell(format_number(value, _DIGITS), format_exact(value), right=True)
