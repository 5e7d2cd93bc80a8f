"""The arithmetic on one chunk of a pair: numbers widened before they are subtracted, in pieces that stay in the
caches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from viewer.compare.results import Tolerance
from viewer.compare.tally import Asked, Tally
from viewer.tensors.exact import UNIT_BITS, fixed, fixed_square, shifted
from viewer.tensors.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]
    Floats: TypeAlias = npt.NDArray[np.float64]

_ROW: Final = 8192
"""Products that are added at a time. OpenBLAS hands more than 10,000 to threads of its own (`interface/dot.c`), which
are in the way of ours, and its matrix products wait for each other's buffers."""

_SAFE: Final = 2.0**450
"""Numbers between this and its inverse can be squared and added in float64."""


@dataclass(slots=True)
class Bounds:
    """What other chunks of the pair have reached already: smaller values need not be placed. A stale value costs time
    and changes nothing, so threads share it without a lock."""

    max_abs: int | float = -1.0
    rel: float = 0.0
    rel_to_a: float = 0.0
    rel_to_b: float = 0.0
    steps: int = 0

    @property
    def least_relative(self) -> float:
        """The relative distance, |a - b| / |a|, up to which an element raises none of the three.

        With r = d / |a| below 1, d / |b| is at most r / (1 - r), and d / max(|a|, |b|) at most r.
        """
        return min(self.rel_to_a, self.rel_to_b / (1 + self.rel_to_b), self.rel, 1.0)


class Kernel:
    """Measures distances of numbers that are float64 already, into a tally."""

    def __init__(
        self, asked: Asked, tolerance: Tolerance | None, flat_index: Callable[[Array], Array], logical: bool
    ) -> None:
        self.asked = asked
        self.bounds = Bounds()
        self.tolerance = tolerance
        self._flat_index = flat_index
        self.is_logical = logical

    def first_flat_index(self, places: Places, found: Array) -> int:
        """The smallest flat index of some elements of a chunk."""
        if self.is_logical:
            found = found[:1]
        offsets = found if places.among is None else places.among[found]
        return int(self._flat_index(places.start + offsets).min())

    def distances(
        self,
        tally: Tally,
        distance: Floats,
        a: Floats,
        b: Floats,
        places: Places,
        room: Scratch,
        *,
        parts: Parts,
        exact: Array | None = None,
        total: float | None = None,
    ) -> None:
        """Add pairs of finite values.

        Parameters
        ----------
        distance
            |a - b|, finite.
        a, b
            The values or, of complex ones, their magnitudes.
        parts
            What the squares are summed of.
        exact
            The distances as integers, where float64 may not hold them.
        total
            The sum of the distances, where it is known.
        """
        import numpy as np

        tally.compared += distance.size
        largest = float(np.max(distance))
        scale = parts.scale
        in_units = _sum_of(distance, largest) if total is None or not total < _LARGEST else fixed(total)
        tally.sum_abs += shifted(in_units, scale)
        self._squares(tally, parts)
        if exact is not None:
            self.place_exactly(tally, int(exact.max()), exact, places)
        elif not scale:
            self.place(tally, largest, distance, places)
        if largest:
            self._relative(tally, distance, a, b, room)
        if self.tolerance is not None and largest > self.tolerance.atol:
            with np.errstate(over="ignore"):
                allowed = np.maximum(np.abs(a), np.abs(b)) * self.tolerance.rtol + self.tolerance.atol
            tally.outside += int(np.count_nonzero(distance > allowed))

    def _squares(self, tally: Tally, parts: Parts) -> None:
        wide, bits = parts.wide, 2 * parts.scale
        tally.squares += shifted(product_sum(parts.d, parts.d, wide), bits)
        tally.squares_a += shifted(product_sum(parts.a, parts.a, wide), bits)
        tally.squares_b += shifted(product_sum(parts.b, parts.b, wide), bits)
        tally.products += shifted(product_sum(parts.a, parts.b, wide), bits)

    def place(self, tally: Tally, largest: float, distance: Floats, places: Places) -> None:
        """Place the largest distance of a chunk."""
        if largest and largest >= self.bounds.max_abs:
            self.bounds.max_abs = max(self.bounds.max_abs, largest)
            self._place(tally, largest, distance, largest, places)

    def place_exactly(self, tally: Tally, largest: int, distance: Array, places: Places) -> None:
        """Place a largest distance that is an exact integer."""
        if largest and largest >= self.bounds.max_abs:
            self.bounds.max_abs = max(self.bounds.max_abs, largest)
            self._place(tally, largest, distance, distance.max(), places)

    def _place(self, tally: Tally, largest: int | float, distance: Array, key: object, places: Places) -> None:
        import numpy as np

        if tally.max_at is not None and largest < tally.max_abs:
            return
        if self.is_logical:
            found = np.argmax(distance, keepdims=True)
        else:
            found = np.flatnonzero(distance == key)
        at = self.first_flat_index(places, found)
        if tally.max_at is None or largest > tally.max_abs:
            tally.max_abs, tally.max_at = largest, at
        else:
            tally.max_at = min(tally.max_at, at)

    def _relative(self, tally: Tally, distance: Floats, a: Floats, b: Floats, room: Scratch) -> None:
        """Raise the largest relative distances; only elements that could pass the largest so far are divided."""
        import numpy as np

        mask, scaled = room.array("mask", "?", distance.size), room.array("scaled", "f8", distance.size)
        np.abs(a, out=scaled)
        np.multiply(scaled, self.bounds.least_relative * _SLIGHTLY_LESS, out=scaled)
        np.greater(distance, scaled, out=mask)
        found = np.flatnonzero(mask)
        if found.size:
            self.raise_relative(tally, distance[found], np.abs(a[found]), np.abs(b[found]))

    def raise_relative(self, tally: Tally, distance: Floats, a: Floats, b: Floats) -> None:
        """Raise the largest relative distances by those of some elements, of which `a` and `b` are the magnitudes."""
        import numpy as np

        bases = np.stack((a, b, np.maximum(a, b)))
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            quotients = distance / bases
        if not bases.all():  # nothing is relative to 0
            quotients[bases == 0] = 0.0
        # A quotient beyond float64 (a denormal below) is its largest number, and never inf.
        to_a, to_b, to_both = (min(value, _LARGEST) for value in quotients.max(axis=1).tolist())
        tally.max_rel_to_a = max(tally.max_rel_to_a, to_a)
        tally.max_rel_to_b = max(tally.max_rel_to_b, to_b)
        tally.max_rel = max(tally.max_rel, to_both)
        bounds = self.bounds
        bounds.rel_to_a, bounds.rel_to_b = max(bounds.rel_to_a, to_a), max(bounds.rel_to_b, to_b)
        bounds.rel = max(bounds.rel, to_both)


