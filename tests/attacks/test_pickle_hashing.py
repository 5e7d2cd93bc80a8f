"""Pickles that ask for time: keys that hash or compare for hours."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.attacks.pickle_attack import open_hostile
from tests.formats.pickle.helpers import get, number, put, text

PAIRS = b"".join(put(n) + get(n) + b"\x86" for n in range(60))
"""From what is on the stack: a pair of it and itself, and so on."""

MEMOIZED_PAIRS = b"".join(b"\x94" + get(n) + b"\x86" for n in range(60))


def twins(levels: int) -> bytes:
    """Frozensets of frozensets, twice the same but never the same object: comparing them is exponential."""

    def one(first: int) -> bytes:
        out = b"(K\x01\x91\x94"
        for n in range(first, first + levels):
            out += b"(" + get(n) + b"\x85" + get(n) + b"K\x01\x86\x91\x94"
        return out

    return b"\x80\x04(" + one(0) + one(levels + 1) + b"l0}(" + get(levels) + b"N" + get(2 * levels + 1) + b"Nu."


NEGATIVES = tuple(b"J" + bytes([low]) + b"\xff\xff\xff" for low in (0xFF, 0xFE))
"""-1 and -2, which have one hash."""

ATTACKS: dict[str, bytes] = {
    "pairs as a key": b"\x80\x02})" + PAIRS + b"Ns.",
    "pairs as a key, memoized": b"\x80\x04})" + MEMOIZED_PAIRS + b"Ns.",
    "pairs in a set": b"\x80\x04\x8f()" + MEMOIZED_PAIRS + b"\x90.",
    "pairs in a frozenset": b"\x80\x04()" + MEMOIZED_PAIRS + b"\x91.",
    "pairs in a dict by marks": b"\x80\x02()" + PAIRS + b"Nd.",
    "pairs by DUP": b"\x80\x02})" + b"2\x86" * 60 + b"Ns.",
    "triples": b"\x80\x02})" + b"".join(put(n) + get(n) * 2 + b"\x87" for n in range(60)) + b"Ns.",
    "pairs with far memo indexes": b"\x80\x02"
    + b"".join(b"]" + put(n) for n in range(300))
    + b"})"
    + b"".join(put(300 + n) + get(300 + n) + b"\x86" for n in range(60))
    + b"Ns.",
    "pairs behind runs": b"\x80\x02("
    + b"".join(b"N" + put(n) for n in range(300))
    + b"G00000000" * 20_000
    + b"l}("
    + b"".join(b"(" + get(7) + b"K\x01t" + put(300 + n) + b"0" for n in range(0))
    + b"(K\x01t"
    + b"".join(put(300 + n) + get(300 + n) + b"\x86" for n in range(60))
    + b"Nu."
    + b"G00000000" * 20_000,
    "pairs put after a fill of nothing": b"\x80\x02})"
    + b"".join(b"(u" + put(n) + get(n) + b"\x86" for n in range(60))
    + b"Ns.",
    "frozensets that are equal": twins(40),
    "a long key, often": b"\x80\x02}(("
    + b"K\x01" * 100_000
    + b"t"
    + put(0)
    + b"N"
    + (get(0) + b"N") * 100_000
    + b"u.",
    "long texts that are equal": b"\x80\x02}("
    + text("a" * 1_000_000)
    + b"N"
    + text("a" * 1_000_000)
    + put(0)
    + b"N"
    + (get(0) + b"N") * 500_000
    + b"u.",
    "tuples of one hash": b"\x80\x02}("
    + b"".join(b"(" + b"".join(NEGATIVES[n >> bit & 1] for bit in range(16)) + b"tN" for n in range(1 << 16))
    + b"u.",
    "tuples of one hash, in values and keys": b"\x80\x02}("
    + b"".join(b"NN(" + b"".join(NEGATIVES[n >> bit & 1] for bit in range(14)) + b"tN" for n in range(1 << 14))
    + b"u.",
    "small tuples of one hash, fetched by the million": b"\x80\x02}("
    + b"".join(
        b"(" + b"".join(NEGATIVES[n >> bit & 1] for bit in reversed(range(16))) + b"t" + put(n) + b"N"
        for n in range(200)
    )
    + (get(199) + b"N") * 3_200_000
    + b"u.",
    "integers of one hash": b"\x80\x02}("
    + b"".join(number((2**61 - 1) * n) + b"N" for n in range(1 << 31, (1 << 31) + 60_000))
    + b"u.",
    "integers of one hash in a set": b"\x80\x04\x8f("
    + b"".join(number((2**61 - 1) * n) for n in range(1 << 31, (1 << 31) + 60_000))
    + b"\x90.",
    "integers of one hash in a list of lines": b"}("
    + b"".join(b"L%dL\nN" % ((2**61 - 1) * n) for n in range(1 << 31, (1 << 31) + 60_000))
    + b"u.",
    "a large integer, often": b"\x80\x02}(\x8b\x00\x02\x00\x00"
    + b"\x7f" * 512
    + put(0)
    + b"N"
    + (get(0) + b"N") * 500_000
    + b"u.",
    "unusual keys, often": b"\x80\x02}("
    b"(" + b"K\x01" * 150 + b"t" + put(0) + b"N" + (b"(" + get(0) + b"NtN") * 100_000 + b"u.",
    "one long text in a million rows": b"\x80\x02X"
    + struct.pack("<I", 1_000_000)
    + "\u00e9".encode() * 500_000
    + put(0)
    + b"0("
    + get(0) * 1_000_000
    + b"l.",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_that_time_and_memory_stay_bounded(name: str, tmp_path: Path) -> None:
    report = open_hostile(ATTACKS[name], tmp_path)
    assert report.nodes > 0
