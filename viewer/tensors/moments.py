"""Everything that one pass over wide elements (32 and 64 bits) tells, chunk by chunk.

A chunk's facts are exact but for two roundings. Sums of float32 go to float64 in rows of 64, which is exact unless
the magnitudes in a chunk differ by more than 2**24; the rows, and everything in other chunks, are split by an
error-free transformation (S. M. Rump, T. Ogita, S. Oishi: "Accurate floating-point summation part I", SIAM J. Sci.
Comput. 31, 2008, algorithm ExtractVector): the high parts are multiples of one unit that is coarse enough for their
sum to be exact in any order, and the low parts are so small that the rounding of their sum shows only where the high
parts cancel almost to nothing. That is noticed (`Moments.doubt`), and then the pass is made again without any rounding.
The sum of squares is taken about the chunk's mean where that is far from zero and converted back in exact integers, so
nothing cancels; it carries the rounding of one float64 dot product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from viewer.tensors.exact import UNIT_BITS, Moments, fixed, fixed_square, shifted

if TYPE_CHECKING:
    import torch

_SAFE_EXPONENT: Final = 400
"""Floats of magnitudes in 2**±400 can be squared in float64; others are scaled by a power of 2 for it."""

_HUGE_EXPONENT: Final = 900
"""A chunk of larger magnitudes is scaled down before it is summed."""

_LOWEST_POWER: Final = -1021
"""A splitter of this power has the last place of the smallest denormal: it leaves no low part."""

_ROW_BITS: Final = 24
"""See `_total_of_rows`: float32 has 24 bits, 64 numbers take 6 more, and float64 has 53."""

_CASCADE_BITS: Final = 7
"""`torch.sum` adds 16 numbers at each of 4 levels (`aten/src/ATen/native/cpu/SumKernel.cpp`): up to 64 roundings."""

_INT64: Final = 1 << 63


@dataclass(slots=True)
class Facts:
    """What is known of some elements of a tensor.

    Attributes
    ----------
    min, max
        Of the finite ones; None without any.
    argmin, argmax, first_nan
        Positions: of the first that equals `min`, `max`, and of the first NaN.
    moments
        Of the finite ones; its `count` is their number.
    """

    nan: int = 0
    posinf: int = 0
    neginf: int = 0
    zeros: int = 0
    negative: int = 0
    denormal: int = 0
    min: int | float | None = None
    max: int | float | None = None
    argmin: int | None = None
    argmax: int | None = None
    first_nan: int | None = None
    moments: Moments = field(default_factory=Moments)

    def merge(self, other: Facts) -> None:
        """Add the facts of other elements."""
        self.nan += other.nan
        self.posinf += other.posinf
        self.neginf += other.neginf
        self.zeros += other.zeros
        self.negative += other.negative
        self.denormal += other.denormal
        if other.min is not None and (self.min is None or other.min <= self.min):
            self.argmin = earlier(self.argmin if self.min == other.min else None, other.argmin)
            self.min = other.min
        if other.max is not None and (self.max is None or other.max >= self.max):
            self.argmax = earlier(self.argmax if self.max == other.max else None, other.argmax)
            self.max = other.max
        self.first_nan = earlier(self.first_nan, other.first_nan)
        self.moments.merge(other.moments)


def earlier(left: int | None, right: int | None) -> int | None:
    """The smaller of two positions, of which either may be missing."""
    if left is None or right is None:
        return right if left is None else left
    return min(left, right)


class FloatWork:
    """Work space of one thread on one device, for chunks up to a length."""

    def __init__(self, length: int, device: torch.device) -> None:
        import torch

        self.length = length
        self.values = torch.empty(length, dtype=torch.float64, device=device)
        self.spare = torch.empty(length, dtype=torch.float64, device=device)
        self.mask = torch.empty(length, dtype=torch.bool, device=device)

    def count_below(self, values: torch.Tensor, bound: float) -> int:
        """How many values are less than `bound`, which must be a number of their dtype."""
        import torch

        mask = self.mask[: values.numel()]
        if values.device.type == "cpu":
            import numpy as np

            # torch.lt runs at a sixth of the speed, and torch.count_nonzero at a tenth.
            np.less(values.numpy(), bound, out=mask.numpy())
            return int(np.count_nonzero(mask.numpy()))
        torch.lt(values, bound, out=mask)
        return int(mask.sum().item())

    def count_equal(self, values: torch.Tensor, number: float) -> int:
        """How many values are equal to `number`."""
        import torch

        mask = self.mask[: values.numel()]
        if values.device.type == "cpu":
            import numpy as np

            np.equal(values.numpy(), number, out=mask.numpy())
            return int(np.count_nonzero(mask.numpy()))
        torch.eq(values, number, out=mask)
        return int(mask.sum().item())


def float_facts(chunk: torch.Tensor, smallest_normal: float, work: FloatWork, *, careful: bool = False) -> Facts:
    """The facts of a 1-D float chunk of at least one element, without its positions.

    Parameters
    ----------
    careful
        Sum without any rounding, at half the speed.
    """
    import torch

    facts = Facts()
    low, high = (float(end) for end in torch.aminmax(chunk))
    if not (math.isfinite(low) and math.isfinite(high)):
        facts.nan = int(torch.isnan(chunk).sum())
        facts.posinf = work.count_equal(chunk, math.inf)
        facts.neginf = work.count_equal(chunk, -math.inf)
        chunk = chunk[torch.isfinite(chunk)]
        if not chunk.numel():
            return facts
        low, high = (float(end) for end in torch.aminmax(chunk))
    # -0.0 and 0.0 are equal, and torch returns either.
    facts.min, facts.max = low + 0.0, high + 0.0
    if low == high:
        _constant(facts, low, chunk.numel(), smallest_normal)
        return facts
    if low < 0:
        facts.negative = chunk.numel() if high < 0 else work.count_below(chunk, 0.0)
    _measure(facts, chunk, low, high, smallest_normal, work, careful=careful)
    return facts


def _constant(facts: Facts, value: float, count: int, smallest_normal: float) -> None:
    unit = fixed(value)
    facts.moments = Moments(count, unit * count, abs(unit) * count, unit * unit * count)
    facts.zeros = count if value == 0 else 0
    facts.negative = count if value < 0 else 0
    facts.denormal = count if 0 < abs(value) < smallest_normal else 0


def _measure(
    facts: Facts,
    chunk: torch.Tensor,
    low: float,
    high: float,
    smallest_normal: float,
    work: FloatWork,
    *,
    careful: bool,
) -> None:
    """Add the moments, and the counts of zeros and denormals."""
    import torch

    count = chunk.numel()
    values, spare = work.values[:count], work.spare[:count]
    values.copy_(chunk)
    exponent = _exponent(low, high)
    scale = 0
    if exponent > _HUGE_EXPONENT:  # leave room for sums
        scale = 64
        exponent -= scale
        values.mul_(2.0**-scale)
    in_rows = chunk.dtype == torch.float32 and not careful
    if in_rows:
        total, doubt = _total_of_rows(values, spare, exponent)
    else:
        total, doubt = _exact_total(values, spare, exponent, careful=careful)
    squares = _squares(values, spare, exponent, total)
    two_sided = low < 0 < high
    absolute = fixed(float(values.abs_().sum())) if two_sided else 0
    if scale:
        values.copy_(chunk)
    if scale or high <= 0:
        values.abs_()
    bound = max(smallest_normal, 2.0 ** (exponent - _ROW_BITS)) if in_rows else smallest_normal
    if two_sided or min(abs(low), abs(high)) < bound:
        small = work.count_below(values, bound)
        facts.zeros = work.count_equal(values, 0.0) if small else 0
        if small > facts.zeros:
            facts.denormal = work.count_below(values, smallest_normal) - facts.zeros
            if in_rows:
                values.copy_(chunk)
                total, doubt = _exact_total(values, spare, exponent, careful=False)
                squares = _squares(values, spare, exponent, total)
    facts.moments = Moments(
        count,
        total << scale,
        (absolute if two_sided else abs(total)) << scale,
        squares << (2 * scale),
        doubt << scale,
    )


def _exponent(low: float, high: float) -> int:
    """The smallest e such that everything from `low` to `high` is below 2**e in magnitude."""
    return math.frexp(max(-low, high))[1]


def _total_of_rows(values: torch.Tensor, spare: torch.Tensor, exponent: int) -> tuple[int, int]:
    """As `_exact_total`, of float32 values none of which but 0 is below 2**(exponent - _ROW_BITS) in magnitude.

    64 of them are below 2**(exponent + 6) and multiples of 2**(exponent - 47), so float64 holds their sum.
    """
    import torch

    rows = values.numel() // 64
    total = fixed(float(values[64 * rows :].sum()))
    if not rows:
        return total, 0
    sums = spare[:rows]
    torch.sum(values[: 64 * rows].view(rows, 64), 1, out=sums)
    split, doubt = _exact_total(sums, spare[rows : 2 * rows], exponent + 6, careful=False)
    return total + split, doubt


def _exact_total(values: torch.Tensor, spare: torch.Tensor, exponent: int, *, careful: bool) -> tuple[int, int]:
    """The sum of float64 values below 2**exponent in magnitude, and a bound of its error, in units of 2**-1126.

    `spare` is overwritten. With `careful` the low parts are split again until nothing is left, and the error is 0.
    """
    import torch

    count = values.numel()
    # The high parts are multiples of 2**(power - 52) below 2**exponent: `count` of them stay below 2**53 such units.
    growth = max(count.bit_length(), 1) + 1
    power = exponent + growth
    if not careful:
        total = _split(values, power, spare)
        torch.sub(values, spare, out=spare)
        # Each low part is at most half a unit, and torch sums them in cascades of 16 additions.
        doubt = shifted(count, power - 52 + _CASCADE_BITS - 53 + UNIT_BITS) + 1
        return total + fixed(float(spare.sum())), doubt
    rest = values.clone()
    total = 0
    while bool(rest.any()):
        total += _split(rest, max(power, _LOWEST_POWER), spare)
        rest.sub_(spare)
        power -= 52 - growth
    return total, 0


def _split(values: torch.Tensor, power: int, high: torch.Tensor) -> int:
    """Put the high parts of the values into `high`, and return their exact sum in units of 2**-1126."""
    import torch

    splitter = 1.5 * 2.0**power
    torch.add(values, splitter, out=high)
    high.sub_(splitter)
    return fixed(float(high.sum()))


def _squares(values: torch.Tensor, spare: torch.Tensor, exponent: int, total: int) -> int:
    """The sum of squares, in units of 2**-2252. `spare` is overwritten.

    Where the mean is far from zero: with m near it, Σx² = Σ(x - m)² + 2mΣx - nm², the last two in exact integers.
    """
    import torch

    count = values.numel()
    if -_SAFE_EXPONENT < exponent < _SAFE_EXPONENT:
        squares = fixed_square(float(torch.dot(values, values)))
    else:
        spare.copy_(values)
        squares = _sum_of_squares(spare, exponent)
    if total * total * 2 <= squares * count:
        return squares
    mean = total / (count << UNIT_BITS)
    torch.sub(values, mean, out=spare)
    low, high = (float(end) for end in torch.aminmax(spare))
    about = _sum_of_squares(spare, _exponent(low, high))
    unit = fixed(mean)
    return about + 2 * unit * total - count * unit * unit


def _sum_of_squares(values: torch.Tensor, exponent: int) -> int:
    """Sum of squares of values below 2**exponent in magnitude, in units of 2**-2252. The values are overwritten."""
    import torch

    scale = 0
    if not -_SAFE_EXPONENT < exponent < _SAFE_EXPONENT:
        scale = exponent
        # In two steps, since 2**1074 is no float64.
        values.mul_(2.0 ** -(scale // 2)).mul_(2.0 ** -(scale - scale // 2))
    return shifted(fixed_square(float(torch.dot(values, values))), 2 * scale)


def int_facts(chunk: torch.Tensor, offset: int, work: FloatWork) -> Facts:
    """The facts of a 1-D int64 chunk of at least one element, without its positions.

    Parameters
    ----------
    offset
        What to add to every element: 2**63 for uint64, whose values are stored less that.
    """
    import torch

    count = chunk.numel()
    facts = Facts()
    low, high = (int(end) for end in torch.aminmax(chunk))
    facts.min, facts.max = low + offset, high + offset
    if facts.min <= 0 <= facts.max:
        facts.zeros = work.count_equal(chunk, -offset)
    if facts.max < 0:
        facts.negative = count
    elif facts.min < 0:
        facts.negative = work.count_below(chunk, 0)
    stored = _int_sum(chunk, max(abs(low), abs(high)))
    total = stored + offset * count
    if facts.min >= 0 or facts.max <= 0:
        absolute = abs(total)
    else:
        # Only signed types come here, and their offset is 0.
        absolute = 2 * _int_sum(chunk.clamp(min=0), high) - total
    centre = stored // count
    # The difference wraps into place as long as no two elements are 2**63 apart.
    values = work.values[:count]
    if high - low < _INT64:
        values.copy_(chunk - centre)
    else:
        values.copy_(chunk)
        centre = 0
    # Exact while the deviations are below 2**26; else rounded as any float64 dot product.
    about = fixed_square(float(torch.dot(values, values)))
    of_stored = about + ((2 * centre * stored - count * centre * centre) << (2 * UNIT_BITS))
    squares = of_stored + ((2 * offset * stored + count * offset * offset) << (2 * UNIT_BITS))
    facts.moments = Moments(count, total << UNIT_BITS, absolute << UNIT_BITS, squares)
    return facts


def _int_sum(chunk: torch.Tensor, largest: int) -> int:
    """The exact sum of an int64 chunk whose magnitudes do not pass `largest`."""
    if largest * chunk.numel() < _INT64:
        return int(chunk.sum().item())
    high = int((chunk >> 32).sum().item())
    low = int((chunk & 0xFFFFFFFF).sum().item())
    return (high << 32) + low
