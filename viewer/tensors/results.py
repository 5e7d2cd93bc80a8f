"""What is known about a tensor's values: plain picklable data that the window holds without numpy or torch."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TypeAlias

Number: TypeAlias = int | float
"""int for integer, bool and bit dtypes, where it is exact; float for all others."""

Scalar: TypeAlias = bool | int | float | complex
"""One element as Python has it. Every float dtype of torch fits a Python float without rounding."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """The value below which a fraction of the finite values lies, as `numpy.quantile` defines it (method "linear").

    Attributes
    ----------
    fraction
        0.5 for the median.
    value
        The quantile, or the middle of the interval that it is known to lie in.
    error
        The quantile is within `value` ± `error`; 0.0 where it is exact.
    """

    fraction: float
    value: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers about all elements of a tensor. What has no value (the mean of nothing) is None.

    `min` … `mean_abs`, `argmin`, `argmax` and `quantiles` are over the finite values; the others are counted apart.

    Attributes
    ----------
    count
        All elements.
    finite, nan, posinf, neginf
        Their kinds; these four sum to `count`.
    zeros
        Elements equal to 0, -0.0 among them.
    min, max
        Exact. int for integer dtypes.
    mean
        The sum divided by `finite`. Integers and types of at most 16 bits: the float64 nearest to the exact quotient.
        Others: summed in float64 with error-free splitting, so that it is within one unit in the last place also
        where the values cancel.
    std, std_sample
        Square root of the mean squared deviation, with divisor `finite` and `finite - 1`. `std_sample` is None for
        fewer than two finite values.
    l1, l2, mean_abs
        Sum of |x|, square root of the sum of x², mean of |x|. `l1` is an exact int for integer dtypes.
    negative
        Finite elements below 0 (-0.0 is not).
    denormal
        Non-zero elements smaller than the dtype's smallest normal number; 0 for integers.
    argmin, argmax, first_nan
        Flat index, in logical (row-major) order, of the first finite element equal to `min` and to `max`, and of the
        first NaN.
    distinct
        How many different finite values there are (-0.0 and 0.0 are one), where they were all counted.
    quantiles
        In the order of their fractions.
    """

    count: int
    finite: int
    nan: int = 0
    posinf: int = 0
    neginf: int = 0
    zeros: int = 0
    min: Number | None = None
    max: Number | None = None
    mean: float | None = None
    std: float | None = None
    std_sample: float | None = None
    l1: Number | None = None
    l2: float | None = None
    mean_abs: float | None = None
    negative: int = 0
    denormal: int = 0
    argmin: int | None = None
    argmax: int | None = None
    first_nan: int | None = None
    distinct: int | None = None
    quantiles: tuple[Quantile, ...] = ()


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts of the finite values between edges, as numpy has them.

    Bin i holds the values v with `edges[i] <= v < edges[i + 1]`; the last bin holds `edges[-1]` too.

    Attributes
    ----------
    edges
        float64, strictly increasing, one more than `counts`; empty where there are no bins.
    counts
        int64. With `underflow` and `overflow` they sum to the number of finite values; that is checked each time.
    underflow, overflow
        Finite values below the first edge and above the last; 0 unless a range was chosen.
    note
        A sentence where something needs saying (no finite value, every value the same …), or "".
    """

    edges: array[float] = field(default_factory=lambda: array("d"))
    counts: array[int] = field(default_factory=lambda: array("q"))
    underflow: int = 0
    overflow: int = 0
    note: str = ""

    @property
    def total(self) -> int:
        """Finite values, inside and outside the edges."""
        return sum(self.counts) + self.underflow + self.overflow


@dataclass(frozen=True, slots=True)
class PartSummary:
    """One way to look at values that are more than one number each: "real", "imaginary", "stored integer"."""

    name: str
    statistics: Statistics
    histogram: Histogram


@dataclass(frozen=True, slots=True)
class TensorSummary:
    """Statistics and histogram of one tensor.

    Attributes
    ----------
    number
        Tensor number in its checkpoint.
    dtype
        Name of the dtype.
    of
        What the statistics are of: "value", "magnitude" (complex), "dequantized value" or "bits".
    statistics, histogram
        Of that.
    parts
        The other ways: "real" and "imaginary" of complex tensors, "stored integer" of quantized ones.
    device
        Where it was computed.
    method
        How, in words.
    exact
        True where every element was looked at.
    complete
        False in the partial results of a running task: statistics stand, the histogram is still being counted.
    nbytes_read
        Bytes read from storages, over all passes.
    """

    number: int
    dtype: str
    of: str
    statistics: Statistics
    histogram: Histogram
    parts: tuple[PartSummary, ...] = ()
    device: str = "cpu"
    method: str = ""
    exact: bool = True
    complete: bool = True
    nbytes_read: int = 0


@dataclass(frozen=True, slots=True)
class ValueRange:
    """Consecutive elements in logical order.

    Attributes
    ----------
    start
        Flat index of the first.
    count
        Elements of the whole tensor; types that pack several values into one byte count each value.
    values
        Exact Python scalars: bool, int, float or complex. float16, bfloat16 and float8 values are floats.
    stored
        The stored integers of a quantized tensor, else None.
    """

    number: int
    dtype: str
    start: int
    count: int
    values: tuple[Scalar, ...]
    stored: tuple[int, ...] | None = None
