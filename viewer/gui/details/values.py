"""A plain value as words: what it shows, what is copied, and its facts. No Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from viewer.gui.details.facts import Fact
from viewer.gui.format import format_count, format_exact, format_number

_LONG: Final = 60
"""Characters from which a value gets a viewer of its own."""
_FLOAT_WHOLE: Final = 2**53
_HEX_BYTES: Final = 4096
"""Bytes of a bytes value to show; all of them can be copied."""


@dataclass(frozen=True, slots=True)
class ValueWords:
    """A value to show.

    Attributes
    ----------
    shown
        In large type, or in a viewer where `long`.
    copied
        The whole value as text.
    """

    shown: str
    copied: str
    long: bool = False
    facts: list[Fact] = field(default_factory=list)


def value_words(value: object) -> ValueWords:
    """How to show the value of a SCALAR or TEXT node."""
    if isinstance(value, str):
        return _text_words(value)
    if isinstance(value, (bytes, bytearray)):
        return _bytes_words(bytes(value))
    exact = format_exact(value)
    if isinstance(value, bool) or value is None:
        return ValueWords(exact, exact)
    if isinstance(value, int):
        shown = format_number(value)
        facts = [Fact("as Python writes it", exact), Fact("hexadecimal", hex(value))]
        facts.append(Fact("bits", format_count(value.bit_length())))
        return ValueWords(shown, exact, len(shown) > _LONG, facts)
    if isinstance(value, float):
        return ValueWords(exact, exact, False, _float_facts(value))
    return ValueWords(exact, exact, len(exact) > _LONG)


def _float_facts(value: float) -> list[Fact]:
    facts = [Fact("hexadecimal", value.hex())]
    if math.isfinite(value) and not value.is_integer():
        facts.append(Fact("exact decimal", str(Decimal(value))))
    if math.isfinite(value) and value.is_integer() and abs(value) > _FLOAT_WHOLE:
        facts.append(Fact("whole number", format_count(int(value))))
    return facts


def _text_words(value: str) -> ValueWords:
    n_lines = len(value.splitlines())
    facts = [Fact("characters", format_count(len(value)))]
    if n_lines > 1:
        facts.append(Fact("lines", format_count(n_lines)))
    if not value:
        return ValueWords("(empty text)", "", False, facts)
    long = len(value) > _LONG or n_lines > 1 or not value.isprintable()
    return ValueWords(value, value, long, facts)


def _bytes_words(value: bytes) -> ValueWords:
    facts = [Fact("bytes", format_count(len(value)))]
    if not value:
        return ValueWords("(no bytes)", "b''", False, facts)
    lines = [_hex_line(value, start) for start in range(0, min(len(value), _HEX_BYTES), 16)]
    if len(value) > _HEX_BYTES:
        lines.append(f"… {format_count(len(value) - _HEX_BYTES)} more bytes")
    return ValueWords("\n".join(lines), repr(value), True, facts)


def _hex_line(value: bytes, start: int) -> str:
    part = value[start : start + 16]
    text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
    return f"{start:08x}  {part.hex(' '):<47}  {text}"
