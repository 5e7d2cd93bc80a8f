"""Loading: what the policy promises, and what a session shares."""

from __future__ import annotations

import gc
import pickle
import sys
from collections import OrderedDict

import pytest

from tests.formats.pickle.helpers import get, load, named, put, root_of, storage_id, tensor, text
from viewer.errors import LimitExceeded, MalformedFile
from viewer.formats.pickle import (
    ObjectStandIn,
    PickleSession,
    Problem,
    ScalarStandIn,
    StandInType,
    StorageStandIn,
    TensorStandIn,
    TruncatedPickle,
)
from viewer.formats.pickle.standins import NameStandIn, OutOfBand

PLAIN = {"a": [1, 2.5, None, True, 2**80], "b": (b"bytes", "t\u00e9xt"), 3: {"s": {1, 2}, "e": [], "d": {}, "t": ()}}


@pytest.mark.parametrize("protocol", [4, 5])
def test_that_plain_values_are_what_pickle_makes_of_them(protocol: int) -> None:
    assert root_of(pickle.dumps(PLAIN, protocol)) == PLAIN


@pytest.mark.parametrize("protocol", range(6))
def test_that_numbers_and_text_are_plain_in_every_protocol(protocol: int) -> None:
    item = [
        0,
        1,
        -1,
        255,
        256,
        65_535,
        65_536,
        -(2**31),
        2**31,
        2**200,
        0.1,
        -1e300,
        True,
        False,
        None,
        "a\n\u540d\\u",
        (),
    ]
    assert root_of(pickle.dumps(item, protocol)) == item


@pytest.mark.parametrize("protocol", range(6))
def test_that_a_missing_class_becomes_a_record_of_its_name_and_state(protocol: int) -> None:
    data = pickle.dumps(OrderedDict(a=1), protocol).replace(b"OrderedDict", b"MissingDict")
    made = root_of(data)
    assert isinstance(made, ObjectStandIn)
    assert made.type_name == "collections.MissingDict"
    assert made.pairs == [("a", 1)] or made.args == ([["a", 1]],)


def test_that_every_way_to_make_an_object_gives_a_record() -> None:
    for data in (
        named("m", "C") + b"(K\x01tR.",
        b"(K\x01im\nC\n.",
        b"(" + named("m", "C") + b"K\x01o.",
        named("m", "C") + b"(K\x01t\x81.",
        text("m") + text("C") + b"\x93(K\x01t\x81.",
        named("m", "C") + b"(K\x01t}\x92.",
    ):
        made = root_of(b"\x80\x04" + data)
        assert isinstance(made, ObjectStandIn)
        assert (made.type_name, made.args) == ("m.C", (1,))
    made = root_of(named("m", "C") + b"(K\x01t}(" + text("k") + b"K\x02u\x92.")
    assert made.kwargs == {"k": 2}


def test_that_build_append_and_set_only_fill_records() -> None:
    made = root_of(
        named("m", "C") + b")R}(" + text("x") + b"K\x01ub(K\x02K\x03eK\x04a(K\x05K\x06uK\x07K\x08s(K\x09\x90."
    )
    assert made.state == [{"x": 1}]
    assert made.items == [2, 3, 4, 9]
    assert made.pairs == [(5, 6), (7, 8)]


@pytest.mark.parametrize(
    "opcodes",
    [
        b"}K\x01K\x02sb",
        b"}K\x01K\x02s}b",
        b"N}" + text("f") + b"K\x01s\x86b",
        b"(K\x01K\x02e",
        b"K\x01a",
        b"K\x01K\x02s",
        b"(K\x01\x90",
    ],
    ids=["state", "states", "slots", "appends", "append", "setitem", "additems"],
)
def test_that_a_class_itself_cannot_be_changed(opcodes: bytes) -> None:
    data = named("m", "C") + put(0) + opcodes + b"0(" + get(0) + get(0) + b")Rt."
    made, instance = root_of(b"\x80\x02" + data)[-2:]
    assert isinstance(made, StandInType)
    assert isinstance(instance, ObjectStandIn)
    assert instance.state is None
    assert made is instance.made_by


