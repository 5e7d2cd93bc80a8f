"""Edges that are equal on a signed logarithm: straight about zero, logarithmic far from it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from viewer.errors import ViewerError
from viewer.tensors.bins import make_edges

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DECADES: Final = 3
"""Powers of ten on either side of zero that the chosen threshold leaves in view."""


def signed_log(value: float, threshold: float) -> float:
    """sign(x) · ln(1 + |x| / threshold), which is x / threshold near 0 and ± ln(|x| / threshold) far from it."""
    return math.copysign(math.log1p(abs(value) / threshold), value)


def threshold_of(low: float, high: float) -> float | None:
    """The largest magnitude over 10**DECADES, as a power of two so that it is exact; None where that is about 0."""
    largest = max(abs(low), abs(high))
    if largest < 2.0**-1000:
        return None
    return math.ldexp(1.0, math.frexp(largest / 10**DECADES)[1])


def signed_log_edges(
    low: float, high: float, bins: int, threshold: float | None = None
) -> tuple[npt.NDArray[np.float64], str, float | None]:
    """Edges of `bins` bins that are equal on the signed logarithm, a sentence, and the threshold.

    They begin at `low` and end at `high`, both exactly. Linear edges, and no threshold, where the ends are equal or
    all but zero.

    Raises
    ------
    ViewerError
        As `make_edges`, and when the threshold is not a positive number.
    """
    import numpy as np

    linear, note = make_edges(low, high, bins)
    if threshold is None:
        threshold = threshold_of(low, high)
    elif not (math.isfinite(threshold) and threshold > 0):
        raise ViewerError(f"{threshold!r} is no threshold of a logarithm", advice="Choose a number above 0")
    if low == high or threshold is None or math.isinf(max(abs(low), abs(high)) / threshold):
        return linear, note, None
    first, last = signed_log(low, threshold), signed_log(high, threshold)
    places = np.linspace(first, last, bins + 1)
    edges = np.copysign(np.expm1(np.abs(places)) * threshold, places)
    # Rounding may carry the ends and their neighbours past the range.
    edges = np.unique(np.clip(edges, low, high) + 0.0)
    edges[0], edges[-1] = low, high
    if len(edges) - 1 < bins:
        note = f"{len(edges) - 1:,} bins: float64 has no more numbers between {low!r} and {high!r}"
    return edges, note, threshold
