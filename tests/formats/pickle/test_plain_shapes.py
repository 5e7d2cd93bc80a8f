"""Known shapes of the standard library, against the objects themselves."""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import enum
import fractions
import functools
import pathlib
import pickle
import types
import uuid

import pytest

from tests.formats.pickle.helpers import load, named, root_of, rows, tree_of, values
from viewer.checkpoint.nodes import Kind, OtherKey
from viewer.formats.pickle import ObjectStandIn

PROTOCOLS = range(6)


class Color(enum.Enum):
    """Pickled by value."""

    RED = 3


Point = collections.namedtuple("Point", "x y")


class Slotted:
    """Its state is a pair."""

    __slots__ = ("a", "b")


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("item", "type_name", "text"),
    [
        (datetime.datetime(2024, 5, 6, 7, 8, 9), "datetime.datetime", "2024-05-06 07:08:09"),
        (datetime.datetime(1, 1, 1, 0, 0, 0, 250), "datetime.datetime", "0001-01-01 00:00:00.000250"),
        (
            datetime.datetime(2024, 5, 6, tzinfo=datetime.UTC),
            "datetime.datetime",
            "2024-05-06 00:00:00 UTC",
        ),
        (datetime.date(2024, 5, 6), "datetime.date", "2024-05-06"),
        (datetime.time(7, 8, 9, 10), "datetime.time", "07:08:09.000010"),
        (datetime.timedelta(days=-1, seconds=5), "datetime.timedelta", "-1 day, 0:00:05"),
        (decimal.Decimal("1.50"), "decimal.Decimal", "1.50"),
        (fractions.Fraction(3, 4), "fractions.Fraction", "3/4"),
        (pathlib.PurePosixPath("/a/b.pth"), "pathlib.PurePosixPath", "/a/b.pth"),
        (pathlib.PurePosixPath("a"), "pathlib.PurePosixPath", "a"),
        (pathlib.PureWindowsPath("C:/a/b"), "pathlib.PureWindowsPath", "C:\\a\\b"),
        (uuid.UUID(int=1), "uuid.UUID", "00000000-0000-0000-0000-000000000001"),
        (slice(1, None, 2), "slice", "slice(1, None, 2)"),
        (range(3), "range", "range(0, 3)"),
        (range(1, 9, 2), "range", "range(1, 9, 2)"),
        (bytearray(b"a\xff"), "bytearray", b"a\xff"),
        (1 + 2j, "complex", 1 + 2j),
    ],
    ids=lambda value: str(value)[:30],
)
def test_that_plain_values_keep_their_type_and_text(
    protocol: int, item: object, type_name: str, text: object
) -> None:
    session, nodes = tree_of(pickle.dumps(item, protocol))
    assert (nodes.kind[0], nodes.value[0]) == (Kind.SCALAR, text)
    assert nodes.type_name(0).replace("pathlib._local", "pathlib") == type_name
    assert all(use.harmless or protocol < 2 for use in session.globals())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_that_containers_are_containers(protocol: int) -> None:
    ordered = collections.OrderedDict([("b", 1), ("a", 2)])
    ordered.note = "x"  # type: ignore[attr-defined]
    items = {
        "ordered": ordered,
        "default": collections.defaultdict(list, {"a": [1]}),
        "counter": collections.Counter("aab"),
        "deque": collections.deque([1, 2], maxlen=4),
        "set": {3, 1, 2},
        "frozen": frozenset({"b", "a"}),
    }
    _, nodes = tree_of(pickle.dumps(items, protocol))
    shown = values(nodes)
    kinds = {keys: (kind, type_name) for keys, kind, type_name, _ in rows(nodes)}
    assert kinds["ordered",] == ("MAPPING", "OrderedDict")
    assert [keys[1] for keys in shown if keys[:1] == ("ordered",) and len(keys) == 2] == ["b", "a", OtherKey(".note")]
    assert shown["default", "a", 0] == 1
    assert shown["default", OtherKey(".default_factory")] in ("builtins.list", "__builtin__.list")
    assert (shown["counter", "a"], shown["counter", "b"]) == (2, 1)
    assert [shown["deque", 0], shown["deque", 1], shown["deque", OtherKey(".maxlen")]] == [1, 2, 4]
    assert [shown["set", n] for n in range(3)] == [1, 2, 3]
    assert [shown["frozen", n] for n in range(2)] == ["a", "b"]
    assert kinds["set",] == ("SET", "set")
    assert kinds["frozen",] == ("SET", "frozenset")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_that_objects_show_their_state(protocol: int) -> None:
    items = {
        "args": argparse.Namespace(lr=0.1, layers=[2, 2]),
        "simple": types.SimpleNamespace(x=1),
        "color": Color.RED,
        "point": Point(1, 2),
    }
    session, nodes = tree_of(pickle.dumps(items, protocol))
    shown = values(nodes)
    assert shown["args", "lr"] == 0.1
    assert shown["args", "layers", 1] == 2
    assert shown["simple", "x"] == 1
    assert shown["color", "args", 0] == 3
    assert str(shown["color",]).endswith("Color(3)")
    assert 2 in [value for keys, value in shown.items() if keys[:1] == ("point",)]
    assert {use.dotted: use.harmless for use in session.globals()}["argparse.Namespace"]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_that_slots_are_attributes(protocol: int) -> None:
    item = Slotted()
    item.a, item.b = 1, [2]
    _, nodes = tree_of(pickle.dumps(item, protocol))
    shown = values(nodes)
    assert shown["a",] == 1
    assert shown["b", 0] == 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_that_a_partial_is_shown_by_name(protocol: int) -> None:
    session, nodes = tree_of(pickle.dumps(functools.partial(datetime.date, 2024, month=5), protocol))
    assert nodes.value[0] == "functools.partial(datetime.date, 2024, month=5)"
    assert {use.dotted: use.harmless for use in session.globals()}["functools.partial"] is False


