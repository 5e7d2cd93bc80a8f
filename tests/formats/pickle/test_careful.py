"""The careful unpickler: the same graph as the C unpickler, and more of it where that one gives up."""

from __future__ import annotations

import collections
import datetime
import pickle
from typing import Any

import numpy as np
import pytest
import torch

from tests.formats.pickle.helpers import get, load, named, number, put, rows, saved_by_torch, tensor, text, tree_of
from viewer.formats.limits import LIMITS
from viewer.formats.pickle import PickleSession, Problem
from viewer.formats.pickle.careful import read_carefully
from viewer.formats.pickle.known import class_finder
from viewer.formats.pickle.persistent import persistent_reader
from viewer.formats.pickle.scan import scan_pickle
from viewer.formats.pickle.standins import KeyStandIn
from viewer.formats.tree import build_nodes

GRAPHS: dict[str, Any] = {
    "plain": {"a": [1, 2.5, None, True, -1, 300, 70_000, 2**80], "b": (b"x", "t\u00e9xt", ()), 3: {(1, 2): {1, 2}}},
    "containers": [
        collections.OrderedDict(a=1),
        collections.deque([1], maxlen=2),
        collections.Counter("aab"),
        frozenset({1, (2, 3)}),
        bytearray(b"abc"),
        {"k": {"k": {}}},
    ],
    "objects": [
        datetime.datetime(2024, 5, 6),
        slice(1, 2),
        range(3),
        1j,
        np.float32(2.5),
        np.arange(4),
        np.dtype("f8"),
    ],
    "long": ["x" * 70_000, b"y" * 70_000, list(range(3_000)), dict.fromkeys(map(str, range(3_000)), 1.5)],
    "bytes": [bytes(range(256)), "\ud800", "\U0001f600"],
}
shared: list[Any] = [1]
shared.append(shared)
GRAPHS["cycle"] = [shared, shared, (shared,)]


def carefully(data: bytes) -> list[Any]:
    session = PickleSession()
    root, end, problem = read_carefully(session, data, 0, class_finder(session), persistent_reader(session))
    assert (end, problem) == (len(data), "")
    session.complete_storages()
    return [rows(build_nodes(root, session)), session.tensors, session.storages, session.blobs, session.globals()]


def quickly(data: bytes) -> list[Any]:
    session, loaded = load(data)
    return [
        rows(build_nodes(loaded.root, session)),
        session.tensors,
        session.storages,
        session.blobs,
        session.globals(),
    ]


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", GRAPHS)
def test_that_both_unpicklers_give_the_same_graph(name: str, protocol: int) -> None:
    data = pickle.dumps(GRAPHS[name], protocol)
    assert carefully(data) == quickly(data)


@pytest.mark.parametrize("protocol", [2, 5])
def test_that_both_unpicklers_read_torch_files_alike(protocol: int) -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Linear(2, 2))
    optimizer = torch.optim.Adam(module.parameters())
    for parameter in module.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    items = {
        "whole": module,
        "state": module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "half": torch.ones(3).half(),
    }
    data, _ = saved_by_torch(items, pickle_protocol=protocol)
    assert scan_pickle(data, 0, LIMITS, "x").suspicion == ""
    assert carefully(data) == quickly(data)


def bomb(depth: int) -> bytes:
    """A key of pairs of pairs of pairs …: what is on the stack, and the same from the memo."""
    levels = b"".join(put(n) + get(n) + b"\x86" for n in range(depth))
    return b"\x80\x02}(" + b")" + levels + b"K\x01" + text("other") + b"K\x02u."


def test_that_a_key_that_would_hash_for_hours_is_shown_by_its_text() -> None:
    _, loaded = load(bomb(100))
    assert loaded.problem == ""
    kinds = [type(key) for key in loaded.root]
    assert kinds == [KeyStandIn, str]
    assert list(loaded.root.values()) == [1, 2]
    _, nodes = tree_of(bomb(100))
    assert len(str(nodes.key[1])) < 500


def test_that_small_shared_keys_stay_keys() -> None:
    _, loaded = load(bomb(6))
    key = next(iter(loaded.root))
    expected: object = ()
    for _ in range(6):
        expected = (expected, expected)
    assert key == expected


