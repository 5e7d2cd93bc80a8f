"""What is counted over the pairs of one tensor, chunk by chunk, and the measures that follow.

A sum over a chunk is a float64 sum of numbers of one sign, pairwise or in rows (products of a and b apart, which may
cancel); sums of chunks are added as exact integers, in the order of the chunks, so the measures do not depend on how
many threads worked, and carry the rounding of one chunk: some units in the 15th digit. Counts, maxima and positions
are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from viewer.compare.results import Measures
from viewer.tensors.exact import UNIT_BITS, ratio, root_ratio
from viewer.tensors.results import Number

ULP_BINS: Final = 66
"""Distances 0, 1, 2-3 … up to 64 bits."""


@dataclass(slots=True)
class Tally:
    """Counts and sums over some pairs.

    Attributes
    ----------
    sum_abs
        Of |a - b|, in units of 2**-1126.
    squares, squares_a, squares_b, products
        Sums of (a - b)², a², b² and a·b, in units of 2**-2252.
    infinite_at
        The first pair whose difference is infinite.
    outside
        Pairs that are not within the tolerance.
    unlike_b, unlike_a
        Pairs where b is not a rounded to b's dtype, and the other way round.
    """

    compared: int = 0
    differ: int = 0
    differ_bits: int = 0
    sum_abs: int = 0
    squares: int = 0
    squares_a: int = 0
    squares_b: int = 0
    products: int = 0
    max_abs: Number = 0
    max_at: int | None = None
    infinite_at: int | None = None
    max_rel: float = 0.0
    max_rel_to_a: float = 0.0
    max_rel_to_b: float = 0.0
    max_ulp: int = 0
    ulp_counts: list[int] = field(default_factory=lambda: [0] * ULP_BINS)
    sign_flips: int = 0
    zero_signs: int = 0
    both_nan: int = 0
    new_nan: int = 0
    lost_nan: int = 0
    same_inf: int = 0
    new_inf: int = 0
    lost_inf: int = 0
    changed_inf: int = 0
    outside: int = 0
    unlike_b: int = 0
    unlike_a: int = 0

    def merge(self, other: Tally) -> None:
        """Add the tally of other pairs."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _MAXIMA:
            setattr(self, name, max(getattr(self, name), getattr(other, name)))
        if other.max_at is not None:
            if self.max_at is None or other.max_abs > self.max_abs:
                self.max_abs, self.max_at = other.max_abs, other.max_at
            elif other.max_abs == self.max_abs:
                self.max_at = min(self.max_at, other.max_at)
        if other.infinite_at is not None:
            self.infinite_at = (
                other.infinite_at if self.infinite_at is None else min(self.infinite_at, other.infinite_at)
            )
        if any(other.ulp_counts):
            self.ulp_counts = [x + y for x, y in zip(self.ulp_counts, other.ulp_counts, strict=True)]


_SUMS: Final = (
    "compared", "differ", "differ_bits", "sum_abs", "squares", "squares_a", "squares_b", "products", "sign_flips",
    "zero_signs", "both_nan", "new_nan", "lost_nan", "same_inf", "new_inf", "lost_inf", "changed_inf", "outside",
    "unlike_b", "unlike_a",
)  # fmt: skip
_MAXIMA: Final = ("max_rel", "max_rel_to_a", "max_rel_to_b", "max_ulp")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a pair beyond what every pair has.

    Attributes
    ----------
    same_dtype
        Whether bits can be compared.
    has_ulp
        Whether steps of the dtype can be counted.
    counts_steps
        Whether their histogram is asked.
    has_signs
        False for complex.
    rounds_to_b, rounds_to_a
        Whether the question of rounding makes sense.
    """

    same_dtype: bool
    has_ulp: bool
    has_signs: bool
    tolerance: bool
    rounds_to_b: bool = False
    rounds_to_a: bool = False
    counts_steps: bool = False


def measures_of(tally: Tally, count: int, copies: int, asked: Asked) -> Measures:
    """The measures of a pair whose walk shows each element `copies` times, of `count` in all."""
    compared = tally.compared * copies
    equal = tally.differ == 0
    infinite = tally.infinite_at is not None
    mean_abs = ratio(tally.sum_abs * copies, compared << UNIT_BITS) if compared else None
    rms = _root_of_mean(tally.squares, tally.compared) if compared else None
    norm_a = root_ratio(tally.squares_a * copies, 1 << UNIT_BITS)
    norm_b = root_ratio(tally.squares_b * copies, 1 << UNIT_BITS)
    norm_diff = root_ratio(tally.squares * copies, 1 << UNIT_BITS)
    rel_norm: float | None = 0.0
    cosine: float | None = 1.0
    if not equal:
        rel_norm = root_ratio_of(tally.squares, tally.squares_a) if tally.squares_a else None
        if not tally.squares and tally.compared:
            rel_norm = 0.0
        cosine = _cosine(tally)
    return Measures(
        count=count,
        compared=compared,
        differ=tally.differ * copies,
        differ_bits=tally.differ_bits * copies if asked.same_dtype else None,
        max_abs=math.inf if infinite else tally.max_abs,
        max_abs_index=tally.infinite_at if infinite else tally.max_at,
        max_abs_finite=tally.max_abs,
        max_abs_finite_index=tally.max_at,
        mean_abs=mean_abs,
        rms=rms,
        max_rel=tally.max_rel if compared else None,
        max_rel_to_a=tally.max_rel_to_a if compared else None,
        max_rel_to_b=tally.max_rel_to_b if compared else None,
        norm_a=None if equal else norm_a,
        norm_b=None if equal else norm_b,
        norm_diff=norm_diff,
        rel_norm=rel_norm,
        cosine=cosine,
        max_ulp=tally.max_ulp if asked.has_ulp else None,
        ulp_counts=_ulp_counts(tally, copies) if asked.has_ulp and asked.counts_steps else (),
        sign_flips=tally.sign_flips * copies if asked.has_signs else None,
        zero_signs=tally.zero_signs * copies,
        both_nan=tally.both_nan * copies,
        new_nan=tally.new_nan * copies,
        lost_nan=tally.lost_nan * copies,
        same_inf=tally.same_inf * copies,
        new_inf=tally.new_inf * copies,
        lost_inf=tally.lost_inf * copies,
        changed_inf=tally.changed_inf * copies,
        rounded_to_b=tally.unlike_b == 0 if asked.rounds_to_b else None,
        rounded_to_a=tally.unlike_a == 0 if asked.rounds_to_a else None,
        within=tally.outside == 0 if asked.tolerance else None,
    )


def _ulp_counts(tally: Tally, copies: int) -> tuple[int, ...]:
    counts = [number * copies for number in tally.ulp_counts]
    while counts and not counts[-1]:
        counts.pop()
    return tuple(counts)


def _root_of_mean(squares: int, count: int) -> float:
    """sqrt(squares / count), correctly rounded but for the last place."""
    return root_ratio_of(squares, count << (2 * UNIT_BITS))


def root_ratio_of(numerator: int, denominator: int) -> float:
    """The square root of a quotient of two whole numbers, whatever their size."""
    # 128 bits more than float64 has, so that the root is rounded once.
    shift = max(0, 256 - (numerator.bit_length() - denominator.bit_length()))
    shift += shift & 1
    return ratio(math.isqrt((numerator << shift) // denominator), 1 << (shift // 2))


def _cosine(tally: Tally) -> float | None:
    if not tally.squares_a or not tally.squares_b:
        return None
    value = ratio(tally.products, math.isqrt(tally.squares_a * tally.squares_b) or 1)
    return max(-1.0, min(1.0, value))
