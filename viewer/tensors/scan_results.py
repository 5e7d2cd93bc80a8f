"""What a scan of a whole file finds of each tensor: plain data, without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.tensors.results import Number

MINI_BINS: Final = 24
"""Bins of the small histogram in a row."""


@dataclass(frozen=True, slots=True)
class ScanRow:
    """One tensor.

    Attributes
    ----------
    number
        Tensor number.
    of
        What the numbers are of, as in `TensorSummary.of`.
    count
        All elements.
    min, max, mean, std, l2
        Of the finite elements, as in `Statistics`; None where there is none.
    zeros, nan, posinf, neginf
        How many elements are.
    constant
        True where there are elements, all are finite, and all equal.
    all_zero
        True where there are elements and all are 0.
    constant_rows
        Rows (index of the first axis; at least 2 axes and 2 elements in a row) that hold one finite value throughout:
        units that are dead or never trained. None where rows are not looked at (integers and bits).
    rows
        How many rows there are where they are looked at, else 0.
    counts
        Of `MINI_BINS` equal bins from `min` to `max`; empty where no element is finite.
    problem
        Why the values cannot be read, or are none; None where they were read.
    has_values
        False for a sound tensor whose values are those of the rows below it (sparse, nested, a wrapper); `problem`
        says so.
    """

    number: int
    of: str = "value"
    count: int = 0
    min: Number | None = None
    max: Number | None = None
    mean: float | None = None
    std: float | None = None
    l2: float | None = None
    zeros: int = 0
    nan: int = 0
    posinf: int = 0
    neginf: int = 0
    constant: bool = False
    all_zero: bool = False
    constant_rows: int | None = None
    rows: int = 0
    counts: tuple[int, ...] = ()
    problem: str | None = None
    has_values: bool = True


@dataclass(frozen=True, slots=True)
class ScanBatch:
    """Rows of a running scan, each tensor once."""

    rows: list[ScanRow]


@dataclass(frozen=True, slots=True)
class ScanTotals:
    """A scan that is done.

    Attributes
    ----------
    tensors
        That have a row.
    problems
        Rows with a message instead of numbers.
    from_cache
        Rows that an earlier scan of the very same bytes had found.
    nbytes_read
        Bytes read from storages, over all passes.
    """

    tensors: int
    problems: int
    from_cache: int
    nbytes_read: int
