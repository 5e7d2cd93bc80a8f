"""What is shown of one pair of tensors on demand: plain picklable data, as in `viewer.compare.results`."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from viewer.compare.results import Measures
from viewer.tensors.results import Histogram, Number, Scalar


@dataclass(frozen=True, slots=True)
class ElementDifference:
    """One element of a pair.

    Attributes
    ----------
    index
        Flat, in logical (row-major) order; `position` is the same along each axis.
    difference
        |a - b|; inf for an infinity against anything else, None with a NaN.
    ulp
        Steps of the dtype between the two; None where that has no meaning.
    """

    index: int
    position: tuple[int, ...]
    a: Scalar
    b: Scalar
    difference: Number | None
    ulp: int | None


@dataclass(frozen=True, slots=True)
class ChangeProfile:
    """|b - a| along one axis of a tensor: one entry per `step` indexes on that axis.

    Attributes
    ----------
    step
        1 but on long axes: 4,096 entries are as many as a plot has pixels.
    mean_abs, max_abs
        Over the pairs of finite values; 0.0 where there are none.
    differ
        Pairs that are other numbers.
    """

    axis: int
    step: int
    mean_abs: array[float]
    max_abs: array[float]
    differ: array[int]


@dataclass(frozen=True, slots=True)
class SideFigures:
    """The finite values of one side, as float64; of complex ones the magnitudes. None where there are none.

    Attributes
    ----------
    std
        Root of the mean squared deviation from the mean.
    """

    finite: int
    min: float | None
    max: float | None
    mean: float | None
    std: float | None


@dataclass(frozen=True, slots=True)
class PairMaps:
    """Two tensors and their difference as images of one grid (see `viewer.compare.pair_map`).

    Attributes
    ----------
    rows, columns
        Of the whole grid.
    row_range, column_range
        The part that is drawn, as (first, end).
    height, width
        In pixels; pixel row i begins at the row of the part that is i · rows / height, rounded up.
    a, b, difference
        float64, row by row; NaN where something in the block is not finite.
    largest_value, largest_difference
        Largest magnitude of a finite pixel of both sides, and of the difference.
    """

    rows: int
    columns: int
    row_range: tuple[int, int]
    column_range: tuple[int, int]
    height: int
    width: int
    a: bytes
    b: bytes
    difference: bytes
    largest_value: float
    largest_difference: float

    @property
    def is_exact(self) -> bool:
        """Whether each pixel is one element."""
        return (
            self.row_range[1] - self.row_range[0] == self.height
            and self.column_range[1] - self.column_range[0] == self.width
        )


@dataclass(frozen=True, slots=True)
class PairDetails:
    """One pair of tensors, for a window that shows it.

    Attributes
    ----------
    node_a, node_b
        Node numbers in the two checkpoints.
    measures
        Of the pair.
    of
        What the histograms are of: "value", "magnitude" (complex), "dequantized value".
    histogram_a, histogram_b
        On the same edges.
    difference
        The histogram of b - a; for complex pairs of |b - a|.
    difference_log
        The same with edges at equal steps of log10 |b - a| on both sides of a middle bin that holds the zeros.
    profiles
        Along the first axis and along the second, where the tensor has them.
    largest
        The elements that differ most, those with a NaN or an infinity on one side first.
    figures_a, figures_b
        Of both sides.
    """

    node_a: int
    node_b: int
    measures: Measures
    of: str
    histogram_a: Histogram
    histogram_b: Histogram
    difference: Histogram
    difference_log: Histogram
    profiles: tuple[ChangeProfile, ...]
    largest: tuple[ElementDifference, ...]
    figures_a: SideFigures
    figures_b: SideFigures


def grid_of(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of a tensor laid flat: the first axis downwards, all others one after the other to the right;
    a vector is one row."""
    if len(shape) < 2:
        return 1, shape[0] if shape else 1
    columns = 1
    for extent in shape[1:]:
        columns *= extent
    return shape[0], columns
