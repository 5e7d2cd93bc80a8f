"""Counting flat values: what tells a small tuple of numbers and short strings from one that may hold anything.

Such a tuple (`betas` of an optimizer, a `kernel_size`) is shared by many in honest files, and costs nothing to hash.
The count is that of the flat values pushed one after the other; `AFTER_MARK` is added to it while there is nothing
else since the last MARK.
"""

from __future__ import annotations

from typing import Final

AFTER_MARK: Final = 1_000
FLAT_STRING: Final = 256  # bytes; from here on a string is not flat
_MOST: Final = 16


def more_flat(flat: int, count: int) -> int:
    """The count after some more values; it stops just above what makes a small tuple."""
    return min(flat + count, (AFTER_MARK if flat >= AFTER_MARK else 0) + _MOST + 1)


def is_small_tuple(opcode: int, flat: int) -> bool:
    """Whether a tuple opcode takes a few flat values and nothing else."""
    if opcode == 0x74:  # TUPLE
        return AFTER_MARK <= flat <= AFTER_MARK + _MOST
    return opcode != 0x91 and flat % AFTER_MARK > opcode - 0x85  # TUPLE1 to TUPLE3; FROZENSET never