def test_that_names_of_known_shapes_cannot_be_changed_either() -> None:
    before = root_of(named("collections", "OrderedDict") + b"}" + text("type_name") + text("x") + b"sb.")
    assert isinstance(before, StandInType)
    assert before.dotted == "collections.OrderedDict"
    assert root_of(named("collections", "OrderedDict") + b")R.").type_name == "collections.OrderedDict"


def test_that_no_opcode_reaches_an_attribute_of_a_record() -> None:
    state = (
        b"}(" + b"".join(text(name) + b"K\x01" for name in ("__class__", "__setstate__", "made_by", "args")) + b"u"
    )
    made = root_of(named("m", "C") + b")R" + state + b"b" + state + b"bN" + state + b"\x86b.")
    assert type(made) is ObjectStandIn
    assert made.type_name == "m.C"
    assert made.args == ()
    assert len(made.state or ()) == 3


@pytest.mark.parametrize(
    "made", [b"K\x05", b"]", b"}", b"N", text("x"), b"\x8f", b")", b"G\0\0\0\0\0\0\0\0", b"\x8e\1\0\0\0\0\0\0\0x"]
)
def test_that_build_on_a_plain_value_becomes_a_record_beside_it(made: bytes) -> None:
    root = root_of(b"\x80\x04(" + made + b"}" + text("x") + b"K\x01sb" + b"t.")
    assert isinstance(root[0], ObjectStandIn)
    assert root[0].state == [{"x": 1}]


def test_that_calling_a_record_is_a_record() -> None:
    made = root_of(named("m", "C") + b")R(K\x01tR.")
    assert isinstance(made, ObjectStandIn)
    assert made.args == (1,)
    assert isinstance(made.made_by, ObjectStandIn)


def test_that_getattr_gives_a_name_and_nothing_else() -> None:
    made = root_of(named("builtins", "getattr") + named("m", "Color") + text("RED") + b"\x86R.")
    assert isinstance(made, NameStandIn)
    assert made.dotted == "m.Color.RED"
    other = root_of(named("builtins", "getattr") + b"K\x01" + text("real") + b"\x86R.")
    assert isinstance(other, ObjectStandIn)


def test_that_buffers_from_outside_are_named_as_such() -> None:
    data = pickle.dumps(pickle.PickleBuffer(bytearray(b"x")), 5, buffer_callback=lambda _: None)
    assert isinstance(root_of(data), OutOfBand)
    assert isinstance(root_of(b"\x80\x05\x97\x98."), OutOfBand)


def test_that_unusual_dict_keys_are_kept() -> None:
    root = root_of(
        b"}(" + tensor((2,), (1,)) + b"K\x01" + named("m", "C") + b")RK\x02" + named("m", "C") + b"K\x03u."
    )
    assert [type(key).__name__ for key in root] == ["TensorStandIn", "ObjectStandIn", "StandInType"]


def test_that_a_key_that_cannot_be_hashed_loses_nothing_else() -> None:
    _, loaded = load(b"\x80\x02}(" + text("a") + b"K\x01]K\x02" + text("b") + b"K\x03u.")
    assert loaded.problem == ""
    assert list(loaded.root.values()) == [1, 2, 3]


def test_that_text_of_python_2_is_utf_8_or_the_bytes_it_was() -> None:
    root = root_of(b"(U\x04caf\xe9U\x05caf\xc3\xa9T\x02\x00\x00\x00\xff\x00S'a\\xe9'\nt.")
    assert root[1] == "caf\u00e9"
    assert [item.encode("utf-8", "surrogateescape") for item in root] == [
        b"caf\xe9",
        b"caf\xc3\xa9",
        b"\xff\x00",
        b"a\xe9",
    ]


def test_that_old_protocols_write_bytes_as_text_and_they_come_back() -> None:
    raw = bytes(range(256))
    for protocol in (0, 1, 2):
        assert root_of(pickle.dumps(raw, protocol)) == raw
    empty = root_of(pickle.dumps(b"", 2))
    assert (empty.type_name, empty.value) == ("bytes", b"")


def test_that_long_bytes_of_old_protocols_come_back_too() -> None:
    raw = bytes(range(256)) * 40
    made = root_of(pickle.dumps(raw, 2))
    assert isinstance(made, ScalarStandIn)
    assert (made.type_name, made.value) == ("bytes", raw)


