"""dtypes and arrays of numpy that ask for time and memory."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.attacks.pickle_attack import open_hostile
from tests.formats.pickle.helpers import get, named, put, text

DTYPE, BUFFER, SCALAR = 0, 1, 2
"""Memo numbers of the callables."""

HEAD = (
    b"\x80\x04" + named("numpy", "dtype") + put(DTYPE) + b"0"
    + named("numpy._core.numeric", "_frombuffer") + put(BUFFER) + b"0"
    + named("numpy._core.multiarray", "scalar") + put(SCALAR) + b"0"
)  # fmt: skip


def integer(number: int) -> bytes:
    return b"J" + struct.pack("<i", number)


def dtype_of(code: str) -> bytes:
    return get(DTYPE) + text(code) + b"\x85R"


def record_of(fields: dict[str, tuple[bytes, int]], nbytes: int) -> bytes:
    """A structured dtype of dtypes and offsets."""
    names = b"(" + b"".join(map(text, fields)) + b"t"
    table = b"}(" + b"".join(text(name) + kind + integer(at) + b"\x86" for name, (kind, at) in fields.items()) + b"u"
    state = b"(K\x03" + text("|") + b"N" + names + table + integer(nbytes) + b"K\x01K\x10t"
    return dtype_of(f"V{nbytes}") + state + b"b"


def raw(nbytes: int) -> bytes:
    return b"B" + struct.pack("<I", nbytes) + bytes(nbytes)


def array(data: bytes, dtype: bytes, extent: int) -> bytes:
    return get(BUFFER) + b"(" + data + dtype + integer(extent) + b"\x85" + text("C") + b"tR"


def nested() -> bytes:
    """64 fields in each of 64 fields …, four levels deep, of one byte each."""
    kind, nbytes = dtype_of("u1") + put(10), 1
    data = HEAD + kind + b"0"
    for level in range(11, 15):
        fields = {f"f{nth}": (get(level - 1), nth * nbytes) for nth in range(64)}
        nbytes *= 64
        data += record_of(fields, nbytes) + put(level) + b"0"
    return data + array(raw(nbytes), get(14), 1) + b"."


def cyclic() -> bytes:
    """A record whose field is itself, and an array type whose element is itself."""
    record = dtype_of("V8") + put(10)
    names = b"(" + text("x") + b"t}" + text("x") + get(10) + integer(0) + b"\x86s"
    data = record + b"(K\x03" + text("|") + b"N" + names + integer(8) + b"K\x01K\x10tb0"
    data += (
        dtype_of("V8")
        + put(11)
        + b"(K\x03"
        + text("|")
        + get(11)
        + b"K\x02\x86\x86NN"
        + integer(8)
        + b"K\x01K\x10tb0"
    )
    return HEAD + data + array(raw(80), get(10), 10) + array(raw(80), get(11), 10) + b"\x86."


def many_records() -> bytes:
    """A structured array of a megabyte, a hundred thousand times."""
    fields = {f"f{nth}": (dtype_of("u1"), nth) for nth in range(64)}
    data = HEAD + record_of(fields, 64) + put(10) + b"0" + raw(1 << 20) + put(11) + b"0("
    return data + array(get(11), get(10), 1 << 14) * 100_000 + b"l."


def many_dtypes() -> bytes:
    """A dtype of 64 fields, given its state half a million times."""
    fields = b"}(" + b"".join(text(f"f{nth}") + get(10) + integer(0) + b"\x86" for nth in range(64)) + b"u"
    names = b"(" + b"".join(text(f"f{nth}") for nth in range(64)) + b"t"
    state = b"(K\x03" + text("|") + b"N" + names + fields + integer(64) + b"K\x01K\x10t"
    data = HEAD + dtype_of("u1") + put(10) + b"0" + state + put(11) + b"0" + text("V64") + b"\x85" + put(12) + b"0("
    return data + (get(DTYPE) + get(12) + b"R" + get(11) + b"b") * 500_000 + b"l."


def many_texts() -> bytes:
    """A text of 4 KiB, half a million times, as a scalar and as an array."""
    data = HEAD + dtype_of("U1024") + put(10) + b"0" + raw(4096) + put(11) + b"0("
    scalar = get(SCALAR) + get(10) + get(11) + b"\x86R"
    return data + scalar * 500_000 + array(get(11), get(10), 1) * 100_000 + b"l."


def many_long_doubles() -> bytes:
    """Numbers whose digits take a while, a million of them."""
    value = struct.pack("<QH6x", 1 << 63 | 12345, 1)
    data = b"B" + struct.pack("<I", 16 * 65_000) + value * 65_000
    return (
        HEAD
        + dtype_of("f16")
        + put(10)
        + b"0"
        + data
        + put(11)
        + b"0("
        + array(get(11), get(10), 65_000) * 20
        + b"l."
    )


def huge_subarrays() -> bytes:
    """Shapes of subarrays whose product is beyond all numbers."""
    extents = b"(" + integer(1 << 30) * 60 + b"t"
    kind = (
        dtype_of("V8") + b"(K\x03" + text("|") + dtype_of("f8") + extents + b"\x86NN" + integer(8) + b"K\x01K\x10tb"
    )
    return HEAD + array(raw(80), kind, 10) + b"."


ATTACKS = {
    attack.__name__: attack
    for attack in (
        nested, cyclic, many_records, many_dtypes, many_texts, many_long_doubles, huge_subarrays,
    )
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_that_records_cost_no_more_than_their_bound(name: str, tmp_path: Path) -> None:
    report = open_hostile(ATTACKS[name](), tmp_path)
    assert report.outcome