def test_that_keys_with_one_hash_beyond_a_few_are_told_apart_by_identity() -> None:
    keys = b"".join(
        b"(" + b"".join(b"J" + (b"\xff", b"\xfe")[n >> bit & 1] + b"\xff\xff\xff" for bit in range(12)) + b"tN"
        for n in range(4_096)
    )
    data = b"\x80\x02}(" + keys + b"u0}(" + keys + b"u."
    _, loaded = load(data)
    assert len(loaded.root) == 4_096
    plain = [key for key in loaded.root if isinstance(key, tuple)]
    assert len(plain) == LIMITS.key_collisions
    assert len({hash(key) for key in plain}) == 1


def test_that_honest_tuple_keys_are_kept_however_many() -> None:
    table = {(n, n % 7): n / 2 for n in range(30_000)}
    data = pickle.dumps(table)
    assert scan_pickle(data, 0, LIMITS, "x").suspicion
    _, loaded = load(data)
    assert loaded.root == table


@pytest.mark.parametrize(
    ("opcodes", "message"),
    [
        (b"\x80\x02}(" + text("a") + b"K\x01u" + text("b" * 20) + b"0" + b"h\x09.", "fetches object 9 of the memo"),
        (b"\x80\x02}(" + text("a" * 20) + b"K\x01u" + b"\x82\x01.", "EXT"),
        (b"\x80\x02}(" + text("a" * 20) + b"K\x01u" + b"00.", "an opcode takes more than there is"),
        (b"\x80\x04}(" + text("a" * 20) + b"K\x01u\xff.", "is not an opcode"),
        (b"\x80\x04}(" + text("a" * 20) + b"K\x01uIabc\n.", "damaged at byte"),
        (b"\x80\x04}(" + text("a" * 20) + b"K\x01u0\x85.", "too few items"),
        (b"\x80\x04}(" + text("a" * 20) + b"K\x01u0.", "it ends without a value"),
    ],
)
def test_that_reading_ends_at_the_first_contradiction(opcodes: bytes, message: str) -> None:
    session = PickleSession()
    _, _, problem = read_carefully(session, opcodes, 0, class_finder(session), persistent_reader(session))
    assert message in problem


def test_that_what_is_open_when_the_data_ends_is_put_together() -> None:
    data = (
        b"\x80\x02}("
        + text("model")
        + b"}("
        + text("w")
        + tensor((2,), (1,))
        + text("list")
        + b"](K\x01K\x02"
        + text("cut")
    )
    session, loaded = load(data[:-2], partial=True)
    assert list(loaded.root) == ["model"]
    assert loaded.root["model"]["list"] == [1, 2]
    assert session.tensors.shape == [(2,)]


def test_that_memory_is_bounded_however_the_objects_are_made() -> None:
    # A dict of keywords, copied at each of a million calls.
    keywords = b"}(" + b"".join(text(f"{n:06d}") + b"N" for n in range(20_000)) + b"u" + put(1)
    data = (
        b"\x80\x04"
        + named("m", "C")
        + put(0)
        + keywords
        + b"0("
        + (get(0) + b")" + get(1) + b"\x92") * 50_000
        + b"l."
    )
    session, loaded = load(data)
    assert "MiB of small objects" in loaded.problem
    assert session.warnings


def test_that_state_of_values_and_items_of_values_become_records_beside_them() -> None:
    _, loaded = load(b"\x80\x02(K\x01K\x02aK\x03K\x04K\x05sK\x06(K\x07K\x08uK\x09(K\x01el.")
    assert loaded.problem == ""
    assert [item.args for item in loaded.root] == [(1, 2), (3, 4, 5), (6, 7, 8), (9, 1)]


def test_that_a_class_named_by_no_text_is_a_problem_in_its_place() -> None:
    _, loaded = load(b"\x80\x04(K\x01K\x02\x93" + text("m") + text("C") + b"\x93K\x05\x87t.", partial=True)
    problem, name, five = loaded.root[0]
    assert isinstance(problem, Problem)
    assert (name.dotted, five) == ("m.C", 5)


def test_that_integers_are_read_as_pickle_reads_them() -> None:
    data = b"(" + b"".join(map(number, (0, 1, -1, 127, -128, 2**63, -(2**63), 2**2_000))) + b"I01\nI00\nL5L\nF1.5\nl."
    session = PickleSession()
    root, _, _ = read_carefully(session, data, 0, class_finder(session), persistent_reader(session))
    assert root == pickle.loads(data)
