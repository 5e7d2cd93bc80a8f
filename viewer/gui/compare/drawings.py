"""What is drawn of a pair: both sides on the same edges, the difference, and where along the axes it is. No Qt."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from viewer.compare.pair_details import ChangeProfile, PairDetails
from viewer.gui.details.bins import Bins
from viewer.gui.format import format_count, format_number
from viewer.tensors.results import Histogram

Labels: TypeAlias = Callable[[float, float, int], tuple[list[float], list[str]]]


@dataclass(frozen=True, slots=True)
class Series:
    """One curve: a height for each step, and the colour of its line (a name in Tokens)."""

    heights: Sequence[float]
    line: str
    filled: bool = True


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a chart shows.

    Attributes
    ----------
    edges
        Of the steps, one more than each series has heights, in the units of the x axis.
    tell
        What is said of a step.
    ticks
        Places and labels of the x axis between two ends, at most so many; None for round values.
    log
        Heights are counts on a logarithmic scale.
    whole
        Heights are counts.
    """

    edges: Sequence[float]
    series: tuple[Series, ...]
    tell: Callable[[int], str]
    ticks: Labels | None = None
    log: bool = False
    whole: bool = True


def both_drawing(details: PairDetails, *, log: bool) -> Drawing | str:
    """Histograms of both sides, or why there are none."""
    a, b = details.histogram_a, details.histogram_b
    if not a.counts or not b.counts:
        return a.note or b.note or "No value is finite"
    bins = Bins(a.edges, a.counts, details.measures.count)

    def tell(step: int) -> str:
        return f"{bins.interval(step)}\nleft   {format_count(a.counts[step])}\nright  {format_count(b.counts[step])}"

    series = Series(a.counts, "left"), Series(b.counts, "right")
    return Drawing(a.edges, series, tell, log=log)


def difference_drawing(details: PairDetails, *, log: bool) -> Drawing | str:
    """The histogram of b−a, or why there is none."""
    found = details.difference
    if not found.counts:
        return found.note or "No pair of finite values"
    if not details.measures.differ:
        return "All elements are the same numbers: the difference is 0 everywhere"
    bins = Bins(found.edges, found.counts, details.measures.count)

    def tell(step: int) -> str:
        return f"{bins.interval(step)}\n{bins.share(step)}"

    return Drawing(found.edges, (Series(found.counts, "changed"),), tell, log=log)


def signed_log_drawing(details: PairDetails, *, log: bool) -> Drawing | str:
    """The histogram of b−a over the logarithm of its size, negative ones to the left and 0 in the middle."""
    found = details.difference_log
    if not found.counts:
        return found.note or "No pair differs"
    edges = found.edges
    bins = Bins(edges, found.counts, details.measures.count)
    nearest = min(abs(edge) for edge in edges if edge)
    places = [_signed_log(edge, nearest) for edge in edges]

    def tell(step: int) -> str:
        inside = edges[step] < 0 < edges[step + 1]
        words = f"|b−a| < {format_number(nearest)}, 0 among them" if inside else bins.interval(step)
        return f"{words}\n{bins.share(step)}"

    def ticks(low: float, high: float, at_most: int) -> tuple[list[float], list[str]]:
        return _signed_log_ticks(low, high, at_most, nearest)

    return Drawing(places, (Series(found.counts, "changed"),), tell, ticks, log=log)


def profile_drawing(profile: ChangeProfile, extent: int) -> Drawing:
    """Mean and largest |b−a| along one axis."""
    step = profile.step
    edges = [min(at * step, extent) for at in range(len(profile.mean_abs) + 1)]

    def tell(at: int) -> str:
        first, last = at * step, min((at + 1) * step, extent) - 1
        where = f"index {first:,}" if first == last else f"indexes {first:,} to {last:,}"
        largest, mean = format_number(profile.max_abs[at], 4), format_number(profile.mean_abs[at], 4)
        return f"{where}\nlargest  {largest}\nmean     {mean}\ndiffer   {format_count(profile.differ[at])}"

    series = Series(profile.max_abs, "faint", filled=False), Series(profile.mean_abs, "changed")
    return Drawing(edges, series, tell, whole=False)


def caption(words: str, *histograms: Histogram) -> str:
    """What a plot is of, and what is not in it."""
    outside = sum(histogram.underflow + histogram.overflow for histogram in histograms)
    return f"{words} · {format_count(outside)} outside the edges" if outside else words


def _signed_log(value: float, nearest: float) -> float:
    """Decades from `nearest` on, with the sign of the value; the middle bin is one decade wide."""
    if not value:
        return 0.0
    return math.copysign(math.log10(abs(value)) - math.log10(nearest) + 0.5, value)


def _signed_log_ticks(low: float, high: float, at_most: int, nearest: float) -> tuple[list[float], list[str]]:
    start = math.ceil(math.log10(nearest) - 1e-9)
    reach = max(abs(low), abs(high))
    end = math.floor(math.log10(nearest) + reach - 0.5 + 1e-9)
    count = max(end - start + 1, 0)
    stride = max(1, math.ceil(2 * count / max(at_most - 1, 1)))
    # From the largest down: that is where one looks.
    powers = list(range(end, start - 1, -stride))
    places, labels = [0.0], ["0"]
    for power in powers:
        place = power - math.log10(nearest) + 0.5
        for sign, mark in ((1, ""), (-1, "−")):
            if low <= sign * place <= high and place > 0.7:
                places.append(sign * place)
                labels.append(f"{mark}1e{power}".replace("e-", "e−"))
    return places, labels
