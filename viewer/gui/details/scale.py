"""From values to units of a drawn range and back, for every range that float64 holds."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Final

LARGEST: Final = sys.float_info.max
_LARGEST_PLACE: Final = 700.0
"""Not far above, the exponential exceeds the largest float64."""


@dataclass(frozen=True, slots=True)
class Scale:
    """0 is `low`, 1 is `high`; neither direction overflows.

    With a `threshold` the units are equal on a signed logarithm, sign(x) · ln(1 + |x| / threshold): straight about 0,
    logarithmic far from it.

    A plot's x axis counts in these units, not in values: a span of values may exceed the largest float64, or be so
    narrow and so far from 0 that the transform to pixels would round the bins away.
    """

    low: float
    high: float
    threshold: float | None = None

    def to_unit(self, x: float) -> float:
        if self.threshold is not None:
            low, high = signed_log(self.low, self.threshold), signed_log(self.high, self.threshold)
            return (signed_log(x, self.threshold) - low) / (high - low)
        return (x / 2 - self.low / 2) / (self.high / 2 - self.low / 2)

    def to_value(self, unit: float) -> float:
        if self.threshold is not None:
            low, high = signed_log(self.low, self.threshold), signed_log(self.high, self.threshold)
            place = low + unit * (high - low)
            if abs(place) > _LARGEST_PLACE:  # the exponential alone would overflow
                exponent = min(abs(place) + math.log(self.threshold), math.log(LARGEST))
                return clamp(math.copysign(math.exp(exponent), place))
            return clamp(math.copysign(math.expm1(abs(place)) * self.threshold, place))
        width = self.high - self.low
        if math.isfinite(width):  # from the nearer end, so that both ends come out exact
            value = self.low + unit * width if unit < 0.5 else self.high - (1 - unit) * width
        else:
            value = self.low * (1 - unit) + self.high * unit
        return clamp(value)


def signed_log(x: float, threshold: float) -> float:
    """As `viewer.tensors.signed_log.signed_log`, whose module needs numpy."""
    ratio = abs(x) / threshold
    place = math.log1p(ratio) if math.isfinite(ratio) else math.log(abs(x)) - math.log(threshold)
    return math.copysign(place, x)


def clamp(x: float) -> float:
    """The nearest finite float64."""
    return max(-LARGEST, min(x, LARGEST))
