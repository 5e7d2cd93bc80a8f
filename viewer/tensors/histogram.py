"""Histograms: which edges, and from counts between them."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Final

from viewer.tensors.bins import make_edges
from viewer.tensors.results import Histogram, Statistics

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]


FINE_BINS: Final = 4096
"""Bins that are counted at most where fewer are shown: they bound the quantiles. Their counts fit the first cache."""

_LARGEST_ALIGNED: Final = 1 << 51
"""Integers up to here have a float64 halfway to the next."""


def edges_for(
    statistics: Statistics,
    bins: int,
    value_range: tuple[float, float] | None,
    *,
    is_bool: bool = False,
    integer_bins: bool = False,
) -> tuple[Floats | None, str]:
    """The edges of a stream's histogram, None where it has no bins, and a sentence.

    Parameters
    ----------
    value_range
        None for the range of the finite values.
    integer_bins
        Whether edges lie halfway between integers, where the values are integers and no range is chosen.
    """
    import numpy as np

    if not statistics.count:
        return None, "The tensor has no elements"
    low, high = statistics.min, statistics.max
    if low is None or high is None:
        return None, "No value is finite"
    if value_range is not None:
        return make_edges(*value_range, bins)
    if is_bool:
        return np.array([-0.5, 0.5, 1.5]), "One bar for False and one for True"
    if integer_bins and isinstance(low, int) and isinstance(high, int) and max(-low, high) < _LARGEST_ALIGNED:
        width = -(-(high - low + 1) // bins)
        count = -(-(high - low + 1) // width)
        note = "One bar for each integer" if width == 1 else f"One bar for every {width:,} integers"
        return low - 0.5 + width * np.arange(count + 1.0), note
    return make_edges(float(low), float(high), bins)


def finer(edges: Floats) -> Floats:
    """Edges between the edges, for up to FINE_BINS bins; the same ones where float64 has no room for more."""
    import numpy as np

    bins = len(edges) - 1
    parts = 1 << max((FINE_BINS // bins).bit_length() - 1, 0)
    if not math.isfinite(float(edges[-1]) - float(edges[0])) or parts == 1:
        return edges
    fine = np.linspace(edges[0], edges[-1], bins * parts + 1, dtype=np.float64)
    if (fine[1:] > fine[:-1]).all() and np.array_equal(fine[::parts], edges):
        return fine
    return edges


def joined(counts: Ints, edges: Floats) -> Ints:
    """Counts between the edges from counts between edges that `finer` made of them."""
    import numpy as np

    bins = len(edges) - 1
    return np.concatenate((counts[:1], counts[1:-1].reshape(bins, -1).sum(1), counts[-1:]))


def histogram_of(
    edges: Floats | None, counts: Ints | None, copies: int, statistics: Statistics, note: str
) -> Histogram:
    """A histogram from the counts below, in each bin and above; checks that they are all the finite values."""
    if edges is None or counts is None:
        return Histogram(note=note)
    below, *inside, above = (number * copies for number in counts.tolist())
    histogram = Histogram(array("d", edges.tolist()), array("q", inside), below, above, note)
    if histogram.total != statistics.finite:
        raise AssertionError(
            f"the histogram counts {histogram.total:,} values where {statistics.finite:,} are finite"
        )
    return histogram