def test_that_globals_are_counted_and_sorted() -> None:
    session, _ = load(
        b"(" + named("m", "C") * 3 + named("os", "system") + named("collections", "OrderedDict") + b"l."
    )
    assert [(use.dotted, use.count, use.harmless) for use in session.globals()] == [
        ("collections.OrderedDict", 1, True),
        ("m.C", 3, False),
        ("os.system", 1, False),
    ]


def test_that_dotted_and_unicode_names_are_shown_as_they_are() -> None:
    session, loaded = load(
        b"\x80\x04" + text("os") + text("path.join") + b"\x93" + text("m\u00f6d") + text("\u540d") + b"\x93\x86."
    )
    assert [item.dotted for item in loaded.root] == ["os.path.join", "m\u00f6d.\u540d"]
    assert len(session.globals()) == 2


def test_that_several_pickles_share_one_session() -> None:
    session = PickleSession()
    data = (
        pickle.dumps("first", 4) + b"\x80\x02" + tensor((2,), (1,)) + b"." + b"\x80\x02" + tensor((3,), (1,)) + b"."
    )
    first = session.load(data, source_name="a")
    second = session.load(data, first.end, source_name="b")
    third = session.load(memoryview(data), second.end, source_name="c")
    assert first.root == "first"
    assert isinstance(third.root, TensorStandIn)
    assert third.root.number == 1
    assert third.end == len(data)
    assert session.tensors.shape == [(2,), (3,)]
    assert session.storages_by_key == {"0": 0}


def test_that_a_storage_starts_without_bytes() -> None:
    session, loaded = load(storage_id("7", "HalfStorage", 10, "cuda:1") + b".")
    assert isinstance(loaded.root, StorageStandIn)
    storages = session.storages
    assert (storages.key, storages.location, storages.nbytes[0], storages.encoding[0]) == (["7"], ["cuda:1"], 20, 3)
    assert storages.problem == {0: "no record of the file holds its bytes"}
    columns = (
        storages.file,
        storages.offset,
        storages.length,
        storages.big_endian,
        storages.dtype,
        storages.encoding,
    )
    assert all(len(column) == 1 for column in columns)


def test_that_the_larger_claim_on_a_storage_stays() -> None:
    session, loaded = load(
        b"(" + storage_id(numel=10) + storage_id(numel=30, kind="DoubleStorage") + storage_id(numel=1) + b"t."
    )
    assert session.storages.nbytes[0] == 240
    assert {item.number for item in loaded.root} == {0}
    assert len({item.dtype for item in loaded.root}) == 2


@pytest.mark.parametrize(
    "pid",
    [
        b"K\x05",
        text("x"),
        b"N",
        b")",
        b"(K\x01t",
        b"]",
        named("m", "C"),
        b"(" + text("storage") + b"K\x01K\x02K\x03K\x04t",
    ],
)
def test_that_odd_persistent_ids_are_inert(pid: bytes) -> None:
    made = root_of(b"\x80\x02" + pid + b"Q.")
    assert isinstance(made, ObjectStandIn)
    assert made.type_name == "persistent id"


def test_that_a_storage_of_an_unknown_kind_is_a_problem() -> None:
    assert isinstance(root_of(storage_id(kind="NoStorage") + b"."), Problem)
    assert isinstance(root_of(storage_id(numel=-1) + b"."), Problem)
    assert isinstance(root_of(storage_id(numel=2**61) + b"."), Problem)


def test_that_the_source_of_a_module_is_kept_as_text() -> None:
    pid = b"(" + text("module") + named("m", "Net") + text("net.py") + text("class Net: pass") + b"tQ"
    session, loaded = load(pid + b")R.")
    assert loaded.root.type_name == "m.Net"
    assert session.module_sources == {"m.Net": "class Net: pass"}


def test_that_persistent_ids_can_be_left_alone_or_read_by_the_container() -> None:
    data = storage_id() + b"."
    inert = PickleSession(persistent_ids="inert").load(data, source_name="x").root
    assert isinstance(inert, ObjectStandIn)
    own = PickleSession(persistent_ids=lambda pid: len(pid)).load(data, source_name="x").root  # type: ignore[arg-type]
    assert own == 5


