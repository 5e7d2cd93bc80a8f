"""Quantiles as `numpy.quantile` defines them: between which two values in rising order, and where between."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate
from typing import Final

from viewer.tensors.results import Histogram, Quantile, Statistics

FRACTIONS: Final = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""The quantiles that are computed."""


def place_of(fraction: float, count: int) -> tuple[int, float]:
    """The rank of the value at or below a quantile of `count` values, and the share of the way to the next rank."""
    position = fraction * (count - 1)
    rank = int(position)
    return rank, position - rank


def interpolated(first: float, second: float, share: float) -> float:
    """The point between two values as numpy computes it (`numpy.lib._function_base_impl._lerp`)."""
    if share >= 0.5:
        return second - (second - first) * (1 - share)
    return first + (second - first) * share


def bounded_quantiles(histogram: Histogram, statistics: Statistics) -> tuple[Quantile, ...]:
    """The middle of the bin that each quantile lies in, give or take half its width (`FINE_BINS` of them or more).

    Where there is one value only, that.
    """
    if statistics.min is None or statistics.max is None or not histogram.total:
        return ()
    low, high = float(statistics.min), float(statistics.max)
    if low == high:
        return tuple(Quantile(fraction, low) for fraction in FRACTIONS)
    # The values outside a chosen range have a bin of their own on either side.
    starts = [low, *(min(max(edge, low), high) for edge in histogram.edges), high]
    reached = list(accumulate((histogram.underflow, *histogram.counts, histogram.overflow)))
    found: list[Quantile] = []
    for fraction in FRACTIONS:
        rank, share = place_of(fraction, histogram.total)
        first = bisect_right(reached, rank)
        second = bisect_right(reached, min(rank + 1, histogram.total - 1))
        lower = interpolated(starts[first], starts[second], share)
        upper = interpolated(starts[first + 1], starts[second + 1], share)
        # Halves, since the sum of two large floats may overflow; one unit more, since they round.
        value = lower / 2 + upper / 2
        found.append(Quantile(fraction, value, upper / 2 - lower / 2 + math.ulp(value)))
    return tuple(found)
