"""A pair of models of 40,000 tensors: the window stays fluid, and what it shows is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gui.checkpoints import Tensor, make_checkpoint
from viewer.compare.comparison import Comparison
from viewer.compare.results import CompareOptions, Measures, PairResult, Status, ValueBatch
from viewer.compare.task import compare_structure
from viewer.gui.compare.cells import Column, cell
from viewer.gui.compare.layers import layers_task
from viewer.gui.compare.rollups import RollUps
from viewer.gui.compare.shown import Wanted, shown_task, texts_task, tree_order
from viewer.gui.compare.table import GROUP, WHOLE, CompareTable, build_task
from viewer.gui.compare.verdicts import DIFFERENCES
from viewer.gui.tree.display import DisplayOptions
from viewer.gui.tree.filter import parse_filter
from viewer.task import Task, run

LAYERS, PARTS = 4_000, ("attn.q", "attn.k", "attn.v", "attn.o", "mlp.up", "mlp.down", "ln1", "ln2", "ln3", "ln4")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Of each hundredth layer one tensor changed, by as much as its number."""
    names = {f"model.layers.{layer}.{part}.weight": Tensor((2, 3)) for layer in range(LAYERS) for part in PARTS}
    sides = [make_checkpoint(names, path) for path in ("/a.pth", "/b.pth")]
    found = Comparison(*sides, compare_structure(*sides, CompareOptions()))
    results = []
    for row in range(1, len(found.rows)):
        layer = (row - 1) // len(PARTS)
        changed = layer % 100 == 50 and (row - 1) % len(PARTS) == 3
        size = float(layer) if changed else 0.0
        measures = Measures(
            6, 6, int(changed), int(changed), size, 0, size, 0, size, size, None, None, None, 1.0, 1.0, size,
            size / 1e4, 1.0, None, (), 0,
        )  # fmt: skip
        status = Status.CHANGED if changed else Status.IDENTICAL
        results.append(PairResult(row, status, not changed, not changed, measures))
    found.add(ValueBatch(results))
    return found


@pytest.fixture(scope="module")
def table(comparison: Comparison) -> CompareTable:
    return run(build_task(comparison, DisplayOptions()))


@pytest.fixture(scope="module")
def rollups(table: CompareTable) -> RollUps:
    return run(RollUps(table).fill_task())


def steps_of(task: Task[object]) -> int:
    """Between how many steps the window could paint."""
    return sum(1 for _ in task)


def test_that_the_work_comes_in_many_steps(table: CompareTable, rollups: RollUps) -> None:
    texts = run(texts_task(table))
    wanted = Wanted(DIFFERENCES, by=Column.REL_NORM)
    for task in (
        build_task(table.comparison, DisplayOptions()),
        RollUps(table).fill_task(),
        texts_task(table),
        shown_task(table, rollups, wanted, texts),
        layers_task(table),
    ):
        assert steps_of(task) > 10


def test_that_a_closed_group_sums_up_what_is_inside(table: CompareTable, rollups: RollUps) -> None:
    top = [entry for entry in table.children(0) if entry != WHOLE]
    assert [table.label[entry] for entry in top] == ["model.layers"]
    assert table.row[top[0]] == GROUP
    assert cell(table, rollups, top[0], Column.VERDICT) == "≠ 40 changed"
    assert cell(table, rollups, top[0], Column.MAX_ABS) == "3,950"
    assert cell(table, rollups, top[0], Column.SHARE) == "0.0167 %"
    assert rollups.counts(WHOLE)[Status.IDENTICAL] == LAYERS * len(PARTS) - 40
    names = [table.label[entry] for entry in table.children(top[0])][:12]
    assert names == [str(number) for number in range(12)]


def test_that_sorting_puts_what_changed_most_first(table: CompareTable, rollups: RollUps) -> None:
    shown = run(shown_task(table, rollups, Wanted(by=Column.MAX_ABS), ()))
    leaves = [entry for entry in tree_order(shown) if entry and table.row[entry] > 0]
    assert table.name_of(leaves[0]) == "model.layers.3950.attn.o.weight"
    assert len(leaves) == LAYERS * len(PARTS)
    for position in range(1, len(shown.entries)):
        assert shown.positions[shown.entries[position]] == position


def test_that_chips_and_names_leave_what_they_say(table: CompareTable, rollups: RollUps) -> None:
    texts = run(texts_task(table))
    wanted = Wanted(DIFFERENCES, parse_filter("layers.250.attn"))
    shown = run(shown_task(table, rollups, wanted, texts))
    leaves = [table.name_of(entry) for entry in tree_order(shown) if entry and table.row[entry] > 0]
    assert leaves == ["model.layers.250.attn.o.weight"]
    assert shown.n_matches == 1


def test_that_layers_are_told_in_the_order_of_the_model(table: CompareTable) -> None:
    layers = run(layers_task(table))
    changed = [layer for layer in layers if layer.changed]
    assert [layer.name for layer in changed[:2]] == ["model.layers.50.attn.o", "model.layers.150.attn.o"]
    assert sum(layer.is_frozen for layer in layers) == len(layers) - 40


def test_that_siblings_beyond_ten_thousand_stand_in_ranges() -> None:
    names = {f"w{number}": Tensor((1,)) for number in range(10_001)}
    sides = [make_checkpoint(names, Path(path)) for path in ("/a.pth", "/b.pth")]
    found = Comparison(*sides, compare_structure(*sides, CompareOptions()))
    table = run(build_task(found, DisplayOptions()))
    assert [table.label[entry] for entry in table.children(0)] == ["Overview", "1 – 10,000", "10,001 – 10,001"]
