"""Sums of float64 tensors that are exact, or as good as exact, on any device.

The error-free transformation is algorithm ExtractVector of S. M. Rump, T. Ogita, S. Oishi: "Accurate floating-point
summation part I", SIAM J. Sci. Comput. 31, 2008: the high parts of all values are multiples of one unit that is
coarse enough for their sum to be exact in any order, and the low parts are small.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from viewer.tensors.exact import UNIT_BITS, fixed, shifted

if TYPE_CHECKING:
    import torch

ROW_BITS: Final = 24
"""See `total_of_rows`: float32 has 24 bits, 64 numbers take 6 more, and float64 has 53."""

_ROW: Final = 64

_DOT_ROW: Final = 512
"""Squares that one call of a dot product adds: its roundings are at most so many, and BLAS does not share so few
among threads of its own."""

_SAFE_EXPONENT: Final = 400
"""Floats of magnitudes in 2**±400 can be squared in float64; others are scaled by a power of 2 for it."""

_LOWEST_POWER: Final = -1021
"""A splitter of this power has the last place of the smallest denormal: it leaves no low part."""

_CASCADE_BITS: Final = 7
"""`torch.sum` adds 16 numbers at each of 4 levels (`aten/src/ATen/native/cpu/SumKernel.cpp`): up to 64 roundings."""

_DOUBT_BITS: Final = 59
"""A chunk's sum should be so many bits above its possible error: 55 to be right, and some for other chunks."""

_FEW: Final = 1024
"""Numbers that Python sums without rounding in some 20 µs."""


def exponent_of(low: float, high: float) -> int:
    """The smallest e such that everything from `low` to `high` is below 2**e in magnitude."""
    return math.frexp(max(-low, high))[1]


def exact_total(values: torch.Tensor, spare: torch.Tensor, exponent: int, *, careful: bool) -> tuple[int, int]:
    """The sum of values below 2**exponent in magnitude, and a bound of its error, in units of 2**-1126.

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
        doubt = _rounding_of(count, power - 53)
        if doubt << _DOUBT_BITS > abs(total):  # the high parts cancelled
            rest = spare.clone()
            power -= 52 - growth
            total += _split(rest, max(power, _LOWEST_POWER), spare)
            torch.sub(rest, spare, out=spare)
            doubt = _rounding_of(count, power - 53)
        return total + fixed(float(spare.sum())), doubt
    rest = values.clone()
    total = 0
    while bool(rest.any()):
        total += _split(rest, max(power, _LOWEST_POWER), spare)
        rest.sub_(spare)
        power -= 52 - growth
    return total, 0


def _rounding_of(count: int, power: int) -> int:
    """A bound of the error of a `torch.sum` of `count` values of at most 2**power, in units of 2**-1126."""
    return shifted(count, power + _CASCADE_BITS - 53 + UNIT_BITS) + 1


def _split(values: torch.Tensor, power: int, high: torch.Tensor) -> int:
    """Put the high parts of the values into `high`, and return their exact sum in units of 2**-1126."""
    import torch

    splitter = 1.5 * 2.0**power
    torch.add(values, splitter, out=high)
    high.sub_(splitter)
    return fixed(float(high.sum()))


def total_of_rows(values: torch.Tensor, spare: torch.Tensor, exponent: int) -> tuple[int, int]:
    """As `exact_total`, of float32 values none of which but 0 is below 2**(exponent - ROW_BITS) in magnitude.

    64 of them are below 2**(exponent + 6) and multiples of 2**(exponent - 47), so float64 holds their sum, and only
    the sums of rows need splitting.
    """
    import torch

    rows = values.numel() // _ROW
    total = fixed(float(values[_ROW * rows :].sum()))
    if not rows:
        return total, 0
    sums = spare[:rows]
    torch.sum(values[: _ROW * rows].view(rows, _ROW), 1, out=sums)
    split, doubt = exact_total(sums, spare[rows : 2 * rows], exponent + 6, careful=False)
    return total + split, doubt


def positive_total(values: torch.Tensor) -> int:
    """The sum of values of one sign, in units of 2**-1126, right to about one unit in the last place.

    Nothing cancels, so rows and then the sums of rows will do; few are summed without rounding.
    """
    if values.numel() <= _FEW:
        return fixed(math.fsum(values.tolist()))
    rows = values.numel() // _ROW
    sums = values[: _ROW * rows].view(rows, _ROW).sum(1)
    of_rows = math.fsum(sums.tolist()) if rows <= _FEW else float(sums.sum())
    return fixed(of_rows) + fixed(math.fsum(values[_ROW * rows :].tolist()))


def sum_of_squares(values: torch.Tensor, exponent: int) -> int:
    """The sum of squares of values below 2**exponent in magnitude, in units of 2**-2252.

    It may overwrite the values.
    """
    scale = 0
    if not -_SAFE_EXPONENT < exponent < _SAFE_EXPONENT:
        scale = exponent
        # In two steps, since 2**1074 is no float64.
        values.mul_(2.0 ** -(scale // 2)).mul_(2.0 ** -(scale - scale // 2))
    return shifted(_total_of_squares(values) << UNIT_BITS, 2 * scale)


def _total_of_squares(values: torch.Tensor) -> int:
    """The sum of squares that float64 can hold, in units of 2**-1126. It may overwrite the values.

    Dot products of rows: they read the values once, where squaring in place and adding passes over them three times.
    """
    rows = values.numel() // _DOT_ROW
    if values.device.type != "cpu" or not rows:
        return positive_total(values.mul_(values))
    in_rows = values[: _DOT_ROW * rows].numpy()
    of_rows = in_rows.reshape(rows, 1, _DOT_ROW) @ in_rows.reshape(rows, _DOT_ROW, 1)
    rest = values[_DOT_ROW * rows :]
    return fixed(math.fsum(of_rows.ravel().tolist())) + positive_total(rest.mul_(rest))


def squares_about(values: torch.Tensor, mean: float, total: int) -> int:
    """The sum of squares by way of a number near the mean, with nothing lost to cancellation.

    Σx² = Σ(x - m)² + 2mΣx - nm²; the last two terms are computed in integers.

    Parameters
    ----------
    values
        Overwritten.
    total
        Their exact sum, in units of 2**-1126.
    """
    import torch

    count = values.numel()
    values.sub_(mean)
    low, high = (float(end) for end in torch.aminmax(values))
    unit = fixed(mean)
    return sum_of_squares(values, exponent_of(low, high)) + 2 * unit * total - count * unit * unit
