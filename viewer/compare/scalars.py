"""Whether two plain values are the same, by bits and by number."""

from __future__ import annotations

import math
import struct
from typing import Final

_MAX_TEXT: Final = 60


def same_bits(a: object, b: object) -> bool:
    """The same type and the same value; floats by their 64 bits, so that 0.0 is not -0.0 and NaN is NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, complex) and isinstance(b, complex):
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    return a == b


def same_number(a: object, b: object) -> bool:
    """The same value as numbers go: 1 is 1.0 and True, 0.0 is -0.0, NaN is NaN. Other values by equality."""
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or (a != a and b != b)  # Python compares int and float exactly
    if isinstance(a, complex) and isinstance(b, complex):
        return same_number(a.real, b.real) and same_number(a.imag, b.imag)
    return type(a) is type(b) and a == b


def distance(a: object, b: object) -> float | int | None:
    """|a - b| of two plain numbers; None for anything else, and with NaN."""
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)) or a != a or b != b:
        return None
    if a == b:
        return 0
    if any(isinstance(value, float) and math.isinf(value) for value in (a, b)):
        return math.inf
    try:
        return abs(a - b)
    except OverflowError:  # an int beyond float64 against a float
        return math.inf


def short_text(value: object) -> str:
    """A plain value on one line."""
    text = repr(value[: _MAX_TEXT + 1]) if isinstance(value, (str, bytes)) else _repr(value)
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"


def _repr(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 4096:  # decimals of longer ones take quadratic time
        return f"an int of {value.bit_length():,} bits"
    return repr(value)
