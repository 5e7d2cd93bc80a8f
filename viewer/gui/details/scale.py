"""From values to units of a drawn range and back, for every range that float64 holds."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Final

LARGEST: Final = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Scale:
    """0 is `low`, 1 is `high`; neither direction overflows.

    A plot's x axis counts in these units, not in values: a span of values may exceed the largest float64, or be so
    narrow and so far from 0 that the transform to pixels would round the bins away.
    """

    low: float
    high: float

    def to_unit(self, x: float) -> float:
        return (x / 2 - self.low / 2) / (self.high / 2 - self.low / 2)

    def to_value(self, unit: float) -> float:
        width = self.high - self.low
        if math.isfinite(width):  # from the nearer end, so that both ends come out exact
            value = self.low + unit * width if unit < 0.5 else self.high - (1 - unit) * width
        else:
            value = self.low * (1 - unit) + self.high * unit
        return clamp(value)


def clamp(x: float) -> float:
    """The nearest finite float64."""
    return max(-LARGEST, min(x, LARGEST))
