"""The Overview page of a whole file: what it is, where its bytes go, and rows that lead to what they name."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from tests.gui.scripted_client import ScriptedClient
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import Label, Recognition
from viewer.errors import MalformedFile
from viewer.gui.details.cell import Cell
from viewer.gui.details.jump_table import JumpRow, JumpTable
from viewer.gui.details.overview import OverviewPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.recognition import RecognitionStore
from viewer.gui.theme import Theme


@pytest.fixture
def scripted() -> ScriptedClient:
    return ScriptedClient()


@pytest.fixture
def store(scripted: ScriptedClient, qtbot: QtBot, qapp: object) -> RecognitionStore:
    bridge = EngineBridge(scripted, scripted.mailbox)
    return RecognitionStore(bridge, bridge)


@pytest.fixture
def page(qtbot: QtBot, theme: Theme, store: RecognitionStore) -> OverviewPage:
    page = OverviewPage(theme)
    page.set_recognition(store)
    qtbot.addWidget(page)
    page.resize(800, 700)
    page.show()
    return page


def test_that_the_page_says_what_the_file_is_once_that_is_known(
    page: OverviewPage, store: RecognitionStore, scripted: ScriptedClient, checkpoint: Checkpoint, qtbot: QtBot
) -> None:
    store.ask(1)
    page.show_node(checkpoint, 0)
    assert page.parts.what.text() == "looking …"
    model = checkpoint.find("model")
    with qtbot.waitSignal(store.changed):
        scripted.answer(1, Recognition("training checkpoint", {model: Label("model state_dict", True, "_metadata")}))
    assert page.parts.what.text() == "training checkpoint"
    assert page.parts.labels.texts() == [("model", "model state_dict", "● known", "_metadata")]
    page.show_node(checkpoint, model)
    assert page.parts.isHidden()
    assert page.whole.isHidden()


def test_that_a_file_in_which_nothing_is_recognised_says_so(
    page: OverviewPage, store: RecognitionStore, scripted: ScriptedClient, checkpoint: Checkpoint, qtbot: QtBot
) -> None:
    page.show_node(checkpoint, 0)
    store.ask(1)
    with qtbot.waitSignal(store.changed):
        scripted.answer(1, Recognition())
    assert page.parts.what.text().startswith("Neither a model nor an optimizer")
    assert page.parts.labels.isHidden()


def test_that_a_recognition_that_failed_says_why(
    page: OverviewPage, store: RecognitionStore, scripted: ScriptedClient, checkpoint: Checkpoint, qtbot: QtBot
) -> None:
    page.show_node(checkpoint, 0)
    store.ask(1)
    with qtbot.waitSignal(store.changed):
        scripted.fail(1, MalformedFile("the file changed"))
    assert page.parts.what.text() == "It could not be found out: the file changed"


def test_that_a_click_on_a_large_tensor_asks_to_go_there(
    page: OverviewPage, checkpoint: Checkpoint, qtbot: QtBot
) -> None:
    page.show_node(checkpoint, 0)
    table = page.whole.largest
    assert table.texts()[0][0] in ("model/fc.weight", "model/fc.transposed")
    at = table.visualRect(table.model().index(0, 0)).center()
    with qtbot.waitSignal(page.node_requested) as asked:
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert asked.args == [checkpoint.find(table.texts()[0][0])]


def test_that_return_goes_where_a_row_leads_and_rows_that_lead_nowhere_stay(
    page: OverviewPage, checkpoint: Checkpoint, qtbot: QtBot
) -> None:
    page.show_node(checkpoint, 0)
    gone: list[object] = []
    page.node_requested.connect(gone.append)
    table = page.whole.largest
    table.show_jumps([JumpRow((Cell("a"),), 5, 0.25), JumpRow((Cell("b"),), None, 1.0)], ("name",))
    table.setFocus()
    for row in (0, 1):
        table.setCurrentIndex(table.model().index(row, 0))
        qtbot.keyClick(table, Qt.Key.Key_Return)
    assert gone == [5]


def test_that_a_narrow_table_leaves_out_bars_before_it_cuts_the_names(qtbot: QtBot, theme: Theme) -> None:
    table = JumpTable(theme, "Rows")
    qtbot.addWidget(table)
    table.resize(900, 200)
    table.show()
    cells = (Cell("model/layers.0.attention.weight"), Cell("f32", muted=True), Cell("4096×4096", right=True))
    table.show_jumps([JumpRow(cells, 1, 0.5)], ("name", "dtype", "shape"), optional=(1,))
    assert not table.isColumnHidden(3)
    wide = table.columnWidth(0)
    table.resize(330, 200)
    assert table.isColumnHidden(3)
    assert table.isColumnHidden(1)
    table.resize(900, 200)
    assert not table.isColumnHidden(1)
    assert table.columnWidth(0) == wide


def test_that_bars_are_as_long_as_their_shares(qtbot: QtBot, theme: Theme) -> None:
    table = JumpTable(theme, "Rows")
    qtbot.addWidget(table)
    table.resize(600, 200)
    table.show()
    table.show_jumps([JumpRow((Cell("a"),), None, 1.0), JumpRow((Cell("b"),), None, 0.5)], ("name",))
    image = table.viewport().grab().toImage()
    accent = theme.color("accent").rgb()
    lengths = []
    for row in (0, 1):
        rect = table.visualRect(table.model().index(row, 1))
        y = QPoint(rect.center()).y()
        lengths.append(sum(image.pixel(x, y) == accent for x in range(rect.left(), rect.right())))
    assert lengths[0] > 100
    assert abs(lengths[0] / 2 - lengths[1]) <= 2
