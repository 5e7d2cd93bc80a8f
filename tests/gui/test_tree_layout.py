"""The rows of the tree, without Qt."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gui.checkpoints import Link, Problem, Tensor, Typed, experts, make_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind, OtherKey
from viewer.gui.tree.cells import badge
from viewer.gui.tree.display import DisplayOptions, DisplayTable, entries_task
from viewer.gui.tree.layout import MAX_SIBLINGS, build_task
from viewer.gui.tree.natural import natural_order
from viewer.task import run

RESNET_BLOCK = [
    f"layer1.{block}.{part}"
    for block in (0, 1)
    for part in (
        "conv1.weight",
        *(f"bn1.{name}" for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")),
    )
]


def build(root: object, **options: bool) -> DisplayTable:
    checkpoint = root if isinstance(root, Checkpoint) else make_checkpoint(root)
    return run(build_task(checkpoint, DisplayOptions(**options)))


def labels(table: DisplayTable, *path: str) -> list[str]:
    row = table.row_at(path)
    assert row is not None
    return [table.label[child] for child in table.children(row)]


def outline(table: DisplayTable, row: int = 0) -> dict[str, object]:
    return {table.label[child]: outline(table, child) for child in table.children(row)}


def test_that_dotted_names_become_a_module_tree_with_small_innermost_groups_written_out() -> None:
    table = build(dict.fromkeys([*RESNET_BLOCK, "fc.weight", "fc.bias"], Tensor()))
    assert labels(table) == ["layer1", "fc.weight", "fc.bias"]
    assert labels(table, "layer1") == ["0", "1"]
    assert labels(table, "layer1", "0")[:3] == ["conv1.weight", "bn1.weight", "bn1.bias"]


def test_that_the_metadata_of_a_state_dict_does_not_keep_its_names_from_becoming_a_tree() -> None:
    entries = dict.fromkeys([*RESNET_BLOCK, "fc.weight"], Tensor())
    table = build({**entries, OtherKey("._metadata"): {"": {"version": 1}}})
    assert labels(table)[:2] == ["layer1", "fc.weight"]
    assert "_metadata" in labels(table)[-1]
    assert badge(build({"model": {**entries, OtherKey("._metadata"): {}}}), 1) == "state_dict"


def test_that_an_innermost_group_of_more_than_twelve_names_keeps_its_row() -> None:
    table = build({f"a.w{number}": Tensor() for number in range(13)} | {"b.w": Tensor()})
    assert labels(table) == ["a", "b.w"]
    assert len(labels(table, "a")) == 13


def test_that_a_group_with_nothing_but_a_group_shares_its_row() -> None:
    names = [f"encoder.layers.{layer}.{part}.weight" for layer in range(3) for part in ("q.proj", "k.proj")]
    table = build(dict.fromkeys([*names, "head.bias"], Tensor()))
    assert labels(table) == ["encoder.layers", "head.bias"]
    assert labels(table, "encoder.layers", "0") == ["q.proj.weight", "k.proj.weight"]


def test_that_a_name_may_also_be_the_beginning_of_others() -> None:
    for names in (["a", "a.b", "a.c.d"], ["a.c.d", "a.b", "a"], ["a.b", "a", "a.c.d"]):
        table = build(dict.fromkeys(names, Tensor()))
        shown = {table.checkpoint.nodes.key[node] for node in table.node if node > 0}
        assert shown == set(names)


def test_that_flat_names_stay_flat_when_that_is_wanted() -> None:
    assert labels(build(dict.fromkeys(RESNET_BLOCK, Tensor()), grouped=False)) == RESNET_BLOCK


@pytest.mark.parametrize("name", ["a..b", ".a", "a.", "a.\n", "."])
def test_that_names_with_empty_or_unprintable_parts_are_not_split(name: str) -> None:
    table = build({name: Tensor(), "c.d.e": Tensor(), **{f"c.x{number}": Tensor() for number in range(20)}})
    assert len(labels(table)) == 22


def test_that_keys_which_are_not_all_names_are_not_split_and_keep_their_order() -> None:
    table = build({"b10.x": 1, 3: 2, OtherKey("(1, 2)"): 3, OtherKey("nan", 2): 4, "b2.x": 5, "": 6})
    assert labels(table) == ["b10.x", "[3]", "(1, 2)", "nan (2)", "b2.x", "''"]


def test_that_numbers_in_names_ascend_and_names_stay_as_the_file_has_them() -> None:
    names = [f"{name}.weight" for name in ("norm", "layer10", "layer2", "layer1", "conv", "bn2", "bn1")]
    assert labels(build(dict.fromkeys(names, Tensor()))) == [
        f"{name}.weight" for name in ("norm", "layer1", "layer2", "layer10", "conv", "bn1", "bn2")
    ]
    assert labels(build(dict.fromkeys(names, Tensor()), natural=False)) == names


def test_that_sequences_and_integer_keys_keep_the_order_of_the_file() -> None:
    assert labels(build({5: 1, 2: 2, 10: 3})) == ["[5]", "[2]", "[10]"]


def test_that_a_file_with_a_single_tensor_has_one_row() -> None:
    table = build(Tensor((4,)))
    assert labels(table) == ["tensor"]
    assert table.node[1] == 0
    assert list(table.row_of_node) == [1]
    assert table.elements[1] == table.elements[0] == 4


def test_that_an_empty_container_has_one_row() -> None:
    assert labels(build({})) == ["dict"]


def test_that_sums_count_a_tensor_with_several_names_once_in_every_row() -> None:
    table = build(
        {
            "model": {"embed": Tensor((10, 4), name="tied"), "head": Tensor((10, 4), name="tied"), "b": Tensor((3,))},
            "ema": {"embed": Tensor((10, 4), name="tied")},
        }
    )
    by_name = {"/".join(table.labels_to(row)): row for row in range(len(table))}
    sums = {name: (table.elements[row], table.nbytes[row], table.n_tensors[row]) for name, row in by_name.items()}
    assert sums[""] == (43, 172, 2)
    assert sums["model"] == (43, 172, 2)
    assert sums["ema"] == (40, 160, 1)
    assert sums["model/head"] == (40, 160, 1)


def test_that_the_parts_of_a_tensor_are_not_counted_as_further_elements() -> None:
    parts = (("indices", Tensor((2, 5), "int64")), ("values", Tensor((5,))))
    table = build({"sparse": Tensor((1000, 1000), stored=False, children=parts)})
    assert table.elements[0] == 1_000_000
    assert table.n_tensors[0] == 1
    assert table.nbytes[0] == 2 * 5 * 8 + 5 * 4


def test_that_sums_beyond_64_bits_are_exact() -> None:
    huge = Tensor((2**62, 8))
    table = build({"a": {"x": huge, "y": huge}})
    assert table.elements[0] == 2 * 8 * 2**62
    assert table.nbytes[0] == 4 * table.elements[0]


def test_that_very_many_siblings_are_shown_in_ranges() -> None:
    table = build({f"k{number}": number for number in range(2 * MAX_SIBLINGS + 5)})
    assert labels(table) == ["1 – 10,000", "10,001 – 20,000", "20,001 – 20,005"]
    assert labels(table, "20,001 – 20,005") == [f"k{number}" for number in range(20_000, 20_005)]
    assert not any(table.is_prefix(row) for row in table.ranges)


def test_that_a_group_knows_the_entries_it_holds_together() -> None:
    table = build(dict.fromkeys([*RESNET_BLOCK, "fc.weight"], Tensor()))
    row = table.row_at(["layer1"])
    assert row is not None
    keys = [table.checkpoint.nodes.key[node] for node in run(entries_task(table, row))]
    assert sorted(map(str, keys)) == sorted(RESNET_BLOCK)


def test_that_all_kinds_of_nodes_have_a_row() -> None:
    table = build({"p": Problem("cut short"), "l": Link(0), "o": Typed("m.Net", {"x": 1}, Kind.OBJECT), "s": [1]})
    assert sorted(node for node in table.node if node > 0) == list(range(1, len(table.checkpoint.nodes)))


_NAMES = st.lists(
    st.lists(st.sampled_from(["a", "b", "0", "1", "10", "weight"]), min_size=1, max_size=4).map(".".join),
    min_size=1,
    max_size=40,
    unique=True,
)


@settings(deadline=None, max_examples=200)
@given(names=_NAMES, natural=st.booleans())
def test_that_every_name_is_shown_once_and_reads_as_it_is(names: list[str], natural: bool) -> None:
    table = build({"m": dict.fromkeys(names, Tensor())}, natural=natural)
    spelled = [".".join(table.labels_to(row)[1:]) for row in range(len(table)) if table.node[row] > 1]
    assert sorted(spelled) == sorted(names)
    for row in range(1, len(table)):
        assert row in table.children(table.parent[row])
        assert table.parent[row] < row
    assert table.n_tensors[0] == len(names)


def test_that_40_000_tensors_are_laid_out_in_many_steps() -> None:
    checkpoint = experts(4, 1000)
    # How long a step takes is measured in benchmarks/gui_gaps.py.
    assert sum(1 for _ in build_task(checkpoint, DisplayOptions())) >= len(checkpoint.nodes) // 500


def test_that_very_many_siblings_are_ordered_in_many_steps() -> None:
    numbers = list(range(60_000))
    random.Random(1).shuffle(numbers)
    checkpoint = make_checkpoint({f"k{number}": None for number in numbers})
    assert sum(1 for _ in build_task(checkpoint, DisplayOptions())) >= len(numbers) // 500
    table = build(checkpoint)
    assert labels(table, "1 – 10,000")[:3] == ["k0", "k1", "k2"]


def test_that_laying_out_needs_no_qt() -> None:
    rooms = ", ".join(f"viewer.gui.tree.{name}" for name in ("layout", "filter", "cells", "expression"))
    code = f"import sys, {rooms}; assert 'PySide6' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 10**30), st.integers(0, 12)), min_size=1, max_size=30),
    st.booleans(),
)
def test_that_natural_order_is_the_order_of_the_numbers(parts: list[tuple[str, int, int]], padded: bool) -> None:
    names = [f"{word}{first:012}.{last}" if padded else f"{word}{first}.{last}" for word, first, last in parts]
    ordered = natural_order(names)
    assert sorted(ordered) == sorted(names)
    assert [name[0] for name in ordered] == [name[0] for name in names]
    for word in "ab":
        numbers = [(first, last) for letter, first, last in parts if letter == word]
        shown = [tuple(map(int, name[1:].split("."))) for name in ordered if name[0] == word]
        assert shown == sorted(numbers)
