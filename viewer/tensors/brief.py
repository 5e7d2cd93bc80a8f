"""A few numbers about a tensor, for lists of thousands of them: plain data, without torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TensorBrief:
    """What a list of tensors shows of one.

    Attributes
    ----------
    number
        Tensor number.
    count
        Elements.
    nan, inf
        Elements that are NaN, and infinite of either sign; of a complex number either part counts.
    zeros, negative
        Finite elements equal to 0, and below 0. Complex numbers are never below.
    norm
        Square root of the sum of |x|², summed in float64; None for integers, and where an element is not finite.
    min
        The smallest finite element; None for complex ones and where there is none.
    value
        The only element of a tensor that has one; None for all others.
    problem
        Why the values cannot be read; None where they were.
    """

    number: int
    count: int = 0
    nan: int = 0
    inf: int = 0
    zeros: int = 0
    negative: int = 0
    norm: float | None = None
    min: float | int | None = None
    value: bool | int | float | complex | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateScale:
    """How far Adam would move a parameter with the stored moments: derived, never stored.

    Attributes
    ----------
    formula
        What was computed, with the numbers put in.
    rms, largest
        Root of the mean square, and largest magnitude, of the step over all elements.
    rms_denominator
        Root of the mean of v̂: the typical size of a gradient.
    count
        Elements.
    """

    formula: str
    rms: float
    largest: float
    rms_denominator: float
    count: int
