"""Everything that one pass over wide elements (32 and 64 bits) tells, chunk by chunk.

A chunk's facts are exact but for two roundings. The sum of floats is exact, or so nearly that the rest shows only
where the values cancel almost to nothing; that is noticed (`Moments.doubt`), and then the pass is made again without
rounding. The sum of squares is taken about the chunk's mean where that is far from zero and converted back in exact
integers, so that nothing cancels; it carries the rounding of dot products of 512 float64 numbers each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from viewer.tensors.exact import UNIT_BITS, Moments, fixed, ratio
from viewer.tensors.scratch import work_bytes
from viewer.tensors.sums import (
    ROW_BITS,
    exact_total,
    exponent_of,
    positive_total,
    squares_about,
    sum_of_squares,
    total_of_rows,
)

if TYPE_CHECKING:
    import torch

_HUGE_EXPONENT: Final = 900
_HUGE_SCALE: Final = 64
"""A chunk of magnitudes above 2**900 is divided by 2**64 before it is summed."""

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
    """Work space of one thread on one device, for chunks up to a length.

    Attributes
    ----------
    by_numpy
        Whether numpy compares and picks elements: on the CPU it does so several times as fast as torch.
    """

    def __init__(self, length: int, device: torch.device) -> None:
        import torch

        self.length = length
        self.by_numpy = device.type == "cpu"
        self.values = self._empty(torch.float64, device)
        self.spare = self._empty(torch.float64, device)
        self.mask = self._empty(torch.bool, device)

    def _empty(self, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        import torch

        if device.type != "cpu":
            return torch.empty(self.length, dtype=dtype, device=device)
        return torch.from_numpy(work_bytes(self.length * dtype.itemsize)).view(dtype)

    def count_below(self, values: torch.Tensor, bound: float) -> int:
        """How many values are less than `bound`, which must be a number of their dtype."""
        import torch

        mask = self.mask[: values.numel()]
        if self.by_numpy:
            import numpy as np

            np.less(values.numpy(), bound, out=mask.numpy())
            return int(np.count_nonzero(mask.numpy()))
        torch.lt(values, bound, out=mask)
        return int(mask.sum().item())

    def count_equal(self, values: torch.Tensor, number: float) -> int:
        """How many values are equal to `number`."""
        import torch

        mask = self.mask[: values.numel()]
        if self.by_numpy:
            import numpy as np

            np.equal(values.numpy(), number, out=mask.numpy())
            return int(np.count_nonzero(mask.numpy()))
        torch.eq(values, number, out=mask)
        return int(mask.sum().item())

    def parted(self, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The finite values, and the others."""
        import torch

        if self.by_numpy:
            import numpy as np

            array = values.numpy()
            finite = np.isfinite(array)
            return torch.from_numpy(array[finite]), torch.from_numpy(array[~finite])
        mask = torch.isfinite(values)
        return values[mask], values[~mask]


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
        chunk, others = work.parted(chunk)
        facts.nan = int(torch.isnan(others).sum())
        facts.posinf = int((others == math.inf).sum())
        facts.neginf = int((others == -math.inf).sum())
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
    """Add the moments, and the counts of zeros and denormals.

    The steps are in the order of the fewest passes: from the values to their magnitudes to their squares, in place.
    """
    import torch

    count = chunk.numel()
    values, spare = work.values[:count], work.spare[:count]
    exponent = exponent_of(low, high)
    scale = _HUGE_SCALE if exponent > _HUGE_EXPONENT else 0
    exponent -= scale
    _load(values, chunk, scale)
    in_rows = chunk.dtype == torch.float32 and not careful
    if in_rows:
        total, doubt = total_of_rows(values, spare, exponent)
    else:
        total, doubt = exact_total(values, spare, exponent, careful=careful)
    two_sided = low < 0 < high
    if low < 0:
        values.abs_()
    absolute = positive_total(values) if two_sided else 0
    bound = max(smallest_normal, 2.0 ** (exponent - ROW_BITS)) if in_rows else smallest_normal
    small = 0
    if two_sided or min(abs(low), abs(high)) < bound:
        magnitudes = chunk.abs() if scale else values
        # One pass tells that there is none, which is usual; counting takes two.
        if float(magnitudes.amin()) < bound:
            small = work.count_below(magnitudes, bound)
        facts.zeros = work.count_equal(magnitudes, 0.0) if small else 0
        if small > facts.zeros:
            facts.denormal = work.count_below(magnitudes, smallest_normal) - facts.zeros
    squares = sum_of_squares(values, exponent)
    if in_rows and small > facts.zeros:
        _load(values, chunk, scale)
        total, doubt = exact_total(values, spare, exponent, careful=False)
    if total * total * 2 > squares * count:
        _load(values, chunk, scale)
        squares = squares_about(values, ratio(total, count << UNIT_BITS), total)
    facts.moments = Moments(
        count,
        total << scale,
        (absolute if two_sided else abs(total)) << scale,
        squares << (2 * scale),
        doubt << scale,
    )


def _load(values: torch.Tensor, chunk: torch.Tensor, scale: int) -> None:
    """Put a chunk as float64, divided by 2**scale, into `values`."""
    values.copy_(chunk)
    if scale:
        values.mul_(2.0**-scale)


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
    # Exact while they are small: below 2**26, and the sum of the squares below 2**53.
    about = sum_of_squares(values, (high - low).bit_length())
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
