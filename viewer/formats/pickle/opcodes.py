"""The opcodes of pickle protocols 0 to 5, as far as a reader without execution needs them.

Argument forms and stack effects follow CPython's `Lib/pickletools.py` and `Modules/_pickle.c`.
"""

from __future__ import annotations

from typing import Final

FIXED_ARGUMENT: Final[dict[bytes, int]] = {
    # stack and memo
    b"(": 0, b".": 0, b"0": 0, b"1": 0, b"2": 0,
    b"q": 1, b"r": 4, b"h": 1, b"j": 4, b"\x94": 0,
    # values
    b"N": 0, b"\x88": 0, b"\x89": 0, b"K": 1, b"M": 2, b"J": 4, b"G": 8,
    b")": 0, b"]": 0, b"}": 0, b"\x8f": 0,
    # containers
    b"t": 0, b"\x85": 0, b"\x86": 0, b"\x87": 0, b"l": 0, b"d": 0, b"\x91": 0,
    b"a": 0, b"e": 0, b"s": 0, b"u": 0, b"\x90": 0,
    # objects
    b"R": 0, b"b": 0, b"o": 0, b"\x81": 0, b"\x92": 0, b"\x93": 0, b"Q": 0, b"\x97": 0, b"\x98": 0,
    # protocol
    b"\x80": 1, b"\x95": 8,
}  # fmt: skip
"""Bytes of argument after the opcodes whose argument has one size."""

COUNTED_ARGUMENT: Final[dict[bytes, int]] = {
    b"U": 1, b"C": 1, b"\x8c": 1,           # SHORT_BINSTRING, SHORT_BINBYTES, SHORT_BINUNICODE
    b"T": 4, b"B": 4, b"X": 4,              # BINSTRING, BINBYTES, BINUNICODE
    b"\x8d": 8, b"\x8e": 8, b"\x96": 8,     # BINUNICODE8, BINBYTES8, BYTEARRAY8
    b"\x8a": 1, b"\x8b": 4,                 # LONG1, LONG4
}  # fmt: skip
"""Bytes of the little-endian length that precedes the payload."""

LINE_ARGUMENT: Final[dict[bytes, int]] = {
    b"I": 1, b"L": 1, b"F": 1, b"S": 1, b"V": 1, b"p": 1, b"g": 1, b"P": 1,
    b"c": 2, b"i": 2,
}  # fmt: skip
"""Lines of text that follow."""


RARE: Final = 0
"""A kind of opcode: looked at one by one."""
ATOM: Final = 1
"""Pushes a number, None or a boolean."""
COUNTED: Final = 2
"""Pushes a string or integer whose length is given."""
PUT: Final = 3
GET: Final = 4
MARK: Final = 5
MAKES: Final = 6
"""Leaves a new object on top that is hashed in one step, or not at all."""
FILLS: Final = 7
"""Puts something into an object that stays on top, whatever that is."""
TUPLE: Final = 8
"""Makes a tuple or frozenset."""


def _kinds() -> bytes:
    table = bytearray(256)
    for kind, opcodes in (
        (ATOM, b"N\x88\x89KMJG"),
        (COUNTED, b"".join(COUNTED_ARGUMENT)),
        (PUT, b"qrp\x94"),
        (GET, b"hjg"),
        (MARK, b"("),
        (MAKES, b")]}\x8fldRo\x81Q"),
        (FILLS, b"aesu\x90b"),
        (TUPLE, b"t\x85\x86\x87\x91"),
    ):
        for opcode in opcodes:
            table[opcode] = kind
    return bytes(table)


def _widths() -> bytes:
    table = bytearray(256)
    for opcode, width in COUNTED_ARGUMENT.items():
        table[opcode[0]] = width
    return bytes(table)


def _lengths() -> bytes:
    table = bytearray(256)
    for opcode, nbytes in FIXED_ARGUMENT.items():
        table[opcode[0]] = nbytes
    return bytes(table)


KINDS: Final = _kinds()
"""By opcode: its """

LENGTHS: Final = _lengths()
"""By opcode: bytes of a fixed argument."""

COUNT_WIDTH: Final = _widths()
"""By opcode: bytes of the length before its payload."""

REFUSED: Final = frozenset(b"\x82\x83\x84")
"""EXT1, EXT2, EXT4: numbers of a registry inside the program that reads, not names. No checkpoint has them."""
