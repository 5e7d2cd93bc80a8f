"""The scan of opcodes: ends, limits, globals, and which pickles are suspicious."""

from __future__ import annotations

import pickle
import pickletools
from collections import OrderedDict
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.pickle.helpers import get, named, number, put, saved_by_torch, text
from viewer.errors import LimitExceeded, MalformedFile
from viewer.formats.limits import LIMITS
from viewer.formats.pickle import TruncatedPickle
from viewer.formats.pickle.scan import scan_pickle

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.just("a key of forty-nine or more characters, as it happens"),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.tuples(inner, inner)
        | st.lists(inner).map(tuple)
    ),
    max_leaves=60,
)


def scan(data: bytes, offset: int = 0):
    return scan_pickle(data, offset, LIMITS, "data.pkl")


@pytest.mark.parametrize("protocol", range(6))
@given(item=PLAIN)
@settings(max_examples=60, deadline=None)
def test_that_the_scan_ends_where_the_pickle_ends(protocol: int, item: object) -> None:
    data = pickle.dumps(item, protocol)
    assert scan(data).end == len(data)
    assert scan(b"junk" + data + b"more", 4).end == len(data) + 4


@pytest.mark.parametrize("protocol", range(6))
def test_that_every_cut_of_a_pickle_is_truncated(protocol: int) -> None:
    item = {"a": [1, 2.5, None, True], "b": ("x" * 300, b"y" * 5, 2**70), 3: {"c": (1, (2, (3,)))}, "s": {1, 2}}
    data = pickle.dumps(item, protocol)
    for length in range(1, len(data)):
        with pytest.raises(TruncatedPickle):
            scan(data[:length])


def many_tensors(count: int) -> dict[str, object]:
    items: dict[str, object] = {}
    for n in range(count):
        tensor = torch.zeros(n % 5, 3) if n % 3 else torch.zeros(2, 1, 3, 1, 2)
        items[f"layer.{n}.weight"] = torch.nn.Parameter(tensor) if n % 2 else tensor
    return items


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_that_runs_of_tensors_give_what_a_walk_of_single_opcodes_gives(protocol: int) -> None:
    data, _ = saved_by_torch(many_tensors(3_000), pickle_protocol=protocol)
    assert len(data) > 200_000  # so that an expression for runs is compiled
    found = scan(data)
    assert found.end == len(data)
    assert found.suspicion == ""
    named_there = {
        tuple(str(argument).split(" ", 1))
        for opcode, argument, _ in pickletools.genops(data)
        if opcode.name == "GLOBAL"
    }
    assert set(found.globals) >= named_there
    if protocol < 4:
        assert ("torch._utils", "_rebuild_parameter") in found.globals


