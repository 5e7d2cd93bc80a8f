"""The item model under Qt's own tester."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import Link, Problem, Tensor, make_checkpoint
from tests.gui.test_tree_layout import build
from viewer.gui.tree.cells import Column
from viewer.gui.tree.filter import filter_task, parse_filter, texts_task
from viewer.gui.tree.model import TreeModel
from viewer.task import run

TREE = {
    "model": {f"layer{layer}.{part}.weight": Tensor() for layer in range(4) for part in ("q", "k")},
    "groups": [{"lr": 0.1}, {"lr": 0.2}],
    "broken": Problem("cut short"),
    "again": Link(1),
    "epoch": 3,
}


def make_model(root: object = TREE) -> TreeModel:
    checkpoint = make_checkpoint(root)
    model = TreeModel(checkpoint)
    model.set_table(build(checkpoint))
    return model


def test_that_the_model_keeps_the_rules_of_qt_while_it_is_filled_and_filtered(qtbot: QtBot) -> None:
    model = TreeModel(make_checkpoint(TREE))
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    assert model.rowCount() == 0
    table = build(model.table.checkpoint)
    model.set_table(table)
    assert model.rowCount() == 5
    texts = run(texts_task(table))
    for text in ("weight", "layer2", "nothing has this", "lr", ""):
        model.set_shape(run(filter_task(table, texts, parse_filter(text))))
    model.set_table(build(model.table.checkpoint, grouped=False))
    assert tester.model() is model


def test_that_each_row_is_found_where_the_table_has_it(qtbot: QtBot) -> None:
    model = make_model()
    table = model.table
    for row in range(1, len(table)):
        index = model.index_of(row)
        assert model.row_of(index) == row
        assert model.row_of(model.parent(index)) == table.parent[row]
        assert index.data() == table.label[row]
        assert model.rowCount(index) == table.n_children[row]
    assert not model.index_of(0).isValid()


def test_that_figures_are_aligned_to_the_right_and_names_to_the_left(qtbot: QtBot) -> None:
    model = make_model()
    role = Qt.ItemDataRole.TextAlignmentRole
    for column in Column:
        side = Qt.AlignmentFlag.AlignLeft if column == Column.NAME else Qt.AlignmentFlag.AlignRight
        assert model.index(0, column).data(role) & side
        assert model.headerData(column, Qt.Orientation.Horizontal, role) & side


def test_that_a_problem_is_read_aloud(qtbot: QtBot) -> None:
    model = make_model({"broken": Problem("cut short")})
    assert model.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole) == "broken, cut short"


def test_that_invalid_indexes_have_nothing(qtbot: QtBot) -> None:
    model = make_model()
    assert model.data(QModelIndex()) is None
    assert not model.parent(QModelIndex()).isValid()
    assert not model.index(99, 0).isValid()
    assert not model.index(0, len(Column)).isValid()
    assert model.rowCount(model.index(0, Column.SIZE)) == 0
