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
