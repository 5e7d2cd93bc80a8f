"""The tree: every object once, every key unique, bounded whatever the graph."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.pickle.helpers import rows, values
from viewer.checkpoint.nodes import Kind, NodeTable, OtherKey
from viewer.checkpoint.paths import format_path, resolve_path
from viewer.checkpoint.tensors import TensorFlag, TensorTable
from viewer.formats.limits import LIMITS
from viewer.formats.pickle import (
    Group,
    ObjectStandIn,
    PickleSession,
    Problem,
    ScalarStandIn,
    SequenceStandIn,
    StorageStandIn,
    TensorStandIn,
    Text,
    make_mapping,
)
from viewer.formats.pickle.standins import KeyStandIn, NameStandIn
from viewer.formats.tree import build_nodes


def tree(root: object, **limits: Any) -> NodeTable:
    nodes = build_nodes(root, TensorTable(), replace(LIMITS, **limits))
    check(nodes)
    return nodes


def check(nodes: NodeTable) -> None:
    """What the node table promises."""
    count = len(nodes)
    columns = (nodes.type_id, nodes.parent, nodes.first_child, nodes.n_children, nodes.key, nodes.value)
    assert all(len(column) == count for column in columns)
    assert nodes.parent[0] == -1
    assert nodes.key[0] == ""
    following = 1
    for node in range(count):
        assert nodes.parent[node] < node
        if nodes.n_children[node]:
            assert nodes.first_child[node] == following
            keys = [(type(nodes.key[child]), nodes.key[child]) for child in nodes.children(node)]
            assert len(set(keys)) == len(keys)
        following += nodes.n_children[node]
        for child in nodes.children(node):
            assert nodes.parent[child] == node
    assert following == count


KEYS = st.text() | st.integers() | st.floats() | st.none() | st.booleans() | st.binary() | st.tuples(st.integers())
GRAPHS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=20),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(KEYS, inner)
        | st.tuples(inner, inner)
        | st.builds(lambda name, state: with_state(name, state), st.text(), st.dictionaries(st.text(), inner))
    ),
    max_leaves=40,
)


def with_state(name: str, state: object) -> ObjectStandIn:
    made = ObjectStandIn(None, (name,))
    made.__setstate__(state)
    return made


@given(GRAPHS)
@settings(max_examples=200, deadline=None)
def test_that_every_tree_keeps_the_promises_of_the_table(root: object) -> None:
    nodes = tree(root)
    for node in range(len(nodes)):
        assert resolve_path(nodes, format_path(nodes.keys_to(node))) == node


@given(st.dictionaries(KEYS, st.integers(), max_size=8))
@settings(max_examples=200, deadline=None)
def test_that_every_entry_of_a_dict_has_a_row(root: dict[object, int]) -> None:
    nodes = tree(root)
    assert [nodes.value[node] for node in nodes.children(0)] == list(root.values())
    for key, node in zip(root, nodes.children(0), strict=True):
        assert type(nodes.key[node]) is (type(key) if type(key) in (int, str) else OtherKey)


def test_that_rows_say_kind_type_and_value() -> None:
    session = PickleSession()
    storage = session.add_storage("0", 0, 8, "cpu")
    plain = session.add_tensor(0, (2,), (1,), storage)
    parameter = session.add_tensor(0, (2,), (1,), storage, 0, int(TensorFlag.PARAMETER))
    root = {
        "none": None,
        "bool": True,
        "int": 1,
        "float": 2.5,
        "str": "x",
        "bytes": b"x",
        "complex": 1j,
        "tensor": TensorStandIn(plain),
        "parameter": TensorStandIn(parameter),
        "storage": StorageStandIn(storage, 0),
        "date": ScalarStandIn("datetime.date", "2024-05-06"),
        "text": Text("def f(): pass", "source"),
        "problem": Problem("gone"),
        "name": NameStandIn("m.C.x"),
        "group": Group({"inner": 1}, "folder"),
        "set": {3, 1},
        "size": SequenceStandIn("torch.Size", (2, 3)),
    }
    nodes = build_nodes(root, session)
    check(nodes)
    shown = {keys[0]: (kind, type_name, value) for keys, kind, type_name, value in rows(nodes) if len(keys) == 1}
    assert shown == {
        "none": ("SCALAR", "NoneType", None),
        "bool": ("SCALAR", "bool", True),
        "int": ("SCALAR", "int", 1),
        "float": ("SCALAR", "float", 2.5),
        "str": ("SCALAR", "str", "x"),
        "bytes": ("SCALAR", "bytes", b"x"),
        "complex": ("SCALAR", "complex", 1j),
        "tensor": ("TENSOR", "tensor", plain),
        "parameter": ("TENSOR", "Parameter", parameter),
        "storage": ("STORAGE", "storage", storage),
        "date": ("SCALAR", "datetime.date", "2024-05-06"),
        "text": ("TEXT", "source", "def f(): pass"),
        "problem": ("PROBLEM", "problem", "gone"),
        "name": ("REFERENCE", "name", "m.C.x"),
        "group": ("GROUP", "folder", None),
        "set": ("SET", "set", None),
        "size": ("SEQUENCE", "torch.Size", None),
    }
    assert values(nodes)["group", "inner"] == 1


def test_that_cycles_and_shared_containers_are_links() -> None:
    shared = {"x": 1}
    root: dict[str, object] = {"a": shared, "b": [shared]}
    root["self"] = root
    nodes = tree(root)
    links = {keys: value for keys, kind, _, value in rows(nodes) if kind == "LINK"}
    assert links == {("b", 0): 1, ("self",): 0}
    assert nodes.type_name(nodes.children(0)[2]) == "dict"


def test_that_small_shared_tuples_are_shown_again_and_large_ones_linked() -> None:
    betas, long = (0.9, 0.999), tuple(range(17))
    nested = (betas,)
    nodes = tree([betas, betas, long, long, nested, nested, (), ()])
    kinds = [Kind(nodes.kind[node]).name for node in nodes.children(0)]
    assert kinds == ["SEQUENCE", "SEQUENCE", "SEQUENCE", "LINK", "SEQUENCE", "LINK", "SEQUENCE", "SEQUENCE"]
    assert values(nodes)[1, 1] == 0.999


def test_that_a_graph_of_shared_pairs_does_not_grow_without_end() -> None:
    pair: object = (1, 2)
    for _ in range(100):
        pair = (pair, pair)
    # Two rows for each pair, of which the second is a link; only the innermost pairs are shown again.
    assert len(tree(pair)) == 1 + 2 * 100 + 2 * 2


def test_that_deep_graphs_end_in_a_row_that_says_so() -> None:
    root: list[object] = []
    for _ in range(200_000):
        root = [root]
    nodes = tree(root)
    assert len(nodes) == LIMITS.tree_depth + 1
    assert nodes.kind[-1] == Kind.PROBLEM
    assert "500 levels deep" in str(nodes.value[-1])
    while root:  # takes it apart from the top, so that nothing is freed in one long chain
        root = root.pop()  # type: ignore[assignment]


def test_that_a_tree_beyond_the_limit_says_how_much_is_missing() -> None:
    nodes = tree({"a": list(range(50)), "b": list(range(100)), "c": [1], "d": {}}, nodes=100)
    assert len(nodes) == 101
    assert nodes.kind[-1] == Kind.PROBLEM
    assert nodes.parent[100] == 2
    assert nodes.value[-1] == (
        "the tree ends at 100 rows: 55 more entries here are not shown, nor is what 1 other entries hold"
    )


def test_that_a_wide_dict_beyond_the_limit_is_cut_too() -> None:
    nodes = tree({str(n): n for n in range(200)}, nodes=100)
    assert len(nodes) == 101
    assert "101 more entries" in str(nodes.value[-1])


def test_that_the_limit_is_no_limit_for_what_fits() -> None:
    assert len(tree({str(n): n for n in range(99)}, nodes=100)) == 100
    assert len(tree([[1], [2]], nodes=5)) == 5


def test_that_unusual_keys_are_told_apart() -> None:
    nan = float("nan")
    root = {1: "a", "1": "b", False: "c", 1.5: "d", (1, 2): "e", None: "f", b"1": "g", nan: "h", float("nan"): "i"}
    nodes = tree(root)
    assert nodes.key[1:] == [
        1,
        "1",
        OtherKey("False"),
        OtherKey("1.5"),
        OtherKey("(1, 2)"),
        OtherKey("None"),
        OtherKey("b'1'"),
        OtherKey("nan"),
        OtherKey("nan", 2),
    ]


def test_that_keys_of_ten_thousand_characters_and_any_text_are_kept() -> None:
    keys = ["", "x" * 10_000, "a.b/c", "new\nline", "\u540d\U0001f600", " ", "[0]", '"']
    nodes = tree(dict.fromkeys(keys, 1))
    assert nodes.key[1:] == keys
    long = tree({("y" * 10_000,): 1}).key[1]
    assert isinstance(long, OtherKey)
    assert len(long.text) <= LIMITS.key_nchars


def test_that_text_that_cannot_be_encoded_is_bytes_or_escaped() -> None:
    old = b"caf\xe9".decode("utf-8", "surrogateescape")
    nodes = tree({old: old, "\ud800": "\ud800"})
    assert nodes.key[1:] == [OtherKey("b'caf\\xe9'"), OtherKey("'\\\\ud800'")]
    assert nodes.value[1:] == [b"caf\xe9", "\\ud800"]
    assert [nodes.type_name(1), nodes.type_name(2)] == ["bytes", "str"]


def test_that_long_bytes_are_shown_by_length_and_digest() -> None:
    raw = bytes(100_000)
    value = tree([raw, bytearray(raw)]).value[1]
    assert isinstance(value, str)
    assert "100,000 bytes, SHA-256 " in value
    assert tree([raw[:1_000]]).value[1] == raw[:1_000]


def test_that_sets_have_one_order_whatever_the_hashes() -> None:
    names = {f"name {n}" for n in range(100)}
    nodes = tree([names, {1.5, 2, True}, {(1, "b"), None, "a"}])
    shown = values(nodes)
    assert [shown[0, n] for n in range(100)] == sorted(names)
    assert [shown[1, n] for n in range(3)] == [True, 1.5, 2]
    assert [shown[2, n] for n in range(2)] == [None, "a"]


def test_that_objects_show_arguments_state_items_and_pairs() -> None:
    item = ObjectStandIn(None, (1,), {"k": 2})
    item.__setstate__({"x": 3, "args": 4})
    item.__setstate__(5)
    item.append(6)
    item["p"] = 7
    nodes = tree(item)
    assert values(nodes) == {
        (): None,
        ("args",): None,
        ("args", 0): 1,
        ("kwargs",): None,
        ("kwargs", "k"): 2,
        ("x",): 3,
        (OtherKey("'args'"),): 4,
        ("state",): 5,
        (0,): 6,
        ("p",): 7,
    }


def test_that_an_empty_state_and_no_arguments_are_no_children() -> None:
    item = ObjectStandIn(None)
    item.__setstate__(None)
    item.__setstate__({})
    assert len(tree(item)) == 1


def test_that_attributes_of_dicts_are_no_entries() -> None:
    mapping = make_mapping("collections.OrderedDict", [["given", 1], ("pair", 2)], {"fact": 3})
    mapping["own"] = 4
    mapping["given"] = 5
    mapping.__setstate__({"_metadata": 6})
    nodes = tree(mapping)
    assert values(nodes) == {
        (): None,
        ("given",): 1,
        ("pair",): 2,
        ("own",): 4,
        (OtherKey("'given'"),): 5,
        (OtherKey(".fact"),): 3,
        (OtherKey("._metadata"),): 6,
    }


def test_that_what_stands_for_a_key_is_shown_as_the_key() -> None:
    root = {KeyStandIn((1, [2])): "a", KeyStandIn((1, [2])): "b"}
    nodes = tree(root)
    assert nodes.key[1:] == [OtherKey("(1, [2])"), OtherKey("(1, [2])", 2)]
    assert values(tree({KeyStandIn([1])})) == {(): None, (0,): None, (0, 0): 1}
    assert values(tree([KeyStandIn(5)])) == {(): None, (0,): 5}


def test_that_a_tensor_with_parts_is_unfolded_once() -> None:
    session = PickleSession()
    storage = session.add_storage("0", 0, 8, "cpu")
    tensor = TensorStandIn(session.add_tensor(0, (2,), (1,), storage), {"note": 1})
    tensor.parts["self"] = tensor  # type: ignore[index]
    nodes = build_nodes([tensor, tensor], session)
    check(nodes)
    assert Counter(nodes.kind) == Counter({Kind.TENSOR: 3, Kind.SCALAR: 1, Kind.SEQUENCE: 1})


def test_that_texts_of_many_keys_are_bounded_in_all() -> None:
    shared = tuple(range(150))
    root = {(n, shared): n for n in range(5_000)}
    nodes = tree(root, text_visits=10_000)
    assert len(nodes) == 5_001
    assert max(len(key.text) for key in nodes.key[-100:] if isinstance(key, OtherKey)) < 30


@pytest.mark.parametrize("root", [None, 5, "x", b"", TensorStandIn(0), Problem("x"), {}, [], ()])
def test_that_any_object_can_be_the_root(root: object) -> None:
    tensors = TensorTable()
    tensors.flags.append(0)
    tensors.shape.append(())
    nodes = build_nodes(root, tensors)
    check(nodes)
    assert len(nodes) == 1
