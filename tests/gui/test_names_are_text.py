"""What a file calls its parts is text in the window, never markup: a name neither loads a picture nor sets a link."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import Qt as QtOfGui
from PySide6.QtWidgets import QAbstractItemView, QApplication, QLabel, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import Tensor, Typed, make_checkpoint
from tests.gui.scripted_client import ScriptedClient
from viewer.checkpoint.document import GlobalUse
from viewer.engine.protocol import OpenFile
from viewer.errors import MalformedFile
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.safety import SafetyDialog
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.window import MainWindow

NAME = '<img src="canary.png"><a href="file:///canary">x</a>'
TREE = {
    NAME: {f"{NAME}.weight": Tensor((4, 3)), NAME: NAME},
    "object": Typed(f"models.{NAME}", {NAME: 1}),
    "text": NAME,
}
GLOBALS = (GlobalUse(NAME, NAME, False, 1, node=2), GlobalUse("torch._utils", "_rebuild_tensor_v2", True, 62))


def markup_of(widget: QWidget) -> set[str]:
    """Where in and below a widget Qt would draw what a file chose as markup, and how that begins."""
    texts = {(type(child).__name__, "tip", child.toolTip()) for child in (widget, *widget.findChildren(QWidget))}
    for label in widget.findChildren(QLabel):
        if label.textFormat() != Qt.TextFormat.PlainText:
            texts.add((type(label).__name__, "text", label.text()))
    for bar in widget.findChildren(QTabBar):
        texts.update((type(bar).__name__, "tip of a tab", bar.tabToolTip(at)) for at in range(bar.count()))
    for view in widget.findChildren(QAbstractItemView):
        texts.update((type(view).__name__, "tip of an item", tip) for tip in tips_of(view))
    return {f"{kind}, {what}: {text[:80]}" for kind, what, text in texts if "<img" in text and is_markup(text)}


def is_markup(text: str) -> bool:
    return QtOfGui.mightBeRichText(text)


def tips_of(view: QAbstractItemView) -> Iterator[str]:
    """The tips of all items of a view, as far as they are texts."""
    model = view.model()
    pending = [QModelIndex()]
    while model is not None and pending:
        parent = pending.pop()
        for row in range(min(model.rowCount(parent), 20)):
            for column in range(model.columnCount(parent)):
                tip = model.data(model.index(row, column, parent), Qt.ItemDataRole.ToolTipRole)
                if isinstance(tip, str):
                    yield tip
            pending.append(model.index(row, 0, parent))


@pytest.fixture
def window(qtbot: QtBot, bridge: EngineBridge, theme: Theme, settings: Settings) -> MainWindow:
    window = MainWindow(bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    return window


def test_that_the_look_finds_markup(qtbot: QtBot) -> None:
    label = QLabel(NAME)
    holder = QWidget()
    qtbot.addWidget(holder)
    label.setParent(holder)
    assert markup_of(holder) == {f"QLabel, text: {NAME[:80]}"}
    label.setTextFormat(Qt.TextFormat.PlainText)
    assert markup_of(holder) == set()


def test_that_no_name_in_a_file_is_markup_anywhere_in_the_window(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    path = tmp_path / "<img src=x><b>model.pth"
    checkpoint = make_checkpoint(TREE, path, GLOBALS)
    checkpoint.warnings.append(f"warning {NAME}")
    window.documents.open_paths([path])
    page = window.documents.page
    assert page is not None
    with qtbot.waitSignal(page.opened):
        client.answer(client.jobs_of(OpenFile)[-1], checkpoint)
    qtbot.waitUntil(lambda: page.tree is not None and page.tree.model.rowCount() > 0)
    for node in range(len(checkpoint.nodes)):
        assert page.tree is not None
        page.tree.go_to_node(node)
        QApplication.sendPostedEvents()
        assert markup_of(window) == set(), checkpoint.nodes.key[node]


def test_that_no_name_in_a_fault_or_in_the_safety_dialog_is_markup(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, theme: Theme, tmp_path: Path
) -> None:
    path = tmp_path / "<img src=x>.pth"
    window.documents.open_paths([path])
    client.fail(client.jobs_of(OpenFile)[-1], MalformedFile(f"it holds {NAME}", path=path, advice=NAME))
    qtbot.waitUntil(lambda: bool(window.messages.messages))
    assert markup_of(window) == set()
    dialog = SafetyDialog(theme, make_checkpoint(TREE, path, GLOBALS), window)
    qtbot.addWidget(dialog)
    dialog.show()
    assert markup_of(dialog) == set()
    shiboken6.delete(dialog)
