"""What a filter leaves, without Qt."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gui.checkpoints import Tensor, experts, make_checkpoint
from tests.gui.test_tree_layout import build
from viewer import open_checkpoint
from viewer.checkpoint.meaning.recognise import recognise_task
from viewer.gui.meaning.marks import Marks
from viewer.gui.tree.display import DisplayTable
from viewer.gui.tree.filter import BadFilter, Shape, filter_task, parse_filter, texts_task, whole
from viewer.task import run

TREE = {
    "model": {
        "layer1.0.conv1.weight": Tensor(),
        "layer1.0.conv1.bias": Tensor(dtype="float16"),
        **{f"layer1.{block}.conv2.weight": Tensor() for block in range(1, 15)},
        "Head.Weight": Tensor(dtype="int64"),
    },
    "optimizer": {"state": {0: {"exp_avg": Tensor()}}},
    "epoch": 3,
}


def filtered(table: DisplayTable, text: str, dtype: str = "") -> Shape:
    return run(filter_task(table, run(texts_task(table)), parse_filter(text, dtype)))


def paths(table: DisplayTable, shape: Shape) -> set[str]:
    return {"/".join(table.labels_to(row)) for row in shape.rows}


def test_that_a_filter_leaves_matches_and_what_they_stand_in() -> None:
    table = build(TREE)
    shape = filtered(table, "exp_avg")
    assert paths(table, shape) == {
        "",
        "optimizer",
        "optimizer/state",
        "optimizer/state/[0]",
        "optimizer/state/[0]/exp_avg",
    }
    assert shape.n_matches == 1


def test_that_everything_inside_a_match_matches() -> None:
    table = build(TREE)
    assert paths(table, filtered(table, "optimizer")) == paths(table, filtered(table, "exp_avg"))


def test_that_names_match_over_the_groups_they_are_folded_into() -> None:
    table = build(TREE)
    shape = filtered(table, "model/layer1.0.conv1.weight")
    assert [table.label[row] for row in shape.rows][-1].endswith("conv1.weight")
    assert shape.n_matches == 1


def test_that_case_does_not_matter_and_all_words_must_match() -> None:
    table = build(TREE)
    assert filtered(table, "head WEIGHT").n_matches == 1
    assert filtered(table, "weight conv2 layer1.1.").n_matches == 1
    assert filtered(table, "head bias").n_matches == 0


def test_that_text_between_slashes_is_a_regular_expression() -> None:
    table = build(TREE)
    assert filtered(table, r"/conv[12]\.bias$/").n_matches == 1
    assert filtered(table, "/^epoch$/").n_matches == 1
    assert filtered(table, "//").n_matches is None
    assert filtered(table, "/").n_matches == sum("/" in text for text in run(texts_task(table)))


def test_that_a_dtype_leaves_the_tensors_that_have_it() -> None:
    table = build(TREE)
    shape = filtered(table, "", "int64")
    assert paths(table, shape) == {"", "model", "model/Head.Weight"}
    assert filtered(table, "conv1", "float16").n_matches == 1
    assert filtered(table, "conv1", "int64").n_matches == 0


def test_that_an_empty_filter_leaves_everything() -> None:
    table = build(TREE)
    shape = filtered(table, "  ")
    assert shape.n_matches is None
    assert len(shape) == len(table)
    assert shape.position_of(3) == 3


def test_that_positions_are_found_by_rows() -> None:
    table = build(TREE)
    shape = filtered(table, "conv2")
    for position, row in enumerate(shape.rows):
        assert shape.position_of(row) == position
    assert shape.position_of(len(table) - 1) is None


@pytest.mark.parametrize("text", ["/(/", "/[/", "/*/", "/(a+)+$/", "/((ab)*)*c/", "/(x{1,9})+/", "/(a*)*/"])
def test_that_a_regular_expression_that_cannot_work_is_refused_in_words(text: str) -> None:
    with pytest.raises(BadFilter, match=r"repeat|regular expression"):
        parse_filter(text)


@settings(deadline=None, max_examples=200)
@given(
    names=st.lists(st.text("ab.1", min_size=1, max_size=6), min_size=1, max_size=30, unique=True),
    query=st.text("ab.1", min_size=1, max_size=3),
)
def test_that_a_filter_finds_what_a_plain_search_finds(names: list[str], query: str) -> None:
    table = build(make_checkpoint({"m": dict.fromkeys(names, Tensor())}))
    shape = filtered(table, query)
    found = {table.checkpoint.nodes.key[table.node[row]] for row in shape.rows if table.node[row] > 1}
    hits = {name for name in names if query in f"m/{name}"}
    assert found == hits
    for position in range(1, len(shape)):
        parent = shape.parent[position]
        assert shape.rows[parent] == table.parent[shape.rows[position]]
        assert shape.first_child[parent] <= position < shape.first_child[parent] + shape.n_children[parent]


def test_that_a_search_in_44_000_rows_is_made_in_steps() -> None:
    table = build(experts(4, 1000))
    texts = run(texts_task(table))
    for text in ("p3.weight", "e", "/p[12]\\.weight$/"):
        spec = parse_filter(text)
        assert sum(1 for _ in filter_task(table, texts, spec)) >= 3


def test_that_the_whole_shape_shares_the_columns_of_its_table() -> None:
    table = build(TREE)
    assert whole(table).parent is table.parent


def test_that_states_of_an_optimizer_are_found_by_the_parameter_s_name(tmp_path: Path) -> None:
    names = ["body.weight", "body.bias", "head.weight"]
    state = {n: {"exp_avg": torch.ones(n + 1), "exp_avg_sq": torch.ones(n + 1)} for n in range(3)}
    group = {"lr": 0.1, "params": [0, 1, 2], "param_names": names}
    model = {name: torch.ones(n + 1) for n, name in enumerate(names)}
    torch.save({"model": model, "optimizer": {"state": state, "param_groups": [group]}}, tmp_path / "file.pth")
    checkpoint = open_checkpoint(tmp_path / "file.pth")
    table = build(checkpoint)
    assert filtered(table, "head.weight exp_avg").n_matches == 0
    table.marks = Marks(checkpoint, run(recognise_task(checkpoint)))
    inside = {"", "optimizer", "optimizer/state", "optimizer/state/[2]"}
    assert paths(table, filtered(table, "head.weight exp_avg_sq")) == inside | {"optimizer/state/[2]/exp_avg_sq"}
    assert filtered(table, "/head.weight$/").n_matches == 2  # the parameter and its state
    assert filtered(table, "/state.2..exp_avg$/").n_matches == 1  # by its own path still
    assert filtered(table, "state/body").n_matches == 6