def test_that_old_classes_of_python_2_are_objects() -> None:
    root = root_of(b"(im\nOld\np0\n(dp1\nS'x'\np2\nI1\nsb.")
    assert isinstance(root, ObjectStandIn)
    assert root.state == [{"x": 1}]


def test_that_ordered_dicts_of_python_2_show_their_pairs() -> None:
    data = b"ccollections\nOrderedDict\np0\n((lp1\n(lp2\nS'a'\naI1\naa(lp3\nS'b'\naI2\naatRp4\n."
    _, nodes = tree_of(data)
    assert values(nodes) == {(): None, ("a",): 1, ("b",): 2}


@pytest.mark.parametrize(
    "call",
    [
        named("datetime", "datetime") + b"(C\x0a" + b"\xff" * 10 + b"tR",
        named("datetime", "datetime") + b"(K\x01tR",
        named("datetime", "timedelta") + b"(I99999999999\nK\x00K\x00tR",
        named("datetime", "timezone") + b"(K\x01tR",
        named("decimal", "Decimal") + b"(K\x01tR",
        named("fractions", "Fraction") + b"(NtR",
        named("pathlib", "PosixPath") + b"(K\x01tR",
        named("pathlib", "PosixPath") + b"(" + b"U\x01a" * 1_000 + b"tR",
        named("builtins", "slice") + b"(]tR",
        named("builtins", "range") + b"(NtR",
        named("builtins", "complex") + b"(]tR",
        named("builtins", "set") + b"(K\x01K\x02tR",
        named("_codecs", "encode") + b"(U\x01aU\x03hextR",
        named("_codecs", "encode") + b"(X\x03\x00\x00\x00\xe5\x90\x8dU\x06latin1tR",
        named("builtins", "bytearray") + b"(K\x01tR",
        named("copyreg", "_reconstructor") + b"(K\x01K\x02K\x03tR",
        named("copyreg", "__newobj__") + b"(K\x01tR",
        named("copyreg", "__newobj_ex__") + named("m", "C") + b"K\x01K\x02\x87R",
        named("collections", "OrderedDict") + b"(K\x01K\x02K\x03tR",
        named("torch", "device") + b"(K\x01tR",
        named("torch", "device") + b"(U\x03cpuJ\xff\xff\xff\xfftR",
    ],
)
def test_that_a_known_shape_called_in_an_unknown_way_is_a_record_of_the_call(call: bytes) -> None:
    _, result = load(b"\x80\x03" + call + b".")
    assert result.problem == ""
    assert isinstance(result.root, ObjectStandIn)
    assert result.root.args