def test_that_an_optimizer_whose_groups_share_a_tuple_is_not_suspicious() -> None:
    model = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(600)))
    optimizer = torch.optim.Adam([{"params": [parameter]} for parameter in model.parameters()], betas=(0.8, 0.95))
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    data, _ = saved_by_torch({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    assert scan(data).suspicion == ""


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("last_letter", ["t", "\x05", "q", "\x14"])
def test_that_names_fetched_again_are_not_taken_for_tuples(protocol: int, last_letter: str) -> None:
    # The string objects of the state_dict's keys come again in `param_names`; "weight" ends in TUPLE's own byte.
    names = [f"layers.{n}.weigh{last_letter}" for n in range(3_000)]
    model = {name: torch.zeros(2, 3) for name in names}
    item = {"model": model, "optimizer": {"state": {}, "param_groups": [{"param_names": names, "lr": 0.1}]}}
    data, _ = saved_by_torch(item, pickle_protocol=protocol)
    assert scan(data).suspicion == ""
    shared, _ = saved_by_torch([item, list(model), names, *names], pickle_protocol=protocol)
    assert scan(shared).suspicion == ""


@pytest.mark.parametrize("protocol", [2, 4])
def test_that_sizes_and_states_of_many_objects_are_not_suspicious(protocol: int) -> None:
    sizes = {f"entry.{n}": torch.Size([n % 7, n]) for n in range(20_000)}
    assert scan(pickle.dumps(sizes, protocol)).suspicion == ""


@pytest.mark.parametrize("protocol", [4, 5])
def test_that_small_tuples_are_told_from_keys_where_memo_and_frames_count_for_themselves(protocol: int) -> None:
    of_names = {f"name.{n}": (n, n + 1) for n in range(40_000)}
    data = pickle.dumps(of_names, protocol)
    assert data.count(b"\x94") > 80_000  # as a part of numbers too
    assert scan(data).suspicion == ""
    assert scan(pickle.dumps(dict.fromkeys(of_names.values()), protocol)).suspicion


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_that_globals_are_listed_with_counts(protocol: int) -> None:
    data = pickle.dumps([OrderedDict(a=1), OrderedDict(b=2)], protocol)
    assert scan(data).globals[("collections", "OrderedDict")] == 1
    assert scan(b"(" + named("a.b", "C") * 3 + b"l.").globals[("a.b", "C")] == 3


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02Nr\xff\xff\xff\x0f.",  # memo index
        b"\x80\x02Nr\xff\xff\xff\xff.",
        b"Np268435455\n.",
        b"\x80\x02\x8b\x00\x00\x10\x00" + b"\x01" * 0x100000 + b".",  # LONG4
        b"I" + b"9" * 5_000 + b"\n.",
        b"\x80\x02\x82\x01.",  # EXT1
        b"\x80\x02\x83\x01\x00.",
        b"\x80\x02\x84\x01\x00\x00\x00.",
        named("m" * 5_000, "C") + b".",
        b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f.",
        b"\x80\x04(" + b"]" * 10_000_000 + b"l.",
    ],
    ids=["put", "put4", "text-put", "long4", "int", "ext1", "ext2", "ext4", "name", "binbytes8", "lists"],
)
def test_that_what_asks_for_too_much_is_refused(data: bytes) -> None:
    with pytest.raises(LimitExceeded, match=r"data\.pkl asks for"):
        scan(data)


def test_that_a_limit_is_a_number_in_one_place() -> None:
    data = b"(" + b"".join(named("m", f"C{n}") for n in range(30)) + b"l."
    assert scan(data).end == len(data)
    with pytest.raises(LimitExceeded, match="more than 20 classes"):
        scan_pickle(data, 0, replace(LIMITS, pickle_globals=20), "data.pkl")


@pytest.mark.parametrize("data", [b"\xff.", b"\x80\x09N.", b"Npx\n.", b"hello"], ids=repr)
def test_that_what_is_no_pickle_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedFile):
        scan(data)


def heavy(memo_from: int = 0) -> bytes:
    """Pairs of pairs of pairs …, each fetched twice."""
    levels = b"".join(get(memo_from + n) * 2 + b"\x86" + put(memo_from + n + 1) for n in range(30))
    return b"}(" + b"(K\x01t" + put(memo_from) + levels + b"Nu"


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02" + heavy() + b".",
        b"\x80\x02}(" + b")" + b"2\x86" * 30 + b"Nu.",  # DUP
        b"\x80\x02}(" + b")" + b"\x85" * 3_000 + b"Nu.",  # deep
        b"\x80\x02}(" + b"(" * 3_000 + b"t" * 3_000 + b"Nu.",
        b"\x80\x04(" + b"(" * 3_000 + b"\x91" * 3_000 + b"Nt.",
        b"\x80\x02}(" + b"".join(b"(" + b"J\xff\xff\xff\xff" * 9 + b"tN" for _ in range(20_000)) + b"u.",
        b"\x80\x02}(" + b"".join(number((2**61 - 1) * n) + b"N" for n in range(2**20, 2**20 + 5_000)) + b"u.",
        b"\x80\x02}(" + text("a" * 100_000) + put(0) + b"N" + (get(0) + b"N") * 50_000 + b"u.",
        b"\x80\x02})(u" + put(0) + b"K\x01s.",  # what a PUT keeps is not what was made last
        b"\x80\x05\x97\x98.",
        b"\x80\x02N\x94.",
        b"\x80\x04N" + put(0) + b".",
    ],
    ids=[
        "shared",
        "dup",
        "deep",
        "marks",
        "frozen",
        "keys",
        "ints",
        "strings",
        "put",
        "buffers",
        "memoize",
        "old put",
    ],
)
def test_that_what_could_hash_or_compare_without_end_is_suspicious(data: bytes) -> None:
    assert scan(data).suspicion


