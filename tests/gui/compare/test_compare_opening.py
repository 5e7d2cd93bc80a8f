"""The ways to a comparison: two files opened together, two rows, a tab, a drop on a side, the dialog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import QItemSelectionModel, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.gui.compare.pages import PATIENCE_MS
from viewer.gui.compare.dialog import CompareDialog
from viewer.gui.compare.page import ComparePage
from viewer.gui.compare.session import Side
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.window import MainWindow


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    live = {"fc.weight": torch.ones(2, 3)}
    torch.save({"model": live, "ema": {"fc.weight": torch.zeros(2, 3)}}, tmp_path / "a.pth")
    torch.save({"model": live}, tmp_path / "b.pth")
    return tmp_path / "a.pth", tmp_path / "b.pth"


@pytest.fixture
def window(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, settings: Settings) -> Iterator[MainWindow]:
    """A window over a real engine."""
    window = MainWindow(engine_bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    yield window
    window.close()


def opened(qtbot: QtBot, window: MainWindow, *paths: Path) -> list[DocumentPage]:
    """The documents, with their trees laid out."""
    window.documents.open_paths(paths)
    pages = window.documents.pages
    qtbot.waitUntil(
        lambda: all(page.tree is not None and len(page.tree.model.table) > 1 for page in pages), timeout=20_000
    )
    return pages


def in_front(qtbot: QtBot, window: MainWindow) -> ComparePage:
    """The comparison in front, complete."""
    page = window.documents.comparison
    assert page is not None
    qtbot.waitUntil(lambda: page.comparison is not None and page.comparison.overview is not None, timeout=PATIENCE_MS)
    return page


def test_that_two_files_opened_together_are_offered_for_comparison(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]
) -> None:
    opened(qtbot, window, *files)
    (message,) = window.messages.messages
    assert (message.text, message.action) == ("a.pth and b.pth are open in tabs", "Compare them")
    assert message.on_action is not None
    message.on_action()
    assert in_front(qtbot, window).sides == (Side(files[0]), Side(files[1]))
    assert window.documents.tabText(2) == "a.pth ⇄ b.pth"


def test_that_one_file_alone_offers_nothing(qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]) -> None:
    opened(qtbot, window, files[0])
    assert window.messages.messages == []


def test_that_two_rows_of_a_document_are_compared(qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]) -> None:
    (page,) = opened(qtbot, window, files[0])
    assert page.tree is not None
    window.actions_by_id["compare_selected"].trigger()
    assert "Select two rows first" in window.messages.messages[0].text
    page.tree.go_to_path("model")
    select = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    assert page.checkpoint is not None
    row = page.tree.model.table.row_of_node[page.checkpoint.find("ema")]
    page.tree.view.selectionModel().select(page.tree.model.index_of(row), select)
    assert "compare_selected" in [action.objectName() for action in page.tree.make_menu().actions()]
    window.actions_by_id["compare_selected"].trigger()
    assert in_front(qtbot, window).sides == (Side(files[0], "model"), Side(files[0], "ema"))
    assert window.documents.tabText(1) == "model ⇄ ema"


def test_that_a_row_is_offered_against_a_part_of_another_file(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]
) -> None:
    opened(qtbot, window, *files)
    window.documents.setCurrentIndex(0)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    page.tree.go_to_path("ema")
    window.actions_by_id["compare_this"].trigger()
    dialog = window.findChild(CompareDialog)
    assert dialog is not None
    assert dialog.sides() == (Side(files[0], "ema"), Side(files[1]))
    dialog.right_part.setText("model")
    dialog.accept()
    assert in_front(qtbot, window).sides == (Side(files[0], "ema"), Side(files[1], "model"))


def test_that_a_side_is_not_compared_with_itself(qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]) -> None:
    opened(qtbot, window, files[0])
    window.actions_by_id["compare"].trigger()
    dialog = window.findChild(CompareDialog)
    assert dialog is not None
    assert not dialog.go.isEnabled()
    dialog.right.setEditText(str(files[0]))
    assert not dialog.go.isEnabled()
    assert "Both sides are the same" in dialog.hint.text()
    dialog.right_part.setText("model")
    assert dialog.go.isEnabled()
    dialog.reject()


def test_that_a_tab_offers_to_compare_it_with_the_others(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]
) -> None:
    opened(qtbot, window, *files)
    menu = window.documents.make_tab_menu(0)
    texts = [action.text() for action in menu.actions()]
    assert texts == ["Compare with…", "Compare with b.pth", "", "Close"]
    menu.actions()[1].trigger()
    assert in_front(qtbot, window).sides == (Side(files[0]), Side(files[1]))


def test_that_a_file_dropped_on_a_side_takes_its_place(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path], tmp_path: Path
) -> None:
    window.documents.compare_paths(*files)
    page = in_front(qtbot, window)
    torch.save({"model": {"fc.weight": torch.full((2, 3), 2.0)}}, tmp_path / "c.pth")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "c.pth"))])
    action, buttons, keys = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), action, data, buttons, keys)
    page.header.left.dragEnterEvent(enter)
    assert enter.isAccepted()
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.header.left.dropEvent(QDropEvent(QPointF(5, 5), action, data, buttons, keys))
    assert page.sides == (Side(tmp_path / "c.pth"), Side(files[1]))
    assert window.documents.tabText(0) == "c.pth ⇄ b.pth"


def test_that_a_side_offers_open_documents_and_recent_files(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]
) -> None:
    opened(qtbot, window, files[0])
    window.recent.add(files[1])
    assert window.documents.compare_choices() == [("Open documents", files[0]), ("Recent files", files[1])]


def test_that_the_status_line_says_how_much_was_compared(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]
) -> None:
    (page,) = opened(qtbot, window, files[0])
    window.documents.compare_paths(*files)
    comparison = in_front(qtbot, window)
    compared, container = window.status._compared, window.status._container
    qtbot.waitUntil(compared.isVisible)
    nbytes = comparison.comparison.structure.value_nbytes if comparison.comparison is not None else 0
    assert nbytes == 2 * 6 * 4
    assert compared.text().startswith("✓ compared 48 B in ")
    assert container.text() == "torch zip · ✓ nothing was executed"
    window.documents.setCurrentWidget(page)
    assert not compared.isVisible()
    assert container.text().startswith("torch zip · ")
    window.documents.setCurrentWidget(comparison)
    assert compared.isVisible()


def test_that_two_parts_are_named_with_the_keyboard_alone(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]
) -> None:
    window.actions_by_id["compare"].trigger()
    dialog = window.findChild(CompareDialog)
    assert dialog is not None
    found: list[QWidget] = [dialog.left]
    while (after := found[-1].nextInFocusChain()) is not dialog.left:
        found.append(after)
    wanted = [dialog.left, dialog.left_part, dialog.right, dialog.right_part, dialog.go]
    assert [widget for widget in found if widget in wanted] == wanted
    dialog.left.setEditText("~/model.pth")
    dialog.right.setEditText("~nobody-of-that-name/model.pth")
    left, right = dialog.sides()
    assert left.path == Path.home() / "model.pth"
    assert right.path.name == "model.pth"
    dialog.reject()


def test_that_the_keys_go_to_the_rows_of_a_comparison_and_find_to_its_filter(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path]
) -> None:
    window.activateWindow()
    window.documents.compare_paths(*files)
    page = in_front(qtbot, window)
    qtbot.waitUntil(page.tree.view.hasFocus)
    page.header.swap.setFocus()
    qtbot.keyClick(page.header.swap, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(page.tree.filters.text.hasFocus)
