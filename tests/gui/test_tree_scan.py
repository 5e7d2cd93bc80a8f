"""What a scan finds, in the model of the tree: cells, ranges of change, sums of NaN, filters and orders."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import Tensor, experts, make_checkpoint
from tests.gui.scan_rows import scan_row_of
from tests.gui.test_tree_layout import build
from viewer.gui.scan_troubles import ANY_TROUBLE, Trouble
from viewer.gui.tree.cells import cell, tooltip
from viewer.gui.tree.columns import SCANNED, Column
from viewer.gui.tree.display import DisplayTable
from viewer.gui.tree.filter import filter_task, parse_filter, texts_task, whole
from viewer.gui.tree.model import TreeModel
from viewer.gui.tree.order import MAX_LISTED, Order, next_order, order_task
from viewer.gui.tree.value_filter import take_conditions
from viewer.task import run
from viewer.tensors.scan_results import ScanRow

VALUES = {
    "a.0.weight": np.array([[1.0, -2.0], [np.nan, np.nan]]),
    "a.0.bias": np.array([0.25, 0.5]),
    "a.1.weight": np.array([[5.0, 5.0], [5.0, 6.0]]),
    "a.1.bias": np.zeros(2),
    "b.weight": np.array([1e30, -np.inf]),
    "frozen": np.full(3, 7.0),
}
SCAN = {number: scan_row_of(number, values) for number, values in enumerate(VALUES.values())}


def make_table() -> DisplayTable:
    table = build({"model": {name: Tensor(values.shape) for name, values in VALUES.items()}, "epoch": 3})
    table.scan = SCAN
    return table


def row_named(table: DisplayTable, path: str) -> int:
    return table.row_of_node[table.checkpoint.find(path)]


def left_by(table: DisplayTable, text: str, troubles: Trouble = Trouble(0)) -> set[str]:  # noqa: B008
    shape = run(filter_task(table, run(texts_task(table)), parse_filter(text, "", troubles)))
    return {
        str(table.checkpoint.nodes.key[table.node[row]])
        for row in shape.rows
        if row and table.tensor(row) is not None
    }


def test_that_cells_show_figures_and_hovering_tells_them_exactly() -> None:
    table = make_table()
    row = row_named(table, "model/a.0.weight")
    assert cell(table, row, Column.MIN) == "−2"
    assert cell(table, row, Column.NAN) == "⚠ 2"
    assert tooltip(table, row, Column.NAN) == "2 of 4 elements"
    assert tooltip(table, row, Column.MEAN) == "-0.5"
    assert cell(table, row, Column.ZEROS) == "0"
    bias = row_named(table, "model/a.1.bias")
    assert (cell(table, bias, Column.ZEROS), cell(table, bias, Column.NAN)) == ("2", "0")
    inf = row_named(table, "model/b.weight")
    assert tooltip(table, inf, Column.INF) == "0 +inf, 1 −inf"


def test_that_what_is_not_scanned_yet_says_so_in_every_cell() -> None:
    table = make_table()
    table.scan = {}
    row = row_named(table, "model/frozen")
    for column in SCANNED:
        assert cell(table, row, column) == "…"
        assert tooltip(table, row, column) == "Not scanned yet"
        assert cell(table, row_named(table, "epoch"), column) == ""


def test_that_a_tensor_that_cannot_be_read_has_dashes_and_the_reason() -> None:
    table = make_table()
    table.scan = {0: ScanRow(0, problem="the record is short")}
    row = row_named(table, "model/a.0.weight")
    assert {cell(table, row, column) for column in SCANNED} == {"–"}
    assert tooltip(table, row, Column.MAX) == "the record is short"


def test_that_an_empty_tensor_has_dashes_and_says_why() -> None:
    table = make_table()
    table.scan = {0: scan_row_of(0, np.zeros((0, 3)))}
    row = row_named(table, "model/a.0.weight")
    assert (cell(table, row, Column.MAX), cell(table, row, Column.NAN)) == ("–", "0")
    assert tooltip(table, row, Column.MAX) == "The tensor is empty"


def test_that_the_model_tells_what_came_as_ranges_and_keeps_the_rules_of_qt(qtbot: QtBot) -> None:
    checkpoint = make_checkpoint({"model": {f"l.{n}.w": Tensor() for n in range(30)}})
    model = TreeModel(checkpoint)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.set_table(build(checkpoint))
    scan: dict[int, ScanRow] = {}
    model.take_scan(scan)
    changes: list[tuple[int, int, int, int]] = []
    model.dataChanged.connect(
        lambda first, last: changes.append((first.row(), last.row(), first.column(), last.column()))
    )
    for number in (*range(5), *range(10, 12)):
        scan[number] = scan_row_of(number, np.array([float(number), 1.0]))
    model.scan_came([0, 1, 2, 3, 4, 10, 11])
    assert changes == [(0, 4, SCANNED[0], SCANNED[-1]), (10, 11, SCANNED[0], SCANNED[-1])]
    parent = model.index(0, 0)
    while model.rowCount(parent) != 30:
        parent = model.index(0, 0, parent)
    assert model.index(4, Column.MAX, parent).data() == "4"
    assert tester.model() is model


def test_that_nan_are_added_up_in_the_rows_above_each_tensor_once() -> None:
    tied = Tensor((2,), name="tied")
    checkpoint = make_checkpoint({"x": {"a": tied, "b": {"c": tied}}, "y": {"d": Tensor((3,))}})
    model = TreeModel(checkpoint)
    model.set_table(build(checkpoint))
    scan = {0: scan_row_of(0, np.array([np.nan, 1.0])), 1: scan_row_of(1, np.full(3, np.nan))}
    model.take_scan(scan)
    table = model.table
    shown = {label: cell(table, row, Column.NAN) for row, label in enumerate(table.label)}
    numbers = {n: checkpoint.tensors.shape[n] for n in range(len(checkpoint.tensors))}
    assert numbers == {0: (2,), 1: (3,)} or numbers == {0: (3,), 1: (2,)}
    by_shape = {shape: scan[n].nan for n, shape in numbers.items()}
    assert shown["x"] == f"⚠ {by_shape[(2,)]}"
    assert shown["b"] == f"⚠ {by_shape[(2,)]}"
    assert shown["y"] == f"⚠ {by_shape[(3,)]}"
    model.take_scan(scan)
    assert cell(table, table.row_at(["x"]) or 0, Column.NAN) == f"⚠ {by_shape[(2,)]}"
    model.take_scan({})
    assert cell(table, table.row_at(["x"]) or 0, Column.NAN) == ""


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("has:nan", {"a.0.weight"}),
        ("has:inf", {"b.weight"}),
        ("is:zero", {"a.1.bias"}),
        ("is:constant", {"a.1.bias", "frozen"}),
        ("is:dead", {"a.1.weight"}),
        ("|x|>6.5", {"frozen", "b.weight"}),
        ("|x| > 1e31", {"b.weight"}),
        ("max<=0.5", {"a.0.bias", "a.1.bias"}),
        ("min<-1", {"a.0.weight"}),
        ("min<−1", {"a.0.weight"}),
        ("std=0", {"a.1.bias", "frozen", "b.weight"}),
        ("zeros≥2 bias", {"a.1.bias"}),
        ("nan>0 mean<0", {"a.0.weight"}),
        ("mean>0 weight is:dead", {"a.1.weight"}),
        ("is:unknown", set()),
        ("norm>6 norm<20", {"a.1.weight", "frozen"}),
    ],
)
def test_that_conditions_on_values_leave_the_tensors_that_are_so(text: str, left: set[str]) -> None:
    assert left_by(make_table(), text) == left


def test_that_the_choice_of_troubles_leaves_those_that_have_any_of_them() -> None:
    assert left_by(make_table(), "", Trouble.NAN | Trouble.INF) == {"a.0.weight", "b.weight"}
    assert left_by(make_table(), "a", Trouble.NAN | Trouble.INF) == {"a.0.weight"}
    assert left_by(make_table(), "/^model.a/", ANY_TROUBLE) == {"a.0.weight", "a.1.weight", "a.1.bias"}


def test_that_a_condition_on_values_matches_nothing_that_is_not_scanned() -> None:
    table = make_table()
    table.scan = {5: SCAN[5]}
    assert left_by(table, "|x|>=0") == {"frozen"}


@pytest.mark.parametrize("text", ["max", "x>3y", "mean>", "max>1e9999", "a|x|>3", "has:", "max > > 3", "layer.max>3"])
def test_that_what_is_no_condition_stays_a_word(text: str) -> None:
    rest, values = take_conditions(text)
    assert values.is_empty
    assert rest.split() == text.split()


def ordered(table: DisplayTable, order: Order) -> list[str]:
    shape = run(order_task(table, whole(table), order))
    return [table.checkpoint.path_of(table.node[row]).removeprefix("model/") for row in shape.rows[1:]]


def test_that_an_order_lists_the_tensors_and_puts_those_without_the_figure_last() -> None:
    table = make_table()
    table.scan = {number: row for number, row in SCAN.items() if number != 5}
    down = ordered(table, Order(Column.MAX, descending=True))
    assert down == ["b.weight", "a.1.weight", "a.0.weight", "a.0.bias", "a.1.bias", "frozen"]
    up = ordered(table, Order(Column.MAX, descending=False))
    assert up == [*reversed(down[:-1]), "frozen"]
    assert ordered(table, Order(Column.ELEMENTS, descending=True))[:2] == ["a.0.weight", "a.1.weight"]


def test_that_a_third_click_on_a_head_gives_the_tree_back() -> None:
    first = next_order(None, Column.MAX)
    assert first == Order(Column.MAX, descending=True)
    second = next_order(first, Column.MAX)
    assert second == Order(Column.MAX, descending=False)
    assert next_order(second, Column.MAX) is None
    assert next_order(first, Column.MIN) == Order(Column.MIN, descending=True)
    assert next_order(None, Column.TYPE) == Order(Column.TYPE, descending=False)
    assert next_order(first, Column.NAME) is None
    assert next_order(first, Column.HISTOGRAM) == first


def test_that_a_list_in_an_order_keeps_the_rules_of_qt_and_shows_paths(qtbot: QtBot) -> None:
    table = make_table()
    model = TreeModel(table.checkpoint)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.set_table(table)
    order = Order(Column.MAX, descending=True)
    shape = run(order_task(table, whole(table), order))
    model.set_shape(shape, order)
    assert model.rowCount() == 6
    assert model.index(0, 0).data() == "model/b.weight"
    assert not model.parent(model.index(2, 0)).isValid()
    assert model.headerData(Column.MAX, Qt.Orientation.Horizontal) == "max ↓"
    for position in range(1, 7):
        assert shape.position_of(shape.rows[position]) == position
    assert shape.position_of(1) is None
    model.set_shape(whole(table))
    assert model.headerData(Column.MAX, Qt.Orientation.Horizontal) == "max"
    assert tester.model() is model


def test_that_ordering_a_large_file_takes_many_steps_and_lists_no_more_than_can_be_laid_out() -> None:
    checkpoint = experts(20, 300)
    table = build(checkpoint)
    rng = np.random.default_rng(0)
    table.scan = {n: ScanRow(n, count=1, max=float(x)) for n, x in enumerate(rng.random(len(checkpoint.tensors)))}
    shape = run(order_task(table, whole(table), Order(Column.MAX, descending=True)))
    assert shape.n_matches == len(checkpoint.tensors)
    assert len(shape) == min(MAX_LISTED, len(checkpoint.tensors)) + 1
    figures = [table.scan[table.tensor(row) or 0].max or 0.0 for row in shape.rows[1:]]
    assert figures == sorted((row.max or 0.0 for row in table.scan.values()), reverse=True)[:MAX_LISTED]
    assert sum(1 for _ in order_task(table, whole(table), Order(Column.MAX, descending=True))) >= 40
