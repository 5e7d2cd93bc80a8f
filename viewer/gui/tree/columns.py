"""The columns of the tree."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Column(IntEnum):
    """The columns, in their order."""

    NAME = 0
    TYPE = 1
    SHAPE = 2
    ELEMENTS = 3
    SIZE = 4
    # What a scan of the values finds:
    HISTOGRAM = 5
    NAN = 6
    INF = 7
    MIN = 8
    MAX = 9
    MEAN = 10
    STD = 11
    NORM = 12
    ZEROS = 13


TITLES: Final = {
    Column.NAME: "Name",
    Column.TYPE: "dtype",
    Column.SHAPE: "shape",
    Column.ELEMENTS: "elements",
    Column.SIZE: "size",
    Column.HISTOGRAM: "histogram",
    Column.MIN: "min",
    Column.MAX: "max",
    Column.MEAN: "mean",
    Column.STD: "std",
    Column.NORM: "norm",
    Column.ZEROS: "zeros",
    Column.NAN: "NaN",
    Column.INF: "inf",
}

SCANNED: Final = tuple(column for column in Column if column >= Column.HISTOGRAM)
"""Those that a scan fills."""
AFTER_SCAN: Final = (Column.HISTOGRAM, Column.NAN, Column.MIN, Column.MAX, Column.MEAN, Column.STD)
"""Those that appear with a scan; the others are chosen in the header's menu."""
EXPLAINED: Final = {
    Column.MIN: "The least finite value",
    Column.MAX: "The greatest finite value",
    Column.MEAN: "The mean of the finite values",
    Column.STD: "The standard deviation of the finite values (of the population)",
    Column.NORM: "The L2 norm of the finite values",
    Column.ZEROS: "How many elements are 0",
    Column.NAN: "How many elements are NaN; of a group, of the tensors scanned inside",
    Column.INF: "How many elements are infinite",
    Column.HISTOGRAM: "The values in 24 bins from the least to the greatest; square root heights, so that tails show",
}
