"""Edges of histogram bins, and the bin of every value by comparison with them.

The edges are those of `numpy.histogram_bin_edges` in float64, and a value's bin is the one whose edges hold it, with
no tolerance: `edges[i] <= v < edges[i + 1]`. That is also what `numpy.histogram` gives for float64 data, since it
corrects its indexes by comparing. For integers beyond 2**53 the value compared is the nearest float64, as in numpy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from viewer.errors import ViewerError
from viewer.tensors.decode import Domain
from viewer.tensors.line import Line, line_between
from viewer.tensors.scratch import Scratch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

MAX_BINS: Final = 30_000
"""Bin numbers are int16 while they are counted."""


_FEW: Final = 2
"""Edges up to which comparing the values around each is faster than looking for values close to any."""


def make_edges(low: float, high: float, bins: int) -> tuple[Floats, str]:
    """Edges of `bins` equal bins from `low` to `high`, strictly increasing, and a sentence where it took care.

    Equal ends are moved apart by 0.5 each, as numpy does; where float64 is too coarse for that or for the number of
    bins, numpy raises, and here the range grows or the bins become fewer.

    Raises
    ------
    ViewerError
        When the ends are not finite, are the wrong way round, or `bins` is not in 1 … MAX_BINS.
    """
    import numpy as np

    if not 1 <= bins <= MAX_BINS:
        raise ViewerError(f"a histogram has 1 to {MAX_BINS:,} bins, not {bins:,}")
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ViewerError(
            f"{low} to {high} is no range for a histogram", advice="Choose finite numbers, smaller first"
        )
    if low == high:
        return _edges_around(low, bins), f"Every value in range is {low!r}"
    if math.isinf(high - low):
        # A quarter of both ends: their distance must stay a float64. Powers of 2 do not round.
        edges = np.linspace(low / 4, high / 4, bins + 1, dtype=np.float64) * 4
    else:
        edges = np.linspace(low, high, bins + 1, dtype=np.float64)
    if _increasing(edges):
        return edges, ""
    edges = np.unique(edges)
    return edges, f"{len(edges) - 1:,} bins: float64 has no more numbers between {low!r} and {high!r}"


def _edges_around(value: float, bins: int) -> Floats:
    import numpy as np

    edges = np.linspace(value - 0.5, value + 0.5, bins + 1, dtype=np.float64)
    if _increasing(edges):
        return edges
    # Two units in the last place apart, towards zero from the value: outwards they could leave float64.
    steps = np.arange(-2.0 * bins, 2.0, 2.0) if value > 0 else np.arange(0.0, 2.0 * bins + 2.0, 2.0)
    around: Floats = value + math.ulp(value) * steps
    return around


def _increasing(edges: Floats) -> bool:
    return bool((edges[1:] > edges[:-1]).all())


class Binner:
    """Counts values between edges. Threads may share one.

    Parameters
    ----------
    edges
        Strictly increasing.
    domain
        Of the values that will come.
    inside
        True where no value lies outside the edges.

    Attributes
    ----------
    rule
        How bins are found; the counts are the same. "line": by arithmetic alone, tried out on all edges; values
        around the few edges where it failed are compared with those. "checked line": values close to any edge are
        compared with it. "search": binary search.
    """

    def __init__(self, edges: Floats, domain: Domain, *, inside: bool = False) -> None:
        import numpy as np

        self.edges = edges
        self.bins = len(edges) - 1
        self.inside = inside
        # Codes: 0 … n - 1 are the bins; where values may lie outside, 0 is below, 1 … n are the bins, n + 1 is above.
        self._base = 0 if inside else 1
        self._codes = self.bins if inside else self.bins + 2
        self._starts = np.concatenate((edges[:-1], [math.nextafter(float(edges[-1]), math.inf)]))
        self.rule = "search"
        self._line = line_between(float(edges[0]), float(edges[-1]), self.bins, self._base)
        self._doubt = math.inf
        self._doubtful: list[tuple[int, np.float32, np.float32]] = []
        if self._line is not None:
            self._choose_rule(self._line, domain)

    def count(self, values: npt.NDArray[Any], scratch: Scratch) -> Ints:
        """How many of the finite `values` lie below the edges, in each bin, and above: bins + 2 numbers.

        Parameters
        ----------
        values
            float32, float64 or integers; not changed.
        """
        import numpy as np

        counts = np.zeros(self.bins + 2, np.int64)
        into = counts[1 - self._base : 1 - self._base + self._codes]
        if self._line is None or self.rule == "search":
            floats = values.astype(np.float64, copy=False)
            codes = np.searchsorted(self._starts, floats, side="right") - (1 - self._base)
            into += np.bincount(codes, minlength=self._codes)
            return counts
        raw = scratch.array("raw", "f8", values.size)
        np.copyto(raw, values)
        self._line.apply(raw)
        if not self.inside:
            np.clip(raw, 0.5, self.bins + 1.5, out=raw)
        narrow = scratch.array("narrow", "u1" if self._codes <= 256 else "i2", raw.size)
        np.copyto(narrow, raw, casting="unsafe")
        if self.rule == "checked line":
            self._check_all(raw, narrow, values, scratch)
        for code, low, high in self._doubtful:
            self._check_between(code, low, high, narrow, values, scratch)
        into += _tally(narrow, self._codes)
        return counts

    def count_on(self, values: Floats, device: torch.device) -> Ints:
        """As `count`, on a device: by binary search, which is fast there. TypeError where it has no float64."""
        import numpy as np
        import torch

        starts = torch.from_numpy(self._starts).to(device)
        codes = torch.bucketize(torch.from_numpy(values).to(device), starts, right=True)
        counts: Ints = torch.bincount(codes, minlength=self.bins + 2).cpu().numpy()
        return counts.astype(np.int64, copy=False)

    def _choose_rule(self, line: Line, domain: Domain) -> None:
        import numpy as np

        first, before = _first_values(self._starts, domain)
        codes = np.arange(self.bins + 1) + self._base
        here, below, at = line.of(first), line.of(before), line.of(self._starts)
        margin = line.margin
        # A start beyond the domain (inf) is never reached.
        right = (~np.isfinite(first) | (here >= codes + margin)) & (below <= codes - margin)
        if self.inside:  # no value is below the first start, and none above the last edge
            right[0] = here[0] >= margin
            right[-1] = line.of(self.edges[-1:])[0] <= self.bins - margin
        if right.all():
            self.rule = "line"
            return
        usual = np.isfinite(at)  # the last start is inf after the largest float64
        self._doubt = 2 * float(np.abs(at - codes)[usual].max()) + margin
        if self._doubt >= 0.25:
            return
        wrong = codes[~right]
        if domain == "float32" and wrong.size <= _FEW:
            self.rule = "line"
            reach = 2 * (self._doubt + margin) / line.factor
            for code in wrong.tolist():
                centre = line.origin + code / line.factor
                ends = np.array([centre - reach, np.nextafter(centre + reach, np.inf)])
                (low, _), (_, high) = zip(*_first_values(ends, domain), strict=True)
                self._doubtful.append((code, np.float32(low), np.float32(high)))
        else:
            self.rule = "checked line"

    def _check_between(
        self,
        code: int,
        low: np.float32,
        high: np.float32,
        narrow: npt.NDArray[Any],
        values: npt.NDArray[Any],
        scratch: Scratch,
    ) -> None:
        """Mend the codes of values from `low` to `high`, which hold the start of one code and no other."""
        import numpy as np

        close, under = scratch.array("close", "?", values.size), scratch.array("under", "?", values.size)
        np.greater_equal(values, low, out=close)
        np.less_equal(values, high, out=under)
        np.logical_and(close, under, out=close)
        where = np.flatnonzero(close)
        if where.size:
            narrow[where] = code - (values[where].astype(np.float64) < self._starts[code - self._base])

    def _check_all(self, raw: Floats, narrow: npt.NDArray[Any], values: npt.NDArray[Any], scratch: Scratch) -> None:
        """Mend the codes of values that lie close to any edge."""
        import numpy as np

        distance, close = scratch.array("distance", "f8", raw.size), scratch.array("close", "?", raw.size)
        np.rint(raw, out=distance)
        np.subtract(raw, distance, out=distance)
        np.abs(distance, out=distance)
        np.less(distance, self._doubt, out=close)
        where = np.flatnonzero(close)
        if where.size:
            codes = np.rint(raw[where]).astype(np.intp)
            # Integers are compared as the nearest float64, as everywhere.
            narrow[where] = codes - (values[where].astype(np.float64) < self._starts[codes - self._base])


def _tally(codes: npt.NDArray[Any], count: int) -> Ints:
    """Count the codes. torch counts bytes at twice the speed of int16, and numpy is slower yet."""
    import torch

    counts: Ints = torch.bincount(torch.from_numpy(codes), minlength=count).numpy()
    return counts


def _first_values(starts: Floats, domain: Domain) -> tuple[Floats, Floats]:
    """The smallest value of the domain at or above each start, and the domain's value before that."""
    import numpy as np

    with np.errstate(over="ignore"):  # beyond the last float lies inf
        if domain == "float64":
            return starts, np.nextafter(starts, -np.inf)
        if domain == "int":
            first = np.ceil(starts)
            small = np.abs(first) <= 2.0**53
            return first, np.where(small, first - 1, np.nextafter(first, -np.inf))
        narrow = starts.astype(np.float32)
        narrow = np.where(narrow < starts, np.nextafter(narrow, np.float32(np.inf)), narrow)
        return narrow.astype(np.float64), np.nextafter(narrow, np.float32(-np.inf)).astype(np.float64)
