"""Small tables and lists: models that Qt's tester accepts, exact copies, harmless tips."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication, Qt, QTextDocument
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.cell import Cell
from viewer.gui.details.cell_table import CellModel, CellTable
from viewer.gui.details.facts import Fact, size_fact
from viewer.gui.details.node_list import NodeList, NodeModel
from viewer.gui.details.tips import plain_tip
from viewer.gui.theme import Theme

FACTS = [Fact("device", "cuda:0"), size_fact("size", 147_456)]


@pytest.fixture
def holder(qtbot: QtBot) -> QWidget:
    holder = QWidget()
    qtbot.addWidget(holder)
    return holder


@pytest.fixture
def table(qtbot: QtBot, theme: Theme) -> CellTable:
    table = CellTable(theme, "Facts")
    qtbot.addWidget(table)
    table.show_facts(FACTS)
    table.resize(400, 100)
    table.show()
    return table


def test_that_the_table_model_keeps_qts_rules(holder: QWidget, theme: Theme) -> None:
    model = CellModel(theme, holder)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.set_rows([(Cell("a"), Cell("1", right=True))] * 3, ("name", "n"))
    model.set_rows([])
    model.set_rows([(Cell("b"),)])
    assert model.rowCount() == 1
    assert tester.model() is model


def test_that_the_list_model_keeps_qts_rules(holder: QWidget, theme: Theme, checkpoint: Checkpoint) -> None:
    model = NodeModel(theme, holder)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.set_nodes(checkpoint, range(5))
    model.set_nodes(None, ())
    assert model.rowCount() == 0
    assert tester.model() is model


def test_that_a_selected_cell_copies_its_exact_value(table: CellTable, qtbot: QtBot) -> None:
    table.setFocus()
    table.setCurrentIndex(table.model().index(1, 1))
    table.copy_selected()
    assert QGuiApplication.clipboard().text() == "147,456 bytes"
    table.copy_all()
    assert QGuiApplication.clipboard().text() == "device\tcuda:0\nsize\t147,456 bytes\n"


def test_that_a_table_is_as_high_as_its_rows(table: CellTable) -> None:
    one_row = table.sizeHint().height() // 2
    table.show_facts(FACTS * 5)
    assert table.sizeHint().height() == 10 * one_row


def test_that_a_list_of_many_nodes_scrolls_by_itself(qtbot: QtBot, theme: Theme, checkpoint: Checkpoint) -> None:
    nodes = NodeList(theme, "Nodes")
    qtbot.addWidget(nodes)
    nodes.show_nodes(checkpoint, range(3))
    few = nodes.sizeHint().height()
    nodes.show_nodes(checkpoint, [1] * 100_000)
    assert few < nodes.sizeHint().height() < 300


@pytest.mark.parametrize("text", ["model/weight", "<b>bold</b>", "<img src='file:///etc/passwd'>", "a\n<i>b</i>"])
def test_that_markup_in_a_name_is_not_markup_in_a_tip(text: str) -> None:
    tip = plain_tip(text)
    document = QTextDocument()
    if tip.startswith("<qt>"):
        document.setHtml(tip)
    else:
        document.setPlainText(tip)
        assert not Qt.mightBeRichText(tip)
    assert document.toPlainText() == text


def test_that_a_giant_tip_is_cut() -> None:
    assert len(plain_tip("x" * 10**6)) < 3000
