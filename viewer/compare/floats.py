"""Pairs of floats: NaN and infinities apart, the rest by `Kernel`; steps of the dtype, signs, zeros."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from viewer.compare.kernels import Kernel, Parts, Places, dot, is_wide
from viewer.compare.tally import ULP_BINS, Tally
from viewer.tensors.exact import fixed, fixed_square
from viewer.tensors.scratch import Scratch

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]
    Floats: TypeAlias = npt.NDArray[np.float64]


_FEW: Final = 32
"""One element in so many is looked at by itself at hardly any cost."""

_SLIGHTLY_MORE: Final = 1 + 2.0**-50


@dataclass(slots=True)
class Steps:
    """What steps of a dtype are counted from.

    Attributes
    ----------
    a, b
        As `SideReader.patterns` gives them.
    magnitude_bits
        As `SideReader.magnitude_bits`.
    precision
        Bits of the dtype's significand, the hidden one among them.
    """

    a: Array
    b: Array
    magnitude_bits: int
    precision: int

    def chosen(self, mask: Array) -> Steps:
        return Steps(self.a[mask], self.b[mask], self.magnitude_bits, self.precision)


def tally_floats(
    kernel: Kernel,
    tally: Tally,
    a: Array,
    b: Array,
    steps: Steps | None,
    places: Places,
    room: Scratch,
    *,
    unlike: int | None = None,
) -> None:
    """Add pairs of real numbers to a tally.

    Parameters
    ----------
    a, b
        float32 or float64.
    steps
        None where steps are not asked.
    unlike
        How many pairs have other bits, where both have one dtype.
    """
    import numpy as np

    wide_a, wide_b = room.array("wide_a", "f8", a.size), room.array("wide_b", "f8", b.size)
    np.copyto(wide_a, a)
    np.copyto(wide_b, b)
    difference, distance = room.array("difference", "f8", a.size), room.array("distance", "f8", a.size)
    with np.errstate(invalid="ignore", over="ignore"):
        np.subtract(wide_b, wide_a, out=difference)
        np.abs(difference, out=distance)
        total = float(np.add.reduce(distance))
    is_double = a.dtype.itemsize == 8 or b.dtype.itemsize == 8
    if not total < float("inf"):
        finite = tally_special(kernel, tally, wide_a, wide_b, places)
        if not finite.all():
            steps = None if steps is None else steps.chosen(finite)
            if finite.any():
                tally_floats(kernel, tally, a[finite], b[finite], steps, places.chosen(finite), room)
            return
        if not np.isfinite(distance).all():  # float64 numbers so far apart that float64 cannot say it
            _tally_halved(kernel, tally, wide_a, wide_b, places, room)
            _tally_signs(kernel, tally, a, b, steps, room)
            return
    wide = is_double and is_wide(difference, wide_a, wide_b)
    kernel.distances(
        tally, distance, wide_a, wide_b, places, room, parts=Parts(difference, wide_a, wide_b, wide), total=total
    )
    _tally_signs(kernel, tally, a, b, steps, room, unlike)


def tally_singles(
    kernel: Kernel,
    tally: Tally,
    a: Array,
    b: Array,
    steps: Steps | None,
    places: Places,
    room: Scratch,
    unlike: int,
) -> None:
    """As `tally_floats`, for float32 numbers of one dtype in both: the path that large models take.

    It touches as little memory as it can, and leaves a chunk with NaN, with infinities, or with many numbers near to
    zero to `tally_floats`.
    """
    import numpy as np

    wide, apart = room.array("wide_a", "f8", a.size), room.array("difference", "f8", a.size)
    np.copyto(wide, a)
    np.copyto(apart, b)
    np.subtract(apart, wide, out=apart)
    squares_a, crosses, squares = (dot(left, right) for left, right in ((wide, wide), (wide, apart), (apart, apart)))
    squares_b = squares_a + 2 * crosses + squares  # b is a + (b - a)
    np.abs(apart, out=apart)
    total, largest = float(np.add.reduce(apart)), float(np.max(apart))
    # Cancellation costs squares_b some four times the rounding of squares_a at this bound.
    near = near_zero(kernel, a, largest, steps, room) if total < math.inf and squares_b >= squares_a / 4 else None
    if near is None:
        tally_floats(kernel, tally, a, b, steps, places, room, unlike=unlike)
        return
    tally.compared += a.size
    tally.sum_abs += fixed(total)
    tally.squares += fixed_square(squares)
    tally.squares_a += fixed_square(squares_a)
    tally.squares_b += fixed_square(squares_b)
    tally.products += fixed_square(squares_a + crosses)
    kernel.place(tally, largest, apart, places)
    tally.differ += unlike
    if near.size:
        some_a, some_b = a[near], b[near]
        kernel.raise_relative(tally, apart[near], *(np.abs(some.astype(np.float64)) for some in (some_a, some_b)))
        crossed = np.flatnonzero(np.signbit(some_a) != np.signbit(some_b))
        if steps is not None:
            tally_steps(kernel, tally, steps.chosen(near), crossed, room)
        tally.differ -= _tally_crossed(tally, some_a[crossed], some_b[crossed])


def near_zero(kernel: Kernel, a: Array, largest: float, steps: Steps | None, room: Scratch) -> Array | None:
    """The elements of a chunk, of which the largest |a - b| is `largest`, that are so near to zero that they can
    change their sign, or raise a largest relative distance or number of steps; None where they may be many.

    A sign changes only where |a| <= |a - b|. A relative distance r of b to a, below 1, is at most r / (1 - r) · 2**p
    steps, since the step at b of a dtype with p bits is at least |b| / 2**p.
    """
    import numpy as np

    least = kernel.bounds.least_relative
    if steps is not None:
        share = math.ldexp(kernel.bounds.steps, -steps.precision)
        least = min(least, share / (1 + share))
    if not least or not largest:
        return None
    limit = largest / least
    magnitude, mask = room.array("magnitude", a.dtype.str[1:], a.size), room.array("mask", "?", a.size)
    np.abs(a, out=magnitude)
    # Rounded outwards to the dtype of a.
    with np.errstate(over="ignore"):
        np.less_equal(magnitude, np.nextafter(a.dtype.type(limit * _SLIGHTLY_MORE), a.dtype.type(np.inf)), out=mask)
    found = np.flatnonzero(mask)
    return None if found.size * _FEW > a.size else found


def tally_special(kernel: Kernel, tally: Tally, a: Floats, b: Floats, places: Places) -> npt.NDArray[np.bool_]:
    """Count the pairs with a NaN or an infinity; returns where both are finite."""
    import numpy as np

    nan_a, nan_b = np.isnan(a), np.isnan(b)
    inf_a, inf_b = np.isinf(a), np.isinf(b)
    return tally_classes(kernel, tally, (nan_a, nan_b), (inf_a, inf_b), a == b, places)


def tally_classes(
    kernel: Kernel,
    tally: Tally,
    nan: tuple[Array, Array],
    inf: tuple[Array, Array],
    same: Array,
    places: Places,
) -> npt.NDArray[np.bool_]:
    """The same from masks; `same` is where both are equal numbers."""
    import numpy as np

    (nan_a, nan_b), (inf_a, inf_b) = nan, inf
    any_nan = nan_a | nan_b
    any_inf = (inf_a | inf_b) & ~any_nan
    both_nan, changed_inf = nan_a & nan_b, any_inf & ~same
    counts = {
        "both_nan": both_nan,
        "new_nan": nan_b & ~nan_a,
        "lost_nan": nan_a & ~nan_b,
        "same_inf": any_inf & same,
        "new_inf": changed_inf & ~inf_a,
        "lost_inf": changed_inf & ~inf_b,
        "changed_inf": changed_inf & inf_a & inf_b,
    }
    for name, mask in counts.items():
        setattr(tally, name, getattr(tally, name) + int(np.count_nonzero(mask)))
    differ = int(np.count_nonzero((any_nan & ~both_nan) | changed_inf))
    tally.differ += differ
    tally.outside += differ
    found = np.flatnonzero(changed_inf)
    if found.size:
        index = kernel.first_flat_index(places, found)
        tally.infinite_at = index if tally.infinite_at is None else min(index, tally.infinite_at)
    finite: npt.NDArray[np.bool_] = ~(any_nan | any_inf)
    return finite


def _tally_halved(kernel: Kernel, tally: Tally, a: Floats, b: Floats, places: Places, room: Scratch) -> None:
    """Finite float64 numbers whose differences pass float64: in halves, and the largest as an exact integer."""
    import numpy as np

    half_a, half_b = a / 2, b / 2
    difference = half_b - half_a
    distance = np.abs(difference)
    kernel.distances(
        tally, distance, half_a, half_b, places, room, parts=Parts(difference, half_a, half_b, True, scale=1)
    )
    at = int(np.argmax(distance))
    kernel.place_exactly(tally, abs(int(a[at]) - int(b[at])), distance, places)


def _tally_signs(
    kernel: Kernel,
    tally: Tally,
    a: Array,
    b: Array,
    steps: Steps | None,
    room: Scratch,
    unlike: int | None = None,
) -> None:
    """Count what differs, opposite signs, zeros of both signs and, where they are asked, steps."""
    import numpy as np

    mask = room.array("mask", "?", a.size)
    if unlike is None:
        np.not_equal(a, b, out=mask)
        tally.differ += int(np.count_nonzero(mask))
    else:
        tally.differ += unlike  # less the zeros of other signs, below
    if a.dtype == b.dtype:
        bits = f"i{a.itemsize}"
        crossed = room.array("crossed", bits, a.size)
        np.bitwise_xor(a.view(bits), b.view(bits), out=crossed)
        np.less(crossed, 0, out=mask)
    else:
        np.not_equal(np.signbit(a), np.signbit(b), out=mask)
    places = np.flatnonzero(mask)
    if steps is not None:
        tally_steps(kernel, tally, steps, places, room)
    zeros = _tally_crossed(tally, a[places], b[places])
    if unlike is not None:
        tally.differ -= zeros


def _tally_crossed(tally: Tally, a: Array, b: Array) -> int:
    """Count the sign flips among pairs of unequal signs, and the zeros of both signs; returns the latter."""
    import numpy as np

    if not a.size:
        return 0
    zero_a, zero_b = a == 0, b == 0
    zeros = int(np.count_nonzero(zero_a & zero_b))
    tally.zero_signs += zeros
    tally.sign_flips += a.size - int(np.count_nonzero(zero_a | zero_b))
    return zeros


def tally_steps(kernel: Kernel, tally: Tally, steps: Steps, crossed: Array, room: Scratch) -> None:
    """Find how many steps of the dtype pairs are apart, at most and, where it is asked, by powers of two.

    Parameters
    ----------
    crossed
        The places where the signs differ.
    """
    import numpy as np

    size = steps.a.size
    if not size:
        return
    distance = room.array("steps", steps.a.dtype.str[1:], size)
    unsigned = distance.view(f"u{distance.itemsize}")
    np.subtract(steps.a, steps.b, out=distance)
    np.abs(distance, out=distance)
    if crossed.size and steps.magnitude_bits:
        # Through zero: as many steps as both are from it, which may need the sign's bit.
        left, right = (
            np.bitwise_and(side[crossed], steps.magnitude_bits).view(unsigned.dtype) for side in (steps.a, steps.b)
        )
        unsigned[crossed] = left + right
    largest = int(unsigned.max())
    tally.max_ulp = max(tally.max_ulp, largest)
    kernel.bounds.steps = max(kernel.bounds.steps, largest)
    if not kernel.asked.counts_steps:
        return
    if largest == 0:
        tally.ulp_counts[0] += size
        return
    counts = tally.ulp_counts
    for at, number in enumerate(_powers(unsigned, largest, room).tolist()):
        counts[at] += number


_EXACT_IN_FLOAT32: Final = 1 << 24


def _powers(steps: Array, largest: int, room: Scratch) -> Array:
    """How many steps are 0, 1, 2-3, 4-7 …: by the exponent of each as a float32."""
    import numpy as np

    size = steps.size
    if largest >= _EXACT_IN_FLOAT32:
        # Without their second bit they cannot be rounded up to the next power.
        spare = room.array("powers", steps.dtype.str[1:], size)
        np.right_shift(steps, 1, out=spare)
        np.bitwise_not(spare, out=spare)
        np.bitwise_and(steps, spare, out=spare)
        steps = spare
    single = room.array("single", "f4", size)
    np.copyto(single, steps, casting="unsafe")
    exponents = single.view(np.uint32)
    np.right_shift(exponents, 23, out=exponents)  # 0 for 0, and 127 for 1
    codes = room.array("codes", "u1", size + 1)
    codes[-1] = 0
    np.copyto(codes[:-1], exponents, casting="unsafe")
    # Two codes at a time: half as many steps for bincount.
    pairs = np.bincount(codes[: size + (size & 1)].view(np.uint16))
    present = np.flatnonzero(pairs)
    found: Array = np.bincount(present & 0xFF, pairs[present], 256) + np.bincount(present >> 8, pairs[present], 256)
    found = found.astype(np.int64)
    counts = np.concatenate((found[:1], found[127 : 126 + ULP_BINS]))
    counts[0] -= size & 1
    return counts
