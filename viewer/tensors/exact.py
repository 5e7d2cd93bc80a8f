"""Sums without rounding: floats as Python integers in units of 2**-1126, and the moments that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

UNIT_BITS: Final = 1126
"""Every float64 is a multiple of 2**-1126: the smallest denormal is 2**-1074, and `math.frexp` gives 53 bits."""

_ROOT_BITS: Final = 128
"""Extra bits under the root, so that the only rounding of a standard deviation is the last one."""


def fixed(value: float) -> int:
    """`value` in units of 2**-1126, exactly; the value must be finite."""
    mantissa, exponent = math.frexp(value)
    return int(math.ldexp(mantissa, 53)) << (exponent - 53 + UNIT_BITS)


def fixed_square(value: float) -> int:
    """`value` in units of 2**-2252, the unit of squares and products."""
    return fixed(value) << UNIT_BITS


def shifted(value: int, bits: int) -> int:
    """`value` times 2**bits; bits that fall below the unit are dropped."""
    return value << bits if bits >= 0 else value >> -bits


def ratio(numerator: int, denominator: int) -> float:
    """The float64 nearest to the quotient; inf with its sign where it is beyond float64."""
    try:
        # Division of ints rounds correctly, whatever their size.
        return numerator / denominator
    except OverflowError:
        return math.inf if (numerator < 0) == (denominator < 0) else -math.inf


def root_ratio(numerator: int, denominator: int) -> float:
    """The square root of `numerator`, which must not be negative, over `denominator`."""
    return ratio(math.isqrt(numerator << (2 * _ROOT_BITS)), denominator << _ROOT_BITS)


@dataclass(slots=True)
class Moments:
    """Sums over finite values, in exact units.

    Attributes
    ----------
    count
        How many values.
    total
        Sum of x, in units of 2**-1126.
    absolute
        Sum of |x|, in the same unit.
    squares
        Sum of x², in units of 2**-2252.
    doubt
        How far off `total` may be.
    """

    count: int = 0
    total: int = 0
    absolute: int = 0
    squares: int = 0
    doubt: int = 0

    def merge(self, other: Moments) -> None:
        self.count += other.count
        self.total += other.total
        self.absolute += other.absolute
        self.squares += other.squares
        self.doubt += other.doubt

    def times(self, copies: int) -> Moments:
        """The moments of the same values, each `copies` times."""
        return Moments(
            self.count * copies,
            self.total * copies,
            self.absolute * copies,
            self.squares * copies,
            self.doubt * copies,
        )

    @property
    def is_doubtful(self) -> bool:
        """Whether the error of `total` can show in the last place of a float64."""
        return self.doubt << 55 > abs(self.total)

    @property
    def mean(self) -> float | None:
        return ratio(self.total, self.count << UNIT_BITS) if self.count else None

    @property
    def mean_abs(self) -> float | None:
        return ratio(self.absolute, self.count << UNIT_BITS) if self.count else None

    @property
    def l1(self) -> float:
        return ratio(self.absolute, 1 << UNIT_BITS)

    @property
    def l2(self) -> float:
        return root_ratio(self.squares, 1 << UNIT_BITS)

    @property
    def std(self) -> float | None:
        """sqrt(sum((x - mean)²) / count): the sum is squares - total² / count, and exact units do not cancel."""
        if not self.count:
            return None
        # The squares of floats are rounded sums (see viewer.tensors.moments), so this can fall below 0 by a hair.
        deviation = max(self.squares * self.count - self.total * self.total, 0)
        return root_ratio(deviation, self.count << UNIT_BITS)

    @property
    def std_sample(self) -> float | None:
        """As `std`, with divisor count - 1 under the root."""
        if self.count < 2:
            return None
        deviation = max(self.squares * self.count - self.total * self.total, 0)
        scaled = (deviation << (2 * _ROOT_BITS)) // (self.count * (self.count - 1))
        return ratio(math.isqrt(scaled), 1 << (UNIT_BITS + _ROOT_BITS))
