"""Pickles that ask for memory: a few bytes for gigabytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.attacks.pickle_attack import open_hostile
from tests.formats.pickle.helpers import get, named, put, text

ATTACKS: dict[str, bytes] = {
    "memo of nine bytes": b"\x80\x02Nr\xff\xff\xff\x0f.",
    "memo of four billion": b"\x80\x02Nr\xff\xff\xff\xff.",
    "memo by text": b"Np99999999999\n.",
    "long4": b"\x80\x02\x8b\xff\xff\xff\x7f.",
    "long4 of a megabyte": b"\x80\x02\x8b\x00\x00\x10\x00" + b"\x7f" * (1 << 20) + b".",
    "long4 of negative size": b"\x80\x02\x8b\xff\xff\xff\xff.",
    "decimal digits": b"I" + b"9" * 1_000_000 + b"\n.",
    "binbytes8": b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f.",
    "binbytes8 beyond the limits": b"\x80\x04\x8e" + struct.pack("<Q", 2**63) + b".",
    "binunicode8": b"\x80\x04\x8d" + struct.pack("<Q", 2**40) + b".",
    "bytearray8": b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",
    "binstring": b"\x80\x02T\xff\xff\xff\x7f.",
    "frame": b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    "lists": b"\x80\x02(" + b"]" * 10_000_000 + b"l.",
    "lists beside long strings": b"\x80\x02("
    + b"".join(b"]" * 1_000_000 + b"B\x40\x42\x0f\x00" + bytes(1_000_000) for _ in range(20))
    + b"l.",
    "lists in runs": b"\x80\x02(" + b"".join(b"N" + put(n) for n in range(300)) + b"]" * 60_000_000 + b"l.",
    "dicts of one": b"\x80\x02(" + b"}NNs" * 3_000_000 + b"l.",
    "sets": b"\x80\x04(" + b"\x8f" * 3_000_000 + b"l.",
    "objects doubled on the stack": b"\x80\x02(" + b"N2" * 2_000_000 + b"l.",
    "tuples": b"\x80\x02(" + b"N\x85" * 5_000_000 + b"l.",
    "marks": b"\x80\x02" + b"(" * 10_000_000 + b".",
    "records": b"\x80\x02" + named("m", "C") + put(0) + b"(" + (get(0) + b")R") * 2_000_000 + b"l.",
    "wide characters": b"\x80\x02X"
    + struct.pack("<I", 60_000_004)
    + b"a" * 60_000_000
    + "\U0001f600".encode()
    + b".",
    "wide characters beside lists": b"\x80\x02(X"
    + struct.pack("<I", 50_000_004)
    + b"a" * 50_000_000
    + "\U0001f600".encode()
    + b"]" * 4_000_000
    + b"l.",
    "names": b"\x80\x02(" + b"".join(named(f"m{n}", "C") for n in range(100_000)) + b"l.",
    "a set of one list, a hundred thousand times": b"\x80\x02"
    + named("__builtin__", "set")
    + put(0)
    + b"("
    + b"N" * 100_000
    + b"l\x85"
    + put(1)
    + b"0("
    + (get(0) + get(1) + b"R") * 100_000
    + b"l.",
    "arguments of a million, a hundred thousand times": b"\x80\x02"
    + named("m", "C")
    + put(0)
    + b"("
    + b"N" * 1_000_000
    + b"t"
    + put(1)
    + b"0("
    + (get(0) + get(1) + b"R") * 100_000
    + b"l.",
    "keywords, a hundred thousand times": b"\x80\x04"
    + named("m", "C")
    + put(0)
    + b"}("
    + b"".join(text(f"{n:05d}") + b"N" for n in range(30_000))
    + b"u"
    + put(1)
    + b"0("
    + (get(0) + b")" + get(1) + b"\x92") * 100_000
    + b"l.",
    "bytes of old protocols, a million times": b"\x80\x02"
    + named("_codecs", "encode")
    + put(0)
    + text("\u00ff" * 500_000)
    + text("latin1")
    + b"\x86"
    + put(1)
    + b"0("
    + (get(0) + get(1) + b"R") * 300_000
    + b"l.",
    "a read-only view of a megabyte, a hundred thousand times": b"\x80\x05\x96"
    + struct.pack("<Q", 1 << 20)
    + bytes(1 << 20)
    + b"\x94("
    + (get(0) + b"\x98") * 100_000
    + b"l.",
    "a numpy array, a hundred thousand times": b"\x80\x03"
    + named("numpy.core.numeric", "_frombuffer")
    + put(0)
    + b"(\x96"
    + struct.pack("<Q", 1 << 20)
    + bytes(1 << 20)
    + named("numpy", "dtype")
    + b"(U\x02i1tRJ\x00\x00\x10\x00\x85U\x01Ct"
    + put(1)
    + b"0("
    + (get(0) + get(1) + b"R") * 100_000
    + b"l.",
    "text arrays": b"\x80\x03"
    + named("numpy.core.numeric", "_frombuffer")
    + put(0)
    + b"(B\x00\x80\x00\x00"
    + bytes(1 << 15)
    + named("numpy", "dtype")
    + b"(U\x02S1tRM\x00\x80\x85U\x01Ct"
    + put(1)
    + b"0("
    + (get(0) + get(1) + b"R") * 100_000
    + b"l.",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_that_memory_and_time_stay_bounded(name: str, tmp_path: Path) -> None:
    report = open_hostile(ATTACKS[name], tmp_path)
    assert report.nodes > 0 or ": " in report.outcome