def test_that_nested_bytes_are_loaded_once_each() -> None:
    seen: list[bytes] = []

    def loader(data: bytes) -> object:
        seen.append(data)
        return StorageStandIn(session.add_storage("inner", 0, 40, "cpu"), 0)

    session = PickleSession(nested_loader=loader)
    nested = named("torch.storage", "_load_from_bytes") + put(0) + b"C\x03abc" + put(1) + b"\x85R"
    again = get(0) + get(1) + b"\x85R"
    loaded = session.load(b"\x80\x03(" + tensor((2,), (1,), storage=nested) + again + b"t.", source_name="x")
    assert seen == [b"abc"]
    assert isinstance(loaded.root[0], TensorStandIn)
    assert session.tensors.storage[0] == 0
    kept = PickleSession().load(nested + b".", source_name="x").root
    assert isinstance(kept, ObjectStandIn)
    assert kept.args == (b"abc",)


def test_that_sessions_do_not_nest_without_end() -> None:
    session = PickleSession()
    for _ in range(session.limits.nested_pickles):
        session = session.nested()
    with pytest.raises(LimitExceeded, match="nested more than 8 deep"):
        session.nested()


def test_that_nested_sessions_share_columns_but_not_storage_keys() -> None:
    outer = PickleSession()
    outer.load(storage_id("0") + b".", source_name="x")
    inner = outer.nested()
    inner.load(storage_id("0") + b".", source_name="y")
    assert outer.storages.key == ["0", "0"]
    assert (outer.storages_by_key, inner.storages_by_key) == ({"0": 0}, {"0": 1})
    inner.warn("odd")
    assert outer.warnings == ["odd"]


def test_that_a_cut_pickle_raises_or_gives_what_comes_before() -> None:
    data = pickle.dumps({"a": [1, 2, 3], "b": {"c": "d" * 50}, "e": [4]}, 2)
    with pytest.raises(TruncatedPickle, match=r"the file ends inside data\.pkl"):
        load(data[:-5])
    session, loaded = load(data[:-5], partial=True)
    assert loaded.root == {"a": [1, 2, 3], "b": {"c": "d" * 50}, "e": []}
    assert "the data ends" in loaded.problem
    assert session.warnings[0].startswith("data.pkl is read in part")


def test_that_what_comes_before_damage_is_shown() -> None:
    data = b"\x80\x02}(" + text("a") + tensor((2,), (1,)) + text("b") + b"K\x02" + b"\xff\xff"
    session, loaded = load(data)
    assert loaded.problem
    assert loaded.root["b"] == 2
    assert session.tensors.shape == [(2,)]


def test_that_a_second_reading_leaves_no_rows_of_the_first() -> None:
    # The C unpickler gives up at BUILD on an int, after a tensor, a global and a storage were made.
    data = (
        b"\x80\x02("
        + tensor((2,), (1,))
        + b"K\x01}"
        + text("x")
        + b"K\x01sb"
        + tensor((3,), (1,), storage=storage_id("1"))
        + b"t."
    )
    session, loaded = load(data)
    assert loaded.problem == ""
    assert session.tensors.shape == [(2,), (3,)]
    assert session.storages.key == ["0", "1"]
    assert {use.dotted: use.count for use in session.globals()}["torch.FloatStorage"] == 2


@pytest.mark.parametrize("data", [b"hello world, this is text", b"", b"\x80", b".", b"\x80\x02.", b"K\x01K\x02u."])
def test_that_what_is_no_pickle_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(MalformedFile):
        load(data, partial=True)


def test_that_the_garbage_collector_is_as_it_was() -> None:
    assert gc.isenabled()
    load(pickle.dumps(PLAIN))
    assert gc.isenabled()
    gc.disable()
    try:
        load(pickle.dumps(PLAIN))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_that_nothing_named_is_imported() -> None:
    assert "antigravity" not in sys.modules
    load(b"(" + named("antigravity", "fly") + named("this", "s") + b"t.")
    assert not {"antigravity", "this"} & sys.modules.keys()
