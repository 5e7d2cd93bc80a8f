"""Pairs of integers, which never go through floats to be compared, and pairs of an integer and a float."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from viewer.compare.floats import tally_floats
from viewer.compare.kernels import Kernel, Parts, Places, units_of_sum, whole_sum
from viewer.compare.tally import Tally
from viewer.tensors.scratch import Scratch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]

_EXACT: Final = 1 << 53
"""Integers up to this magnitude are float64 numbers."""


def tally_integers(kernel: Kernel, tally: Tally, a: Array, b: Array, places: Places, room: Scratch) -> None:
    """Add pairs of integers, each side int64 or uint64."""
    import numpy as np

    if a.dtype != b.dtype:
        a, b, left_over = _on_one_side(a, b)
        if left_over is not None:
            _tally_mixed(kernel, tally, a, b, left_over, places, room)
            return
    distance = _distance(a, b)
    tally.differ += int(np.count_nonzero(distance))
    signed = a.dtype.kind == "i"
    if signed:
        tally.sign_flips += int(np.count_nonzero(((a ^ b) < 0) & (a != 0) & (b != 0)))
    _add(kernel, tally, distance, a, b, places, room)


def _add(
    kernel: Kernel, tally: Tally, distance: npt.NDArray[np.uint64], a: Array, b: Array, places: Places, room: Scratch
) -> None:
    import numpy as np

    before = tally.sum_abs
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    floats = distance.astype(np.float64)
    # Sums of squares of distances, whatever their signs: products are of a and b.
    kernel.distances(tally, floats, wide_a, wide_b, places, room, parts=Parts(floats, wide_a, wide_b), exact=distance)
    tally.sum_abs = before + units_of_sum(whole_sum(distance))


def _distance(a: Array, b: Array) -> npt.NDArray[np.uint64]:
    """|a - b| of two arrays of one dtype: the difference wraps to the right value as an unsigned number."""
    import numpy as np

    return np.subtract(np.maximum(a, b), np.minimum(a, b)).view(np.uint64)


def _on_one_side(a: Array, b: Array) -> tuple[Array, Array, Array | None]:
    """int64 and uint64 as one dtype; where neither holds all, the offsets of the pairs that neither can."""
    import numpy as np

    signed = a if a.dtype.kind == "i" else b
    negative = signed < 0
    if not negative.any():
        return a.view(np.uint64), b.view(np.uint64), None
    unsigned = b if signed is a else a
    if int(unsigned.max()) < 1 << 63:
        return a.view(np.int64), b.view(np.int64), None
    return a, b, negative


def _tally_mixed(
    kernel: Kernel, tally: Tally, a: Array, b: Array, negative: Array, places: Places, room: Scratch
) -> None:
    """int64 below 0 in one chunk with uint64 beyond it: the pairs with a negative number as Python integers."""
    import numpy as np

    rest = ~negative
    if rest.any():
        tally_integers(kernel, tally, a[rest], b[rest], places.chosen(rest), room)
    odd = places.chosen(negative)
    left, right = a[negative], b[negative]
    exact = [abs(x - y) for x, y in zip(left.tolist(), right.tolist(), strict=True)]
    floats = np.array([float(x) for x in exact])
    tally.differ += len(exact)
    tally.sign_flips += int(np.count_nonzero((left != 0) & (right != 0)))
    before = tally.sum_abs
    wide_a, wide_b = left.astype(np.float64), right.astype(np.float64)
    kernel.distances(
        tally, floats, wide_a, wide_b, odd, room, parts=Parts(floats, wide_a, wide_b),
        exact=np.array(exact, dtype=object),
    )  # fmt: skip
    tally.sum_abs = before + units_of_sum(sum(exact))


def tally_integer_float(kernel: Kernel, tally: Tally, a: Array, b: Array, places: Places, room: Scratch) -> None:
    """Add pairs of an integer and a float, on either side.

    Integers beyond 2**53 are no float64 numbers: where the float is whole, both are compared as integers.
    """
    import numpy as np

    integers, floats = (a, b) if a.dtype.kind in "iu" else (b, a)
    large = np.abs(integers.view(np.int64)) > _EXACT if integers.dtype.kind == "i" else integers > _EXACT
    large |= integers == np.iinfo(np.int64).min if integers.dtype.kind == "i" else False
    if not large.any():
        tally_floats(
            kernel, tally, a.astype(np.float64, copy=False), b.astype(np.float64, copy=False), None, places, room
        )
        return
    info = np.iinfo(integers.dtype)
    wide = floats.astype(np.float64)
    # Whole, and inside the integer's range: the upper end as a float64 is one too many.
    with np.errstate(invalid="ignore"):
        whole = large & (np.floor(wide) == wide) & (wide >= float(info.min)) & (wide < float(info.max))
    rest = ~whole
    if rest.any():
        # The integer is rounded to float64 here, and so would the distance be; equal they cannot be.
        tally_floats(
            kernel, tally, a[rest].astype(np.float64), b[rest].astype(np.float64), None, places.chosen(rest), room
        )
    if whole.any():
        exact = wide[whole].astype(integers.dtype)
        left, right = (integers[whole], exact) if integers is a else (exact, integers[whole])
        tally_integers(kernel, tally, left, right, places.chosen(whole), room)
