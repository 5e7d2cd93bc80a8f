"""Types of at most 16 bits: how often each bit pattern occurs tells everything, exactly.

There are 65,536 patterns at most, so after one pass over the bytes all statistics, quantiles and histograms follow
from the counts, in integers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from viewer.tensors.exact import UNIT_BITS, Moments, fixed
from viewer.tensors.moments import Facts
from viewer.tensors.results import Quantile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

FRACTIONS: Final = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""The quantiles that are computed."""


@dataclass(frozen=True, slots=True)
class PatternTable:
    """The values of all patterns of one type, arranged for counting.

    Attributes
    ----------
    values
        By pattern; int64 or float64 with NaN and infinities.
    order
        Patterns of finite values, by rising value.
    nan, posinf, neginf
        Patterns of these.
    zeros, denormal
        Patterns of these.
    mantissa, exponent
        Along `order`: value = mantissa · 2**exponent with an integer mantissa.
    """

    values: npt.NDArray[np.float64] | Ints
    smallest_normal: float
    order: Ints = field(init=False)
    nan: Ints = field(init=False)
    posinf: Ints = field(init=False)
    neginf: Ints = field(init=False)
    zeros: Ints = field(init=False)
    denormal: Ints = field(init=False)
    mantissa: Ints = field(init=False)
    exponent: Ints = field(init=False)

    def __post_init__(self) -> None:
        import numpy as np

        values = self.values
        floats = values.astype(np.float64)
        finite = np.flatnonzero(np.isfinite(floats))
        order = finite[np.argsort(values[finite], kind="stable")]
        magnitude = np.abs(floats)
        fraction, exponent = np.frexp(floats[order])
        # float32 has 24 bits (dequantized values); the others have fewer.
        mantissa = np.ldexp(fraction, 24).astype(np.int64)
        while mantissa.size and not (mantissa & 1).any():
            mantissa >>= 1
            exponent = exponent + 1
        for name, found in {
            "order": order,
            "nan": np.flatnonzero(np.isnan(floats)),
            "posinf": np.flatnonzero(floats == np.inf),
            "neginf": np.flatnonzero(floats == -np.inf),
            "zeros": np.flatnonzero(floats == 0),
            "denormal": np.flatnonzero((magnitude < self.smallest_normal) & (magnitude > 0)),
            "mantissa": mantissa,
            "exponent": exponent.astype(np.int64) - 24,
        }.items():
            object.__setattr__(self, name, found)

    @property
    def is_integer(self) -> bool:
        return self.values.dtype.kind == "i"


@lru_cache(maxsize=32)
def pattern_table(name: str, *, negated: bool = False) -> PatternTable:
    """The table of a dtype."""
    from viewer.checkpoint.dtypes import dtype_named
    from viewer.tensors.elements import element_of, pattern_values

    values = pattern_values(name)
    return PatternTable(-values if negated else values, element_of(dtype_named(name)).smallest_normal)


def facts_of(table: PatternTable, counts: Ints) -> Facts:
    """The facts without the positions."""
    facts = Facts(
        nan=_total(counts[table.nan]),
        posinf=_total(counts[table.posinf]),
        neginf=_total(counts[table.neginf]),
        zeros=_total(counts[table.zeros]),
        denormal=_total(counts[table.denormal]),
        moments=_moments(table, counts),
    )
    ordered = counts[table.order]
    present = table.order[ordered > 0]
    if present.size:
        values = table.values[present]
        facts.min, facts.max = (end.item() + 0 for end in (values[0], values[-1]))
        facts.negative = _total(counts[present[values < 0]])
    return facts


def _total(counts: Ints) -> int:
    return int(counts.sum())


def _moments(table: PatternTable, counts: Ints) -> Moments:
    import numpy as np

    ordered = counts[table.order]
    present = np.flatnonzero(ordered)
    number = ordered[present]
    count = int(number.sum())
    if present.size <= 256 or count * _largest(table.mantissa) ** 2 >= 1 << 62:
        moments = Moments()
        for value, copies in zip(table.values[table.order[present]].tolist(), number.tolist(), strict=True):
            unit = fixed(value)
            moments.merge(Moments(copies, unit * copies, abs(unit) * copies, unit * unit * copies))
        return moments
    # By exponent: the integer sums of the mantissas, then one shift each.
    mantissa, exponent = table.mantissa[present], table.exponent[present]
    by_exponent = np.argsort(exponent, kind="stable")
    exponents, starts = np.unique(exponent[by_exponent], return_index=True)
    weighted = (number * mantissa)[by_exponent]
    sums = np.add.reduceat(weighted, starts).tolist()
    absolutes = np.add.reduceat(np.abs(weighted), starts).tolist()
    squares = np.add.reduceat(weighted * mantissa[by_exponent], starts).tolist()
    moments = Moments(count)
    for power, total, absolute, square in zip(exponents.tolist(), sums, absolutes, squares, strict=True):
        moments.total += total << (power + UNIT_BITS)
        moments.absolute += absolute << (power + UNIT_BITS)
        moments.squares += square << (2 * (power + UNIT_BITS))
    return moments


def _largest(mantissa: Ints) -> int:
    return int(abs(mantissa).max()) if mantissa.size else 0


def distinct_of(table: PatternTable, counts: Ints) -> int:
    """How many different finite values occur; 0.0 and -0.0 are one."""
    import numpy as np

    present = table.values[table.order[counts[table.order] > 0]]
    return int(np.unique(present).size)


def quantiles_of(table: PatternTable, counts: Ints) -> tuple[Quantile, ...]:
    """The quantiles of `FRACTIONS`, as `numpy.quantile` interpolates them."""
    import numpy as np

    ordered = counts[table.order]
    cumulated = np.cumsum(ordered)
    total = int(cumulated[-1]) if cumulated.size else 0
    if not total:
        return ()
    found: list[Quantile] = []
    for fraction in FRACTIONS:
        position = fraction * (total - 1)
        below = int(position)
        share = position - below
        first, second = (
            float(table.values[table.order[int(np.searchsorted(cumulated, min(rank, total - 1), side="right"))]])
            for rank in (below, below + 1)
        )
        found.append(Quantile(fraction, interpolated(first, second, share)))
    return tuple(found)


def interpolated(first: float, second: float, share: float) -> float:
    """The point between two values as numpy computes it (`numpy.lib._function_base_impl._lerp`)."""
    if share >= 0.5:
        return second - (second - first) * (1 - share)
    return first + (second - first) * share


def counts_between(table: PatternTable, counts: Ints, edges: npt.NDArray[np.float64]) -> Ints:
    """Below the edges, in each bin, above them: bins + 2 numbers."""
    import numpy as np

    values = table.values[table.order].astype(np.float64)
    cumulated = np.concatenate(([0], np.cumsum(counts[table.order])))
    at = np.searchsorted(values, edges, side="left")
    at[-1] = np.searchsorted(values, edges[-1], side="right")
    return np.diff(np.concatenate(([0], cumulated[at], cumulated[-1:])))
