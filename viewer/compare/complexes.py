"""Pairs of complex numbers: the distance is that of the plane, and steps are counted for both parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from viewer.compare.floats import Steps, tally_classes, tally_steps
from viewer.compare.kernels import Kernel, Parts, Places, is_wide
from viewer.compare.tally import Tally
from viewer.tensors.scratch import Scratch

if TYPE_CHECKING:
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]


def tally_complex(
    kernel: Kernel, tally: Tally, a: Array, b: Array, steps: Steps | None, places: Places, room: Scratch
) -> None:
    """Add pairs of complex numbers, real and imaginary parts one after the other, float32 or float64."""
    import numpy as np

    # Rows of (real, imaginary).
    left, right = a.reshape(-1, 2).astype(np.float64), b.reshape(-1, 2).astype(np.float64)
    same: Array = np.all(left == right, axis=1)
    finite: Array = np.all(np.isfinite(left) & np.isfinite(right), axis=1)
    if not finite.all():
        nan_a, nan_b = (np.asarray(np.any(np.isnan(side), axis=1)) for side in (left, right))
        inf_a, inf_b = (np.asarray(np.any(np.isinf(side), axis=1)) for side in (left, right))
        tally_classes(kernel, tally, (nan_a, nan_b), (inf_a & ~nan_a, inf_b & ~nan_b), same, places)
        left, right, same = left[finite], right[finite], same[finite]
        places = places.chosen(finite)
        if steps is not None:
            steps = steps.chosen(np.repeat(finite, 2))
    if not left.size:
        return
    tally.differ += int(np.count_nonzero(~same))
    zero = (left == 0) & (right == 0)
    if zero.any():
        crossed = zero & (np.signbit(left) != np.signbit(right))
        tally.zero_signs += int(np.count_nonzero(crossed.any(axis=1)))
    scale = 0
    if is_wide(left.reshape(-1), right.reshape(-1)) and max(np.abs(left).max(), np.abs(right).max()) > 2.0**1000:
        left, right, scale = left / 16, right / 16, 4
    difference = right - left
    distance = np.hypot(difference[:, 0], difference[:, 1])
    flat = difference.reshape(-1), left.reshape(-1), right.reshape(-1)
    wide = is_wide(*flat)
    kernel.distances(
        tally,
        distance,
        np.hypot(left[:, 0], left[:, 1]),
        np.hypot(right[:, 0], right[:, 1]),
        places,
        room,
        parts=Parts(*flat, wide, scale),
    )
    if scale:
        kernel.place_exactly(tally, int(distance.max()) << scale, distance, places)
    if steps is not None:
        crossed = np.flatnonzero(np.signbit(left) != np.signbit(right))
        tally_steps(kernel, tally, steps, crossed, room)
