"""The figures that a scan of the values found, as cells of the tree. Free of Qt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from viewer.checkpoint.nodes import Kind
from viewer.gui.format import MINUS, NO_VALUE, format_count, format_exact, format_number
from viewer.gui.scan_troubles import trouble_words
from viewer.gui.tree.columns import Column
from viewer.gui.tree.display import DisplayTable
from viewer.tensors.results import Number
from viewer.tensors.scan_results import ScanRow

PENDING: Final = "…"
"""Not scanned yet."""
WARNS: Final = "⚠ "
_DIGITS: Final = 4
_COUNTED: Final = frozenset({Column.ZEROS, Column.NAN, Column.INF})
_WARNING: Final = frozenset({Column.NAN, Column.INF})

_FIGURES: Final[Mapping[int, Callable[[ScanRow], Number | None]]] = {
    Column.MIN: lambda row: row.min,
    Column.MAX: lambda row: row.max,
    Column.MEAN: lambda row: row.mean,
    Column.STD: lambda row: row.std,
    Column.NORM: lambda row: row.l2,
    Column.ZEROS: lambda row: row.zeros,
    Column.NAN: lambda row: row.nan,
    Column.INF: lambda row: row.posinf + row.neginf,
}


def scan_row(table: DisplayTable, row: int) -> ScanRow | None:
    """What the scan found of a row's tensor; None for other rows, and before."""
    number = table.tensor(row)
    return None if number is None else table.scan.get(number)


def figure(row: ScanRow, column: int) -> Number | None:
    """The figure of a column; None where the tensor has none."""
    return _FIGURES[column](row) if column in _FIGURES and row.problem is None else None


def scan_cell(table: DisplayTable, row: int, column: int) -> str:
    """The text of a cell that a scan fills. The histogram is drawn and has no text."""
    if table.tensor(row) is None:
        inside = table.nan_inside.get(row, 0)
        return f"{WARNS}{format_count(inside)}" if inside and column == Column.NAN else ""
    found = scan_row(table, row)
    if found is None:
        return PENDING
    if column == Column.HISTOGRAM:
        return "" if found.counts else NO_VALUE
    number = figure(found, column)
    if number is None:
        return NO_VALUE
    if column in _COUNTED:
        assert isinstance(number, int)
        return f"{WARNS}{format_count(number)}" if number and column in _WARNING else format_count(number)
    return format_number(number, _DIGITS)


def warns(table: DisplayTable, row: int, column: int) -> bool:
    """True for a count that deserves a look."""
    if column not in _WARNING:
        return False
    found = scan_row(table, row)
    if found is None:
        return column == Column.NAN and bool(table.nan_inside.get(row))
    return bool(figure(found, column))


def is_pending(table: DisplayTable, row: int) -> bool:
    """True for a tensor that is not scanned yet."""
    return table.kind(row) == Kind.TENSOR and scan_row(table, row) is None


def scan_tooltip(table: DisplayTable, row: int, column: int) -> str:
    """The exact figure of a cell, and what it is of."""
    if table.tensor(row) is None:
        inside = table.nan_inside.get(row, 0)
        return f"{format_count(inside)} NaN in the tensors scanned inside" if inside and column == Column.NAN else ""
    found = scan_row(table, row)
    if found is None:
        return "Not scanned yet"
    if found.problem is not None:
        return found.problem
    if column == Column.HISTOGRAM:
        return _histogram_words(found)
    number = figure(found, column)
    if number is None:
        return "No element is finite" if found.count else "The tensor is empty"
    if column == Column.INF and number:
        return f"{format_count(found.posinf)} +inf, {format_count(found.neginf)} {MINUS}inf"
    of = "" if found.of == "value" else f"\nof the {found.of}"
    share = f" of {format_count(found.count)} elements" if column in _COUNTED else ""
    return f"{format_exact(number)}{share}{of}"


def _histogram_words(found: ScanRow) -> str:
    lines = []
    if found.counts and found.min is not None and found.max is not None:
        lines.append(
            f"{len(found.counts)} bins from {format_exact(found.min)} to {format_exact(found.max)}; "
            "heights are square roots, so that tails show"
        )
    if words := trouble_words(found):
        lines.append(words)
    return "\n".join(lines)
