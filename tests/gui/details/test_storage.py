"""The Storage page."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.storage import StoragePage
from viewer.gui.theme import Theme


@pytest.fixture
def page(qtbot: QtBot, theme: Theme) -> StoragePage:
    page = StoragePage(theme)
    qtbot.addWidget(page)
    page.resize(800, 700)
    page.show()
    return page


def show(page: StoragePage, checkpoint: Checkpoint, path: str) -> None:
    node = checkpoint.find(path)
    tensor = checkpoint.tensor_of_node(node)
    assert tensor is not None
    page.show_tensor(checkpoint, node, tensor)


def test_that_view_and_storage_are_described(page: StoragePage, checkpoint: Checkpoint) -> None:
    show(page, checkpoint, "model/fc.top")
    view = dict(page.view.texts())
    assert view["stride"] == "(512, 1)"
    assert view["storage offset"] == "512 elements"
    assert view["contiguous"] == "yes"
    storage = dict(page.storage.texts())
    assert storage["saved on"] == "cuda:0"
    assert storage["byte order"] == "little-endian"
    assert page.usage.text() == "200 KB of 2.0 MB stored · 10.0 %"
    assert page.bar.fraction == pytest.approx(0.1)


def test_that_the_exact_number_of_bytes_is_a_hover_away(page: StoragePage, checkpoint: Checkpoint) -> None:
    show(page, checkpoint, "model/fc.top")
    row = [label for label, _ in page.storage.texts()].index("bytes stored")
    index = page.storage.model().index(row, 1)
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "2,048,000 bytes"


def test_that_a_click_on_a_sharer_asks_to_go_there(page: StoragePage, checkpoint: Checkpoint, qtbot: QtBot) -> None:
    show(page, checkpoint, "model/fc.top")
    qtbot.waitUntil(lambda: page.sharing.paths() == ["model/fc.weight", "model/fc.transposed"])
    assert page.sharing_words.text() == "2 other entries lie in this storage:"
    place = page.sharing.visualRect(page.sharing.model().index(1, 0)).center()
    with qtbot.waitSignal(page.node_requested) as asked:
        qtbot.mouseClick(page.sharing.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert asked.args == [checkpoint.find("model/fc.transposed")]


def test_that_a_storage_of_its_own_says_so(page: StoragePage, checkpoint: Checkpoint) -> None:
    show(page, checkpoint, "model/mask")
    assert page.sharing_words.text() == "no other tensor lies in this storage"
    assert page.sharing.isHidden()


def test_that_a_tensor_without_a_storage_shows_no_storage(page: StoragePage, checkpoint: Checkpoint) -> None:
    show(page, checkpoint, "model/sparse")
    assert page.storage.isHidden()
    assert page.usage.isHidden()
    assert page.bar.isHidden()
    assert page.sharing_words.text() == "This tensor has no storage of its own. Its parts stand below it."
    assert [label for label, _ in page.view.texts()] == ["shape", "layout", "requires grad", "parameter"]


def test_that_an_unreadable_storage_shows_its_problem(page: StoragePage, checkpoint: Checkpoint) -> None:
    show(page, checkpoint, "model/broken")
    assert page.problem.text().startswith("✕ the record data/5 ends")
    storage = dict(page.storage.texts())
    assert storage["encoding"] == "unreadable"
    show(page, checkpoint, "model/mask")
    assert page.problem.isHidden()
