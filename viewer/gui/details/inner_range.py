"""The range of values without the outermost ones, from what is known of a tensor. No Qt."""

from __future__ import annotations

from viewer.gui.details.bins import Bins
from viewer.tensors.results import Statistics


def inner_range(statistics: Statistics, bins: Bins, share: float) -> tuple[float, float] | None:
    """From the quantile at `share` to that at 1 - `share`.

    By the statistics where they have these quantiles, give or take their error; else by the bins, to a bin: finer
    bins of the range that this gives make it narrower. None where the values are too much alike for a range.
    """
    quantiles = {quantile.fraction: quantile for quantile in statistics.quantiles}
    lower, upper = quantiles.get(share), quantiles.get(1 - share)
    if lower is not None and upper is not None:
        low, high = lower.value - lower.error, upper.value + upper.error
    else:
        least = share * statistics.finite
        reached, first, last = bins.below, None, None
        for index, count in enumerate(bins.counts):
            reached += count
            if first is None and reached > least:
                first = index
            if last is None and reached >= statistics.finite - least:
                last = index
        if first is None:
            return None
        low, high = bins.edges[first], bins.edges[len(bins.counts) if last is None else last + 1]
    return (low, high) if low < high else None
