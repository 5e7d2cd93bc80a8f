"""How numbers, sizes and shapes are written in the window: one place, so that every view writes them alike.

What is shown may be rounded and is meant to be read: thousands separators, a true minus sign (U+2212), six
significant digits. What is copied or hovered comes from `format_exact` and `format_bytes_exact`: plain ASCII that
Python reads back to the same value.
"""

from __future__ import annotations

import math
from typing import Final

MINUS: Final = "\N{MINUS SIGN}"
NO_VALUE: Final = "\N{EN DASH}"
"""Stands where there is nothing to show."""

_UNITS: Final = ("KB", "MB", "GB", "TB", "PB", "EB")
_MAX_DECIMAL_BITS: Final = 14_000
"""Longer integers are written in hexadecimal: Python refuses decimals of more than 4,300 digits
(sys.get_int_max_str_digits), and nobody reads them."""


def format_count(n: int) -> str:
    """A whole number with thousands separators: 11,699,132."""
    if n.bit_length() > _MAX_DECIMAL_BITS:
        return f"≥ 2^{n.bit_length() - 1}" if n > 0 else f"≤ {MINUS}2^{(-n).bit_length() - 1}"
    return f"{n:,}".replace("-", MINUS)


def format_bytes(n: int) -> str:
    """A size in units of 1,024 bytes with two or three digits: 256 B, 3.9 KB, 144 KB, 44.7 MB."""
    if abs(n) < 1024:
        return f"{format_count(n)} B"
    if n.bit_length() > 100:  # a shape in a hostile file may claim any extent
        return f"≥ 2^{n.bit_length() - 1} B"
    size = float(n)
    for unit in _UNITS:
        size /= 1024
        shown = f"{size:.1f}" if abs(size) < 99.95 else f"{size:,.0f}"
        if abs(size) < 1023.5 or unit == _UNITS[-1]:
            return f"{shown} {unit}".replace("-", MINUS)
    raise AssertionError("the last unit always returns")


def format_bytes_exact(n: int) -> str:
    """A size to the byte: 147,456 bytes."""
    return "1 byte" if n == 1 else f"{format_count(n)} bytes"


def format_shape(shape: tuple[int, ...]) -> str:
    """64×64×3×3; a dash for the shape () of a scalar."""
    return "×".join(str(extent) if extent.bit_length() < 64 else format_count(extent) for extent in shape) or NO_VALUE


def format_number(x: float | complex, digits: int = 6) -> str:
    """A number to be read: integers in full, others to `digits` significant digits.

    Trailing zeros go, exponents are written 1.207e−4; a float that is whole shows no point.
    """
    if isinstance(x, bool):
        return str(x)
    if isinstance(x, int):
        return format_count(x)
    if isinstance(x, float):
        return _format_float(x, digits)
    imaginary = _format_float(x.imag, digits)
    sign = "" if imaginary.startswith((MINUS, "+")) else "+"
    return f"{_format_float(x.real, digits)}{sign}{imaginary}j"


def _format_float(x: float, digits: int) -> str:
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "+inf" if x > 0 else f"{MINUS}inf"
    mantissa, _, exponent = f"{abs(x):.{digits}g}".partition("e")
    sign = MINUS if math.copysign(1, x) < 0 else ""
    if exponent:
        return f"{sign}{mantissa}e{int(exponent)}".replace("-", MINUS)
    whole, point, fraction = mantissa.partition(".")
    return f"{sign}{int(whole):,}{point}{fraction}"


def format_percent(part: int, whole: int) -> str:
    """The share of `part` in `whole`, to three significant digits; 0 and 100 only where it is exactly that."""
    if whole == 0:
        return f"{NO_VALUE} %"
    if part in (0, whole):
        return "0 %" if part == 0 else "100 %"
    share = 100 * part / whole
    if share > 99.9:
        return "> 99.9 %"
    if share < 1e-4:
        return "< 0.0001 %"
    decimals = max(0, 2 - math.floor(math.log10(share)))
    return f"{share:.{min(decimals, 6)}f} %"


def format_exact(x: object) -> str:
    """The value as Python writes it, so that it can be read back; integers beyond 4,300 digits in hexadecimal."""
    if isinstance(x, int) and not isinstance(x, bool) and x.bit_length() > _MAX_DECIMAL_BITS:
        return hex(x)
    return repr(x)