_LARGEST: Final = 1.7976931348623157e308
_SLIGHTLY_LESS: Final = 1 - 2.0**-51


@dataclass(slots=True)
class Parts:
    """What sums of squares are made of: the values themselves, or both parts of complex ones.

    Attributes
    ----------
    wide
        Whether magnitudes may lie outside 2**±450.
    scale
        The values were divided by 2**scale.
    """

    d: Floats
    a: Floats
    b: Floats
    wide: bool = False
    scale: int = 0


@dataclass(slots=True)
class Places:
    """Where the elements of a chunk stand in the walk.

    Attributes
    ----------
    start
        Position of the first.
    among
        Offsets of the elements from `start`, where some were left out; None where they are consecutive.
    """

    start: int
    among: Array | None = None

    def chosen(self, mask: Array) -> Places:
        """The places of the elements where `mask` is True."""
        import numpy as np

        found = np.flatnonzero(mask)
        return Places(self.start, found if self.among is None else self.among[found])


def _sum_of(distance: Floats, largest: float) -> int:
    """The sum in units of 2**-1126; a chunk of the largest float64 numbers would pass float64."""
    import numpy as np

    if largest < 2.0**990:
        return fixed(float(np.add.reduce(distance)))
    return shifted(fixed(float(np.add.reduce(distance * 2.0**-64))), 64)


def product_sum(left: Floats, right: Floats, wide: bool) -> int:
    """The sum of products, in units of 2**-2252."""
    if not wide:
        return fixed_square(dot(left, right))
    import numpy as np

    scale = 0
    both: list[Floats] = []
    for values in (left, right):
        exponent = math.frexp(float(np.max(np.abs(values))))[1]
        scale += exponent
        # In two steps, since 2**1074 is no float64.
        both.append(np.ldexp(np.ldexp(values, -(exponent // 2)), -(exponent - exponent // 2)))
    return shifted(fixed_square(dot(*both)), scale)


def dot(left: Floats, right: Floats) -> float:
    """The sum of products in float64."""
    import numpy as np

    full = left.size - left.size % _ROW
    total = 0.0
    if full:
        rows_a, rows_b = left[:full].reshape(-1, _ROW), right[:full].reshape(-1, _ROW)
        if hasattr(np, "vecdot"):  # numpy 2
            total = float(np.vecdot(rows_a, rows_b).sum())
        else:
            total = math.fsum(float(np.dot(row_a, row_b)) for row_a, row_b in zip(rows_a, rows_b, strict=True))
    if full < left.size:
        total += float(np.dot(left[full:], right[full:]))
    return total


def is_wide(*values: Floats) -> bool:
    """Whether some magnitude is too large or too small to be squared in float64."""
    import numpy as np

    for each in values:
        largest = max(abs(float(np.max(each))), abs(float(np.min(each))))
        if largest and not 1 / _SAFE < largest < _SAFE:
            return True
    return False


def whole_sum(values: npt.NDArray[np.uint64]) -> int:
    """The exact sum of a uint64 array."""
    import numpy as np

    if not values.size:
        return 0
    if int(values.max()) * values.size < 1 << 63:
        return int(values.sum(dtype=np.uint64))
    high = int((values >> np.uint64(32)).sum(dtype=np.uint64))
    return (high << 32) + int((values & np.uint64(0xFFFFFFFF)).sum(dtype=np.uint64))


def units_of_sum(total: int) -> int:
    """A whole number in units of 2**-1126."""
    return total << UNIT_BITS
