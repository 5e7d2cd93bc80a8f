"""Each limit where it stands: what asks for exactly as much is read, and what asks for one more is refused."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.formats.pickle.helpers import load, named, text
from viewer.checkpoint.nodes import Kind
from viewer.errors import LimitExceeded, MalformedFile
from viewer.formats.limits import LIMITS, Limits
from viewer.formats.opening import open_task
from viewer.formats.pickle.scan import scan_pickle
from viewer.formats.safetensors import safetensors_task
from viewer.formats.source import FileSource
from viewer.task import run


def items(*parts: bytes) -> bytes:
    """A list of these, as protocol 2."""
    return b"\x80\x02](" + b"".join(parts) + b"e."


def long_bytes(nbytes: int) -> bytes:
    return b"B" + struct.pack("<I", nbytes) + bytes(nbytes)


def short(value: str) -> bytes:
    """A text as protocol 4 writes it."""
    return b"\x8c" + bytes([len(value)]) + value.encode()


def halves(opcode: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """A list of two that together have so many bytes."""
    return lambda most: items(opcode(most // 2), opcode(most // 2))


CASES: dict[str, tuple[str, Callable[[int], bytes], int]] = {
    "bytes of strings": ("pickle_payload_nbytes", halves(long_bytes), 8_192),
    "bytes of text": ("pickle_text_nbytes", halves(lambda nbytes: text("x" * nbytes)), 8_192),
    "memory of wide text": (
        "pickle_text_memory_nbytes", halves(lambda nbytes: text("\U0001f600" + "x" * (-(-nbytes // 4) - 4))), 8_192,
    ),
    "bytes of an integer": ("pickle_int_nbytes", lambda most: items(b"\x8a" + bytes([most]) + b"\1" * most), 100),
    "bytes of a long integer": (
        "pickle_int_nbytes", lambda most: items(b"\x8b" + struct.pack("<I", most) + b"\1" * most), 300,
    ),
    "classes": ("pickle_globals", lambda most: items(*(named("m", f"C{at}") for at in range(most))), 30),
    "classes of protocol 4": (
        "pickle_globals",
        lambda most: b"\x80\x04](" + b"".join(short("m") + short(f"C{at}") + b"\x93" for at in range(most)) + b"e.",
        30,
    ),
    "characters of a name": ("pickle_name_nchars", lambda most: items(named("m" * 10, "C" * (most - 13))), 200),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_that_the_scan_allows_a_limit_and_not_one_more(case: str) -> None:
    field, make, most = CASES[case]
    limits = replace(LIMITS, **{field: most})
    data = make(most)
    assert scan_pickle(data, 0, limits, "data.pkl").end == len(data)
    beyond = make(most + 2)
    with pytest.raises(LimitExceeded, match=r"data\.pkl asks for"):
        scan_pickle(beyond, 0, limits, "data.pkl")
    if "string" not in case and "text" not in case:
        with pytest.raises(LimitExceeded):
            scan_pickle(make(most + 1), 0, limits, "data.pkl")


def test_that_steps_are_counted_up_to_their_limit() -> None:
    data = b"\x80\x02]" + b"]a" * 1_000 + b"."
    # PROTO, EMPTY_LIST, a pair for each item, STOP.
    steps = 2 + 2_000 + 1
    assert scan_pickle(data, 0, replace(LIMITS, pickle_steps=steps), "data.pkl").end == len(data)
    with pytest.raises(LimitExceeded, match="steps"):
        scan_pickle(data, 0, replace(LIMITS, pickle_steps=steps - 1), "data.pkl")


@pytest.mark.parametrize("digits", [199, 200])
def test_that_a_number_in_text_may_have_two_characters_for_each_byte(digits: int) -> None:
    line = b"I" + b"9" * (digits - 2) + b"\n"
    limits = replace(LIMITS, pickle_int_nbytes=100)
    assert scan_pickle(line + b".", 0, limits, "data.pkl").end == digits + 1
    with pytest.raises(LimitExceeded, match="a number of"):
        scan_pickle(b"I" + b"9" * 199 + b"\n.", 0, limits, "data.pkl")


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_that_a_pickle_cut_anywhere_is_never_read_beyond_its_end(cut: int) -> None:
    data = items(text("x" * 20), named("m", "C"), b"\x8a\x02\1\1", long_bytes(30))
    with pytest.raises(Exception, match=r"data\.pkl"):
        scan_pickle(data[:-cut], 0, LIMITS, "data.pkl")


def problems(data: bytes, limits: Limits, path: Path) -> list[str]:
    path.write_bytes(data)
    checkpoint = run(open_task(path, limits))
    nodes = checkpoint.nodes
    found = [str(nodes.value[at]) for at in range(len(nodes)) if nodes.kind[at] == Kind.PROBLEM]
    return [*found, *checkpoint.tensors.problem.values(), *checkpoint.warnings]


def rebuilt(dims: int) -> bytes:
    shape = b"(" + b"K\x01" * dims + b"t"
    storage = b"(" + text("storage") + named("torch", "FloatStorage") + text("0") + text("cpu") + b"K\x01tQ"
    call = named("torch._utils", "_rebuild_tensor_v2") + b"(" + storage + b"K\x00" + shape + shape
    return b"\x80\x02" + call + b"\x89" + named("collections", "OrderedDict") + b")RtR."


@pytest.mark.parametrize("most", [2, 64])
def test_that_tensors_have_dimensions_up_to_their_limit(most: int) -> None:
    limits = replace(LIMITS, tensor_dims=most)
    for dims, is_sound in ((0, True), (most, True), (most + 1, False)):
        session, loaded = load(rebuilt(dims), limits=limits)
        sound = len(session.tensors) == 1 and 0 not in session.tensors.problem
        assert sound is is_sound, (dims, loaded.root)


def safetensors(path: Path, header: dict[str, Any], nbytes: int) -> Path:
    encoded = json.dumps(header).encode()
    path.write_bytes((len(encoded) + nbytes).to_bytes(8, "little") + encoded + b" " * nbytes + bytes(4))
    return path


def test_that_a_header_may_be_as_long_as_its_limit(tmp_path: Path) -> None:
    header = {"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    for blanks in (0, 7):
        path = safetensors(tmp_path / f"{blanks}.safetensors", header, blanks)
        length = int.from_bytes(path.read_bytes()[:8], "little")
        with FileSource(path) as source:
            assert len(run(safetensors_task(source, replace(LIMITS, header_nbytes=length))).tensors) == 1
            with pytest.raises(MalformedFile, match="the format allows"):
                run(safetensors_task(source, replace(LIMITS, header_nbytes=length - 1)))


def test_that_rows_are_shown_up_to_their_limit_and_the_rest_is_said(tmp_path: Path) -> None:
    data = items(*(b"K\x01" for _ in range(50)))
    assert problems(data, replace(LIMITS, nodes=51), tmp_path / "a.pkl") == []
    assert problems(data, replace(LIMITS, nodes=50), tmp_path / "b.pkl") != []


@pytest.mark.parametrize("depth", [3, 20])
def test_that_levels_are_shown_up_to_their_limit_and_the_rest_is_said(depth: int, tmp_path: Path) -> None:
    data = b"\x80\x02" + b"](" * depth + b"K\x01" + b"e" * depth + b"."
    reached = [
        bool(problems(data, replace(LIMITS, tree_depth=most), tmp_path / f"{most}.pkl")) for most in range(1, 30)
    ]
    first = reached.index(False)
    assert abs(first + 1 - depth) <= 1
    assert not any(reached[first:])
    assert all(reached[:first])
