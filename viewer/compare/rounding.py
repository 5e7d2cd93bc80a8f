"""Whether one tensor is exactly another one rounded to its dtype: a float32 model against its bfloat16 copy."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from viewer.tensors.elements import pattern_values

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]

_BITS: Final = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


def can_round(source: str, target: str) -> bool:
    """Whether it makes sense to ask: the target is a float dtype of this table or a narrow one, and another dtype."""
    return source != target and (target in _BITS or target.startswith(("float8", "float4")))


def unlike_rounded(values: Array, target: str, found: Array) -> int:
    """How many of `found`, numbers of dtype `target`, are not `values` rounded to it, to nearest and ties to even.

    NaN stands for NaN. A 64-bit value may also have gone through float32, as torch does; and beyond the largest
    number of a narrow dtype it may have become an infinity, NaN or the largest number, which programs do differently.
    """
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        rounded = _rounded(values, target)
        wrong = ~_same(rounded, found)
        if wrong.any() and values.dtype.itemsize == 8 and target != "float64":
            wrong[wrong] = ~_same(_rounded(values[wrong].astype(np.float32), target), found[wrong])
        if wrong.any() and target not in _BITS:
            largest = float(np.abs(_narrow(target)[0]).max())
            beyond = np.abs(values[wrong].astype(np.float64)) > largest
            end = np.isnan(found[wrong]) | np.isinf(found[wrong]) | (np.abs(found[wrong]) == largest)
            wrong[wrong] = ~(beyond & end)
    return int(np.count_nonzero(wrong))


def _same(rounded: Array, found: Array) -> npt.NDArray[np.bool_]:
    import numpy as np

    same: npt.NDArray[np.bool_] = (rounded == found) | (np.isnan(rounded) & np.isnan(found))
    return same


def _rounded(values: Array, target: str) -> Array:
    import numpy as np

    if target in ("float64", "float32"):
        return values.astype(target)
    if target == "float16":
        return values.astype(np.float16).astype(np.float32)
    if target == "bfloat16":
        # As c10/util/BFloat16.h: add half a unit of the last place, less one where it is even already.
        single = values.astype(np.float32)
        bits = single.view(np.uint32)
        kept = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
        return np.where(np.isnan(single), single, kept.view(np.float32))
    numbers, middles, even_below = _narrow(target)
    wide = values.astype(np.float64)
    at = np.searchsorted(middles, wide, side="left")  # a tie goes to the number below
    clipped = np.minimum(at, middles.size - 1)
    at += (wide == middles[clipped]) & ~even_below[clipped]
    return np.where(np.isnan(wide), np.nan, numbers[at])


@lru_cache(maxsize=8)
def _narrow(name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The finite numbers of a narrow float dtype, the middles between neighbours, and whether the number below each
    middle has an even pattern."""
    import numpy as np

    values = np.asarray(pattern_values(name), dtype=np.float64)
    patterns = np.flatnonzero(np.isfinite(values))
    numbers, first = np.unique(values[patterns], return_index=True)
    chosen = patterns[first]
    middles = (numbers[:-1] + numbers[1:]) / 2
    return numbers, middles, chosen[:-1] % 2 == 0
