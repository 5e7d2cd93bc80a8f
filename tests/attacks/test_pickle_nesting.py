"""Pickles nested a million levels deep, in every container and as keys: no stack overflows, on the way in or out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attacks.pickle_attack import open_hostile
from tests.formats.pickle.helpers import get, named, put, text

LEVELS = 1_000_000
CLASS = b"\x80\x02" + named("m", "C") + put(0)
FROM_TYPE = b"\x80\x02" + named("torch._tensor", "_rebuild_from_type_v2") + put(0)

ATTACKS: dict[str, bytes] = {
    "lists": b"\x80\x02" + b"]" * LEVELS + b"a" * (LEVELS - 1) + b".",
    "lists by marks": b"\x80\x02" + b"(" * LEVELS + b"l" * LEVELS + b".",
    "dicts": b"\x80\x02" + b"}N" * LEVELS + b"N" + b"s" * LEVELS + b".",
    "tuples": b"\x80\x02)" + b"\x85" * LEVELS + b".",
    "tuples by marks": b"\x80\x02" + b"(" * LEVELS + b"t" * LEVELS + b".",
    "tuples as a key": b"\x80\x02})" + b"\x85" * LEVELS + b"Ns.",
    "tuples by marks as a key": b"\x80\x02}" + b"(" * LEVELS + b"t" * LEVELS + b"Ns.",
    "tuples in a set": b"\x80\x04\x8f)" + b"\x85" * LEVELS + b"\x90.",
    "frozensets": b"\x80\x04" + b"(" * LEVELS + b"\x91" * LEVELS + b".",
    "arguments": CLASS + get(0) * LEVELS + b")" + b"R\x85" * (LEVELS - 1) + b"R.",
    "arguments of new objects": CLASS + get(0) * LEVELS + b")" + b"\x81\x85" * (LEVELS - 1) + b"\x81.",
    "states": CLASS + (get(0) + b")\x81") * LEVELS + b"N" + b"b" * LEVELS + b".",
    "items": CLASS + (get(0) + b")\x81") * LEVELS + b"N" + b"a" * LEVELS + b".",
    "calls of what was made": CLASS + get(0) + b")R" * LEVELS + b".",
    "objects by marks": b"\x80\x02" + (b"(" + named("m", "C")) * (LEVELS // 10) + b"o" * (LEVELS // 10) + b".",
    "persistent ids": b"\x80\x02N" + b"Q" * LEVELS + b".",
    "ordered dicts": b"\x80\x02"
    + named("collections", "OrderedDict")
    + put(0)
    + (get(0) + b")RN") * (LEVELS // 2)
    + b"N"
    + b"s" * (LEVELS // 2)
    + b".",
    "sets by call": b"\x80\x02"
    + named("builtins", "set")
    + put(0)
    + get(0) * LEVELS
    + b"N"
    + b"\x85R" * LEVELS
    + b".",
    "rebuilds by type": FROM_TYPE + (b"(" + get(0) + get(0)) * (LEVELS // 4) + b"N" + b"Nt" * (LEVELS // 4) + b".",
    "names of names": b"\x80\x02"
    + named("builtins", "getattr")
    + put(0)
    + get(0) * LEVELS
    + named("m", "C")
    + (text("x") + b"\x86R") * LEVELS
    + b".",
    "tuples, twice as many": b"\x80\x02)" + b"\x85" * (2 * LEVELS) + b".",
    "marks only": b"\x80\x02" + b"(" * LEVELS + b"N.",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_that_depth_ends_in_a_row_or_a_sentence(name: str, tmp_path: Path) -> None:
    report = open_hostile(ATTACKS[name], tmp_path)
    assert report.nodes > 0 or ": " in report.outcome