def test_that_small_tuples_as_values_and_items_are_not_taken_for_keys() -> None:
    of_names = {f"name.{n}": (n, n + 1) for n in range(40_000)}
    of_lists = {f"name.{n}": [(n, "a"), (n, 2.5, None)] for n in range(20_000)}
    one_by_one = [{"pair": (n, n)} for n in range(30_000)]
    for item in (of_names, of_lists, one_by_one, list(of_names.values())):
        assert scan(pickle.dumps(item, 2)).suspicion == ""


def test_that_small_tuples_as_keys_are_told_from_values() -> None:
    pairs = [b"K%bK%b\x86" % (bytes([n & 255]), bytes([n >> 8])) + put(300 + n) for n in range(40_000)]
    start = b"\x80\x02(" + b"".join(b"N" + put(n) for n in range(300)) + b"}("
    for before, after in ((b"", b"N"), (b"NN", b"N"), (b"NNN", b"")):
        items = before + b"".join(pair + b"N" for pair in pairs) + after
        assert scan(start + items + b"ul.").suspicion


def test_that_a_small_tuple_used_by_the_million_is_suspicious_only_among_many_others() -> None:
    start = b"\x80\x02("
    few = start + b"".join(b"K%b\x85" % bytes([n]) + put(n) for n in range(3)) + get(2) * 2_000_000 + b"l."
    many = start + b"".join(b"K%b\x85" % bytes([n]) + put(n) for n in range(200)) + get(2) * 2_000_000 + b"l."
    assert scan(few).suspicion == ""
    assert scan(many).suspicion


def test_that_what_a_large_pickle_may_ask_for_grows_with_it() -> None:
    limits = replace(LIMITS, pickle_structure_nbytes=1_000_000)
    item = [[n] for n in range(40_000)]
    with pytest.raises(LimitExceeded, match="MiB of small objects"):
        scan_pickle(pickle.dumps(item, 2), 0, replace(limits, pickle_structure_per_byte=0), "data.pkl")
    assert scan_pickle(pickle.dumps(item, 2), 0, limits, "data.pkl").suspicion == ""
    with pytest.raises(LimitExceeded, match="MiB of small objects"):
        scan_pickle(b"\x80\x02(" + b"]" * 400_000 + b"l.", 0, limits, "data.pkl")


@pytest.mark.parametrize("protocol", [2, 4])
def test_that_tuples_made_inside_a_run_are_known_when_fetched_outside(protocol: int) -> None:
    # Arguments of calls, which a run passes over, fetched afterwards by their indexes.
    memoize = protocol >= 4
    index = 0

    def remember() -> bytes:
        nonlocal index
        index += 1
        return b"\x94" if memoize else put(index - 1)

    data = bytes([0x80, protocol]) + b"(" + b"".join(b"N" + remember() for _ in range(256))
    callable_ = index
    data += named("m", "C") + remember() + b"".join(b"\x8a\x01\x05" for _ in range(40_000))
    fetched = []
    for _ in range(200):
        data += get(250)  # a light object, so that the run goes on
        data += get(callable_)[:0] + b"(K\x01K\x02" + get(250) + b"t"
        fetched.append(index)
        data += remember() + b"R"
        data += remember()
    ordinary = scan(data + b"t" + b"\x8a\x01\x05" * 40_000 + b".")
    assert ordinary.suspicion == ""
    again = scan(data + b"".join(map(get, fetched)) + b"t" + b"\x8a\x01\x05" * 40_000 + b".")
    assert again.suspicion == "tuples shared by other tuples"
