"""The bins that a histogram plot draws, and what each of them says. Neither Qt nor numpy."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from viewer.gui.details.scale import Scale, clamp
from viewer.gui.format import format_count, format_number, format_percent

LOG_FLOOR: Final = math.log10(0.5)
"""Where log counts begin: an empty bin lies on the floor, a bin of count 1 stands above it (log10(1) is 0)."""


@dataclass(frozen=True, slots=True)
class Bins:
    """A histogram as it is drawn.

    Attributes
    ----------
    edges
        Ascending, one more than `counts`. A bin holds its left edge; the last one holds both.
    counts
        Elements in each bin.
    total
        Elements that percentages refer to: all of the tensor, non-finite ones included.
    integral
        True where the elements are integers or bool: a bin is then described by the integers in it.
    constant
        The one value that all finite elements have, where that is so; `counts` then holds one bar about it.
    threshold
        Of the signed logarithm on which the axis is drawn; None for a linear axis.
    below
        Finite elements below the first edge.
    """

    edges: Sequence[float]
    counts: Sequence[int]
    total: int
    integral: bool = False
    constant: complex | None = None
    threshold: float | None = None
    below: int = 0
    _digits: int = field(init=False, repr=False, default=6)

    def __post_init__(self) -> None:
        assert len(self.edges) == len(self.counts) + 1
        object.__setattr__(self, "_digits", _digits_to_tell_apart(self.edges))

    @property
    def scale(self) -> Scale:
        """From values to places on the axis."""
        return Scale(self.low, self.high, self.threshold)

    @property
    def low(self) -> float:
        return self.edges[0]

    @property
    def high(self) -> float:
        return self.edges[-1]

    @property
    def bin_width(self) -> float:
        """Width of the first bin; inf where it exceeds what a float64 holds."""
        return self.edges[1] - self.edges[0]

    def covers(self, low: float, high: float) -> bool:
        """True where the edges enclose the values from low to high."""
        return self.low <= low and high <= self.high

    def write(self, x: float) -> str:
        """A value on the axis, with as many digits as tell neighbouring edges apart."""
        return format_number(x, self._digits)

    def index_at(self, x: float) -> int | None:
        """The bin that holds x; None outside the edges."""
        if not self.low <= x <= self.high:
            return None
        return min(bisect_right(self.edges, x) - 1, len(self.counts) - 1)

    def visible(self, low: float, high: float) -> range:
        """The bins of which a part lies between low and high."""
        if high < self.low or low > self.high:
            return range(0)
        first = self.index_at(max(low, self.low))
        last = self.index_at(min(high, self.high))
        assert first is not None
        assert last is not None
        return range(first, last + 1)

    def tallest(self, low: float, high: float) -> int:
        """The largest count of a bin between low and high; 0 where there is none."""
        shown = self.visible(low, high)
        return max(self.counts[shown.start : shown.stop], default=0)

    def reached(self, index: int) -> int:
        """Finite elements in a bin and all those before it."""
        return self.below + sum(self.counts[: index + 1])

    def reached_words(self, index: int) -> tuple[str, str]:
        """What `reached` counts: the values, and how many there are."""
        if self.constant is not None:
            return self.interval(index), self.share(index)
        reached, last = self.reached(index), index == len(self.counts) - 1
        share = f"{format_count(reached)} of {format_count(self.total)} · {format_percent(reached, self.total)}"
        return f"{'≤' if last else '<'} {self.write(self.edges[index + 1])}", share

    def interval(self, index: int) -> str:
        """Which values a bin holds: "[0.03491, 0.03865)", or the integers in it."""
        if self.constant is not None:
            return f"= {format_number(self.constant)}"
        low, high = self.edges[index], self.edges[index + 1]
        last = index == len(self.counts) - 1
        if self.integral:
            first, final = math.ceil(low), math.floor(high) if last else math.ceil(high) - 1
            if first == final:
                return f"= {format_count(first)}"
            if first < final:
                return f"{format_count(first)} … {format_count(final)}"
        left, right = self.write(low), self.write(high)
        return f"[{left}, {right}{']' if last else ')'}"

    def share(self, index: int) -> str:
        """How many elements a bin holds: "1,604 of 36,864 · 4.35 %"."""
        count = self.counts[index]
        return f"{format_count(count)} of {format_count(self.total)} · {format_percent(count, self.total)}"


def constant_bins(value: float, count: int, total: int, *, integral: bool) -> tuple[Bins, tuple[float, float]]:
    """One bar for a tensor whose finite elements are all alike, and the range to show it in."""
    x = clamp(float(value))
    half = 0.5 if integral and abs(x) < 2**52 else max(abs(x) / 40, 8 * math.ulp(x)) if x else 0.05
    low, high = clamp(x - half), clamp(x + half)
    full = clamp(x - 8 * half), clamp(x + 8 * half)
    return Bins((low, high), (count,), total, integral=integral, constant=value), full


def log_count(count: int) -> float:
    """The height of a bin under log counts."""
    return math.log10(count) if count else LOG_FLOOR


def _digits_to_tell_apart(edges: Sequence[float]) -> int:
    """Significant digits with which neighbouring edges are written differently: 4 to 17."""
    largest = max(abs(edges[0]), abs(edges[-1]))
    width = (edges[-1] / 2 - edges[0] / 2) / (len(edges) - 1) * 2
    if not (largest > 0 and width > 0):
        return 6
    return max(4, min(17, math.ceil(math.log10(largest) - math.log10(width)) + 2))
