"""What deserves a look among the numbers that a scan found. No Qt."""

from __future__ import annotations

from enum import IntFlag
from typing import Final

from viewer.gui.format import format_count, format_number
from viewer.tensors.scan_results import ScanRow


class Trouble(IntFlag):
    """Kinds of trouble, the worst first. A tensor may have several."""

    NAN = 1
    INF = 2
    UNREADABLE = 4
    ZERO = 8
    """All elements are 0."""
    CONSTANT_ROWS = 16
    """Some rows, but not all, hold one value throughout: dead units."""
    CONSTANT = 32
    """All elements are the same, but not 0."""


NO_TROUBLE: Final = Trouble(0)
ANY_TROUBLE: Final = ~NO_TROUBLE
WORDS: Final = {
    Trouble.NAN: "NaN",
    Trouble.INF: "inf",
    Trouble.UNREADABLE: "unreadable",
    Trouble.ZERO: "all zero",
    Trouble.CONSTANT_ROWS: "constant rows",
    Trouble.CONSTANT: "constant",
}

EXPLAINED: Final = {
    Trouble.NAN: "Some elements are not a number",
    Trouble.INF: "Some elements are infinite",
    Trouble.UNREADABLE: "The values could not be read",
    Trouble.ZERO: "All elements are 0",
    Trouble.CONSTANT_ROWS: "Rows of the first axis that hold one value throughout: units that are dead or untrained",
    Trouble.CONSTANT: "All elements are the same value, and not 0",
}


def troubles_of(row: ScanRow) -> Trouble:
    """What deserves a look in a tensor. One element alone is neither constant nor all zero: every scalar would be."""
    found = NO_TROUBLE
    if row.nan:
        found |= Trouble.NAN
    if row.posinf or row.neginf:
        found |= Trouble.INF
    if row.problem is not None and row.has_values:
        found |= Trouble.UNREADABLE
    if row.count > 1:
        if row.all_zero:
            found |= Trouble.ZERO
        elif row.constant:
            found |= Trouble.CONSTANT
        elif row.constant_rows:
            found |= Trouble.CONSTANT_ROWS
    return found


def worst(found: Trouble) -> Trouble:
    """The kind that a tensor is listed under first."""
    return next(kind for kind in Trouble if kind & found)


def trouble_words(row: ScanRow) -> str:
    """Each trouble of a tensor with its figure: "3 of 4,096 elements are NaN; 2 are +inf"."""
    parts = []
    if row.nan:
        parts.append(
            f"{_all_elements(row.count)} NaN"
            if row.nan == row.count
            else f"{format_count(row.nan)} of {format_count(row.count)} elements NaN"
        )
    if row.posinf:
        parts.append(f"{format_count(row.posinf)} +inf")
    if row.neginf:
        parts.append(f"{format_count(row.neginf)} −inf")
    if row.problem is not None:
        parts.append(row.problem)
    found = troubles_of(row)
    if found & Trouble.ZERO:
        parts.append(f"{_all_elements(row.count)} 0")
    if found & Trouble.CONSTANT and row.min is not None:
        parts.append(f"{_all_elements(row.count)} {format_number(row.min)}")
    if found & Trouble.CONSTANT_ROWS and row.constant_rows is not None:
        parts.append(f"{format_count(row.constant_rows)} of {format_count(row.rows)} rows constant")
    return ", ".join(parts)


def _all_elements(count: int) -> str:
    return "its only element is" if count == 1 else f"all {format_count(count)} elements are"
