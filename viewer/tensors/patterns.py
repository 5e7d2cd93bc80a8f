"""Types of at most 16 bits: how often each bit pattern occurs tells everything, exactly.

There are 65,536 patterns at most, so after one pass over the bytes all statistics, quantiles and histograms follow
from the counts, in integers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.tensors import TensorFlag, TensorRef
from viewer.tensors.exact import UNIT_BITS, Moments, fixed
from viewer.tensors.moments import Facts
from viewer.tensors.quantiles import FRACTIONS, interpolated, place_of
from viewer.tensors.results import Quantile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

_FEW: Final = 64
"""Values up to which Python's integers are as quick as arrays."""


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
        used = int(np.bitwise_or.reduce(mantissa)) if mantissa.size else 0
        spare = (used & -used).bit_length() - 1 if used else 0  # zeros at the end of all
        mantissa >>= spare
        for name, found in {
            "order": order,
            "nan": np.flatnonzero(np.isnan(floats)),
            "posinf": np.flatnonzero(floats == np.inf),
            "neginf": np.flatnonzero(floats == -np.inf),
            "zeros": np.flatnonzero(floats == 0),
            "denormal": np.flatnonzero((magnitude < self.smallest_normal) & (magnitude > 0)),
            "mantissa": mantissa,
            "exponent": exponent.astype(np.int64) - 24 + spare,
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


def table_of(tensor: TensorRef) -> PatternTable:
    """The table of a tensor's stored values."""
    negated = bool(tensor.flags & TensorFlag.NEG) and tensor.dtype.kind == "float"
    return pattern_table(tensor.dtype.name, negated=negated)


class PatternCounts:
    """What follows from the counts of all patterns of a table.

    Parameters
    ----------
    counts
        By pattern.
    """

    def __init__(self, table: PatternTable, counts: Ints) -> None:
        import numpy as np

        self._table = table
        self._counts = counts
        ordered = counts[table.order]
        self._present = np.flatnonzero(ordered)  # along `table.order`
        self._numbers: Ints = ordered[self._present]
        self._values = table.values[table.order[self._present]]
        self._cumulated: Ints = np.cumsum(self._numbers)

    @property
    def finite(self) -> int:
        """Number of finite values."""
        return int(self._cumulated[-1]) if self._cumulated.size else 0

    def facts(self) -> Facts:
        """The facts without the positions."""
        table, counts = self._table, self._counts
        facts = Facts(
            nan=int(counts[table.nan].sum()),
            posinf=int(counts[table.posinf].sum()),
            neginf=int(counts[table.neginf].sum()),
            zeros=int(counts[table.zeros].sum()),
            denormal=int(counts[table.denormal].sum()),
            moments=self._moments(),
        )
        if self._present.size:
            # -0.0 + 0 is 0.0; its pattern may stand first among the equals.
            facts.min, facts.max = self._values[0].item() + 0, self._values[-1].item() + 0
            facts.negative = int(self._numbers[self._values < 0].sum())
        return facts

    def _moments(self) -> Moments:
        import numpy as np

        mantissa, exponent = self._table.mantissa[self._present], self._table.exponent[self._present]
        largest = int(np.abs(mantissa).max()) if mantissa.size else 0
        moments = Moments()
        if mantissa.size <= _FEW or self.finite * largest**2 >= 1 << 62:
            for value, copies in zip(self._values.tolist(), self._numbers.tolist(), strict=True):
                unit = fixed(value)
                moments.merge(Moments(copies, unit * copies, abs(unit) * copies, unit * unit * copies))
            return moments
        # By exponent: the integer sums of the mantissas, then one shift each.
        by_exponent = np.argsort(exponent, kind="stable")
        exponents, starts = np.unique(exponent[by_exponent], return_index=True)
        weighted = (self._numbers * mantissa)[by_exponent]
        sums = np.add.reduceat(weighted, starts).tolist()
        absolutes = np.add.reduceat(np.abs(weighted), starts).tolist()
        squares = np.add.reduceat(weighted * mantissa[by_exponent], starts).tolist()
        moments.count = self.finite
        for power, total, absolute, square in zip(exponents.tolist(), sums, absolutes, squares, strict=True):
            moments.total += total << (power + UNIT_BITS)
            moments.absolute += absolute << (power + UNIT_BITS)
            moments.squares += square << (2 * (power + UNIT_BITS))
        return moments

    def distinct(self) -> int:
        """How many different finite values occur; 0.0 and -0.0 are one."""
        return int((self._values[1:] != self._values[:-1]).sum()) + 1 if self._values.size else 0

    def quantiles(self, copies: int) -> tuple[Quantile, ...]:
        """The quantiles of `FRACTIONS` of the values, each taken `copies` times."""
        total = self.finite * copies
        if not total:
            return ()
        return tuple(Quantile(fraction, self._quantile(fraction, total, copies)) for fraction in FRACTIONS)

    def _quantile(self, fraction: float, total: int, copies: int) -> float:
        import numpy as np

        rank, share = place_of(fraction, total)
        first, second = (
            float(self._values[int(np.searchsorted(self._cumulated, min(at, total - 1) // copies, side="right"))])
            for at in (rank, rank + 1)
        )
        return interpolated(first, second, share)

    def between(self, edges: npt.NDArray[np.float64]) -> Ints:
        """Below the edges, in each bin, above them: bins + 2 numbers."""
        import numpy as np

        cumulated = np.concatenate(([0], self._cumulated))
        at = np.searchsorted(self._values, edges, side="left")
        at[-1] = np.searchsorted(self._values, edges[-1], side="right")
        return np.diff(np.concatenate(([0], cumulated[at], cumulated[-1:])))
