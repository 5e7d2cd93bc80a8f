"""Where the ticks of an axis lie and what they say. Neither Qt nor numpy."""

from __future__ import annotations

import math
from typing import Final

from viewer.gui.format import MINUS, format_count

_STEPS: Final = (1, 2, 5, 10)
_EXPONENT_FROM: Final = 6
"""Powers of ten from which values are written 2e6, and below whose negative 2e−6."""


def value_ticks(low: float, high: float, at_most: int, *, whole: bool = False) -> tuple[float, list[float]]:
    """Round values between low and high, and the step between them: 1, 2 or 5 times a power of ten.

    Both ends may be as large as a float64 holds. With `whole` the step is at least 1.
    """
    half = high / 2 - low / 2  # the span itself may exceed the largest float64
    if not half > 0:
        return 0.0, [low]
    raw = half / max(at_most, 1)
    exponent = math.floor(math.log10(raw) + math.log10(2))
    factor = next((step for step in _STEPS if _times_power(step, exponent) / 2 >= raw), 10)
    step = _times_power(factor, exponent)
    if whole and step < 1:
        factor, exponent, step = 1, 0, 1.0
    if not (math.isfinite(step) and step > 0):
        return high, [value for value in (low, high) if math.isfinite(value)]
    first, last = math.ceil(low / step), math.floor(high / step)
    ticks = [_times_power(factor * k, exponent) for k in range(first, min(last, first + 4 * at_most) + 1)]
    # Where the step is below the distance of neighbouring floats, several multiples round to one value.
    return step, sorted({tick for tick in ticks if low <= tick <= high})


def value_labels(ticks: list[float], step: float) -> list[str]:
    """The ticks with just the digits that tell them apart: −0.10, −0.05, 0, 0.05."""
    largest = max((abs(tick) for tick in ticks), default=0.0)
    if not largest or not step:
        return [_zero_or(f"{tick:.6g}") for tick in ticks]
    top = math.floor(math.log10(largest))
    bottom = math.floor(math.log10(step) + 1e-9)
    if top >= _EXPONENT_FROM or top < -_EXPONENT_FROM + 2:
        digits = max(0, min(top - bottom, 16))
        return [_exponent_form(tick, digits) for tick in ticks]
    return [_zero_or(f"{tick:,.{max(0, -bottom)}f}") for tick in ticks]


def signed_log_ticks(low: float, high: float, threshold: float, at_most: int) -> list[float]:
    """0 and powers of ten of either sign from the threshold on, as many as fit; none where fewer than two do."""
    first = math.ceil(math.log10(threshold))
    last = math.floor(math.log10(max(abs(low), abs(high), threshold)))
    sides = (low < 0) + (high > 0)
    stride = max(1, math.ceil((last - first + 1) * max(sides, 1) / max(at_most - 1, 1)))
    powers = [_times_power(1, exponent) for exponent in range(last, first - 1, -stride)]
    ticks = sorted({0.0, *powers, *(-power for power in powers)})
    inside = [tick for tick in ticks if low <= tick <= high]
    return inside if len(inside) > 1 else []


def power_labels(ticks: list[float]) -> list[str]:
    """Zero and powers of ten: −1e−5, 0, 0.01, 100."""
    return [_zero_or(f"{tick:,.6g}") if 1e-4 < abs(tick) < 1e6 else _exponent_form(tick, 0) for tick in ticks]


def count_ticks(highest: float, at_most: int) -> tuple[float, list[float]]:
    """Ticks of an axis of counts from 0 to `highest`: whole numbers."""
    return value_ticks(0.0, highest, at_most, whole=True)


def log_count_ticks(highest: float, at_most: int) -> list[int]:
    """Counts at which to put ticks under log counts, from 1 to 10 ** `highest`: powers of ten, or 1, 2, 5, 10."""
    decades = max(0, math.floor(highest))
    if decades < 2 and at_most >= 4:
        candidates = [1, 2, 5, 10, 20, 50, 100]
        return [count for count in candidates if math.log10(count) <= highest]
    stride = max(1, math.ceil((decades + 1) / max(at_most, 1)))
    return [10**k for k in range(0, decades + 1, stride)]


def count_label(count: float) -> str:
    """A count on an axis: 1,500, and from ten millions on 20 M or 3 G."""
    for unit, name in ((1e9, "G"), (1e6, "M")):
        if count >= unit and count >= 1e7:
            return f"{count / unit:,.6g} {name}"
    return format_count(round(count))


def _times_power(factor: float, exponent: int) -> float:
    """factor * 10**exponent, rounded once, as the decimal literal is."""
    try:
        return float(f"{factor}e{exponent}")
    except OverflowError:
        return math.inf


def _exponent_form(tick: float, digits: int) -> str:
    if not tick:
        return "0"
    mantissa, _, exponent = f"{tick:.{digits}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}".replace("-", MINUS)


def _zero_or(text: str) -> str:
    if not text.strip("-0.,"):
        return "0"
    return text.replace("-", MINUS)
