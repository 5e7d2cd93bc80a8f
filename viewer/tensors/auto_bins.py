"""How many bins a histogram should have: numpy's rule "auto", from statistics alone."""

from __future__ import annotations

import math
from typing import Final

from viewer.tensors.results import Statistics

FEWEST: Final = 10
MOST: Final = 1024
"""A plot of fewer bars says little, and one of more is wider than a screen."""


def auto_bins(statistics: Statistics) -> tuple[int, str]:
    """The number of bins, and the rule in words.

    numpy's "auto" (`numpy.histogram_bin_edges`, version 2.4): the narrower of two bins. One is Sturges', range /
    (log2 n + 1); the other Freedman and Diaconis', 2 · (q75 - q25) / n^(1/3), or half the bin of the square root,
    range / (2 · √n), where that is wider. Integers have bins of width 1 at least. The result is held between FEWEST
    and MOST.
    """
    low, high, count = statistics.min, statistics.max, statistics.finite
    if low is None or high is None or low == high:
        return FEWEST, f"one value, {FEWEST} bins"
    extent = float(high) / 2 - float(low) / 2  # halves: the range of large floats overflows
    quartiles = {quantile.fraction: quantile for quantile in statistics.quantiles}
    lower, upper = quartiles.get(0.25), quartiles.get(0.75)
    width, rule, about = extent / (math.log2(count) + 1), "Sturges", ""
    if lower is not None and upper is not None:
        spread = upper.value / 2 - lower.value / 2
        freedman, root = 2 * spread / count ** (1 / 3), extent / math.sqrt(count) / 2
        if root < width and freedman <= root:
            width, rule = root, "twice the square root"
        elif freedman < width:
            width, rule = freedman, "Freedman–Diaconis"
            about = "" if lower.error == upper.error == 0 else "about "
    if isinstance(low, int):
        width = max(width, 0.5)
    wanted = extent / width
    bins = min(max(math.ceil(wanted), FEWEST), MOST) if math.isfinite(wanted) else MOST
    return bins, f"{rule}, {about}{bins:,} bins"
