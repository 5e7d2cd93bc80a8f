"""What loading a pickle costs, judged by what a scan counted: time in C code, and memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from viewer.formats.limits import Limits

# How much of a suspicious thing is too little to hurt: each bound keeps the worst case of C code at about a second.
_HEAVY_FETCHES: Final = 4  # each can double a hash: 16 times the bytes of the pickle
_NESTED_TUPLES: Final = 2_000  # levels of C recursion
_LARGE_INTS: Final = 4_000  # all with one hash: eight million comparisons
_COMPARED_NBYTES: Final = 2_000_000_000  # of tuples that are keys of one hash, at a nanosecond each
_COMPARISON_NBYTES: Final = 20  # what each comparison costs beside
_CALLS_TIMES_NBYTES: Final = 400_000_000  # their keywords are copied, which one dict may hold for all
_LONG_STRINGS_FETCHED_NBYTES: Final = 4_000_000_000  # compared at 10 GB/s

# Memory of the objects that take much more than `_NBYTES_PER_BYTE` times their opcodes (CPython, 64 bits).
_NBYTES_PER_BYTE: Final = 10
_NBYTES_OF: Final = {
    b"}": 290, b"d": 290, b"]": 90, b"l": 90, b"\x8f": 220, b"\x91": 220, b"\x85": 50, b"\x86": 50, b"\x87": 50,
    b"R": 180, b"\x81": 180, b"o": 180, b"\x92": 180, b"Q": 60, b"\x8c": 40,
}  # fmt: skip
_MOST_PER_BYTE: Final = 80  # of any pickle but one of empty sets: }NNs is 310 bytes


@dataclass(slots=True)
class Tally:
    """Counts of what can make C code slow.

    Attributes
    ----------
    tuples
        Tuples and frozensets that may become a dict key: all but those that are at once the arguments of a call.
    nested
        Those of them that may hold other tuples, or more than a few flat values.
    small_nbytes, longest_nbytes
        Bytes of the others in the pickle: of all, and of the longest.
    small_fetches
        Fetches from the memo of what may be one of the others.
    heavy_fetches
        Fetches of such tuples from the memo.
    large_ints
        Integers of more than eight bytes.
    long_fetched
        Bytes of long strings, counted at each fetch.
    keyword_calls
        NEWOBJ_EX opcodes.
    """

    tuples: int = 0
    nested: int = 0
    small_nbytes: int = 0
    longest_nbytes: int = 0
    small_fetches: int = 0
    heavy_fetches: int = 0
    large_ints: int = 0
    long_fetched: int = 0
    keyword_calls: int = 0

    def add_small(self, nbytes: int) -> None:
        """Count a small tuple."""
        self.tuples += 1
        self.small_nbytes += nbytes
        if nbytes > self.longest_nbytes:
            self.longest_nbytes = nbytes

    def may_collide(self, structure: int) -> bool:
        """Whether comparing keys could take long, were all tuples keys of one hash. Each small one that is made, and
        each fetch of one, may be compared with all others; large ones are few, and fetched hardly ever."""
        small = self.tuples - self.nested
        made = (self.small_nbytes + small * _COMPARISON_NBYTES) // 2
        fetched = self.small_fetches * (self.longest_nbytes + _COMPARISON_NBYTES)
        return small * (made + fetched) + self.nested * structure > _COMPARED_NBYTES

    def suspicion(self, structure: int) -> str:
        """Why the C unpickler should not have a pickle of `structure` bytes without its strings; "" if it may."""
        if self.nested > _NESTED_TUPLES:
            return f"{self.nested:,} tuples that may be nested"
        if self.large_ints > _LARGE_INTS:
            return f"{self.large_ints:,} large integers"
        if self.may_collide(structure):
            return f"{self.tuples:,} tuples that may be keys"
        if self.keyword_calls * structure > _CALLS_TIMES_NBYTES:
            return f"{self.keyword_calls:,} calls with keywords"
        if self.long_fetched > _LONG_STRINGS_FETCHED_NBYTES:
            return "long strings used many times"
        if self.heavy_fetches > _HEAVY_FETCHES:
            return "tuples shared by other tuples"
        return ""


def memory_allowed(nbytes: int, limits: Limits) -> int:
    """Bytes of memory that a pickle of `nbytes` bytes may take beside its strings."""
    grown = min(nbytes * limits.pickle_structure_per_byte, limits.pickle_structure_most_nbytes)
    return max(limits.pickle_structure_nbytes, grown)


def memory_needed(pieces: Iterable[bytes | memoryview], structure: int, allowed: int) -> int:
    """Bytes of memory that loading takes beside the strings: an estimate, rather too high than too low.

    Parameters
    ----------
    pieces
        What lies between the strings of the pickle; looked at only where its bytes could matter.
    structure
        How many bytes that is.
    allowed
        From where on it does not matter how much more it is.
    """
    needed = structure * _NBYTES_PER_BYTE
    if structure * _NBYTES_OF[b"\x8f"] <= allowed or needed > allowed:
        return needed
    whole = b"".join(pieces)
    if structure * _MOST_PER_BYTE + whole.count(b"\x8f") * _NBYTES_OF[b"\x8f"] <= allowed:
        return needed
    return needed + sum(nbytes * whole.count(opcode) for opcode, nbytes in _NBYTES_OF.items())
