"""When a zoomed histogram deserves finer bins, and which. No Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from viewer.gui.details.bins import Bins
from viewer.gui.details.scale import Scale
from viewer.tensors.results import Statistics

_MOST_BINS: Final = 4096
_WHOLE: Final = 2**51
"""Up to here float64 has the places half-way between whole numbers."""


@dataclass(frozen=True, slots=True)
class Question:
    """A histogram to ask the engine for."""

    value_range: tuple[float, float]
    bins: int


def aligned_question(drawn: Bins, statistics: Statistics, wanted: int) -> Question | None:
    """Bins that hold whole numbers evenly, about as many as `wanted`: with fractional edges some would hold one more.

    None where the drawn bins are such ones, or the numbers exceed what a float64 tells apart.
    """
    low, high = statistics.min, statistics.max
    if not isinstance(low, int) or not isinstance(high, int) or max(abs(low), abs(high)) > _WHOLE:
        return None
    if drawn.constant is not None or all(_is_between(edge) for edge in drawn.edges):
        return None
    n_numbers = high - low + 1
    in_each = -(-n_numbers // wanted)
    bins = -(-n_numbers // in_each)
    return Question((low - 0.5, low - 0.5 + bins * in_each), bins)


def refined_question(
    drawn: Bins, visible: tuple[float, float], full: tuple[float, float], wanted: int
) -> Question | None:
    """Finer bins for the visible range and half of it again on either side, so that a small shift needs no scan.

    None where the drawn bins are fine enough, or cannot be finer: one bin for each whole number, or bins as wide as
    a few steps of float64.

    Parameters
    ----------
    wanted
        Bins to see at a time.
    """
    low, high = max(visible[0], full[0]), min(visible[1], full[1])
    if not low < high:
        return None
    if drawn.covers(low, high) and len(drawn.visible(low, high)) * 2 > wanted:
        return None
    if drawn.integral and drawn.covers(low, high) and drawn.bin_width <= 1:
        return None
    half = high / 2 - low / 2
    low, high = max(low - half, full[0]), min(high + half, full[1])
    bins = min(2 * wanted, _MOST_BINS)
    if drawn.integral:
        in_each = max(1, math.ceil((high - low) / bins))
        low = math.floor(low) - 0.5
        bins = max(1, math.ceil((high - low) / in_each))
        high = low + bins * in_each
    finest = 4 * math.ulp(max(abs(low), abs(high)))
    bins = min(bins, int(min((high / 2 - low / 2) / finest * 2, _MOST_BINS)))
    if bins < 2 or (drawn.covers(low, high) and (high / 2 - low / 2) * 2 / bins > drawn.bin_width * 0.75):
        return None
    return Question((low, high), bins)


def refined_log_question(
    drawn: Bins, visible: tuple[float, float], full: tuple[float, float], wanted: int
) -> Question | None:
    """As `refined_question`, for bins that are equal on a signed logarithm."""
    low, high = max(visible[0], full[0]), min(visible[1], full[1])
    if not low < high or (drawn.covers(low, high) and len(drawn.visible(low, high)) * 2 > wanted):
        return None
    whole = Scale(*full, drawn.threshold)
    first, last = whole.to_unit(low), whole.to_unit(high)
    half = (last - first) / 2
    first, last = max(first - half, 0.0), min(last + half, 1.0)
    low = full[0] if first == 0 else whole.to_value(first)
    high = full[1] if last == 1 else whole.to_value(last)
    bins = min(2 * wanted, _MOST_BINS)
    drawn_units = whole.to_unit(drawn.high) - whole.to_unit(drawn.low)
    is_finer = (last - first) / bins < 0.75 * drawn_units / len(drawn.counts)
    if (drawn.covers(low, high) and not is_finer) or high - low < bins * math.ulp(max(abs(low), abs(high))):
        return None
    return Question((low, high), bins)


def _is_between(edge: float) -> bool:
    """True half-way between two whole numbers."""
    return edge % 1 == 0.5
