"""Back and forward, the last session, recent comparisons, and files that change under the window."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.habits.history import History
from viewer.gui.habits.properties import PropertiesDialog
from viewer.gui.habits.session import reopen, session_of
from viewer.gui.recent import MAX_PAIRS, Pair, RecentFiles
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.window import MainWindow


@pytest.fixture
def window(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, settings: Settings) -> Iterator[MainWindow]:
    window = MainWindow(engine_bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    yield window
    window.close()


@pytest.fixture
def copies(sample_paths: tuple[Path, Path], tmp_path: Path) -> list[Path]:
    return [Path(shutil.copy(path, tmp_path / path.name)) for path in sample_paths]


def open_shown(qtbot: QtBot, window: MainWindow, path: Path) -> DocumentPage:
    window.documents.open_paths([path])
    page = window.documents.page
    assert page is not None
    qtbot.waitUntil(
        lambda: page.tree is not None and page.tree.model.rowCount() > 0 and page._is_filled, timeout=30_000
    )
    return page


def look_at(page: DocumentPage, path: str) -> None:
    assert page.tree is not None
    page.tree.go_to_path(path)


def where(window: MainWindow) -> tuple[str, str]:
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    assert page.checkpoint is not None
    node = page.tree.current_node
    assert node is not None
    return page.path.name, page.checkpoint.path_of(node)


def test_that_back_and_forward_lead_through_what_was_looked_at_in_all_tabs(
    qtbot: QtBot, window: MainWindow, copies: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = iter(range(0, 10_000, 10))
    monkeypatch.setattr(window.habits.history, "_clock", lambda: float(next(now_s)))
    first = open_shown(qtbot, window, copies[0])
    look_at(first, "model/head.weight")
    look_at(first, "model/head.bias")
    second = open_shown(qtbot, window, copies[1])
    look_at(second, "epoch")
    back, forward = window.actions_by_id["back"], window.actions_by_id["forward"]
    assert back.isEnabled()
    assert not forward.isEnabled()
    back.trigger()
    assert where(window) == (copies[0].name, "model/head.bias")
    back.trigger()
    assert where(window) == (copies[0].name, "model/head.weight")
    assert forward.isEnabled()
    forward.trigger()
    forward.trigger()
    assert where(window) == (copies[1].name, "epoch")
    assert not forward.isEnabled()


def test_that_the_side_buttons_of_a_mouse_go_back_and_forward(
    qtbot: QtBot, window: MainWindow, copies: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = iter(range(0, 10_000, 10))
    monkeypatch.setattr(window.habits.history, "_clock", lambda: float(next(now_s)))
    page = open_shown(qtbot, window, copies[0])
    look_at(page, "model/head.weight")
    look_at(page, "epoch")
    assert page.tree is not None
    QTest.mouseClick(page.tree.view.viewport(), Qt.MouseButton.BackButton, pos=QPoint(20, 20))
    assert where(window)[1] == "model/head.weight"
    QTest.mouseClick(window, Qt.MouseButton.ForwardButton, pos=QPoint(5, 5))
    assert where(window)[1] == "epoch"


def test_that_rows_passed_with_the_arrow_keys_are_not_come_back_to(
    qtbot: QtBot, window: MainWindow, copies: list[Path]
) -> None:
    page = open_shown(qtbot, window, copies[0])
    times = iter([0.0, 10.0, 10.1, 10.2, 20.0])
    history = History(window.documents, window, clock=lambda: next(times))
    assert page.checkpoint is not None
    for path in ("epoch", "step", "loss", "model/head.bias", "model/head.weight"):
        history.visit(page, page.checkpoint.find(path))
    assert [visit.node_path for visit in history._visits] == ["epoch", "model/head.bias", "model/head.weight"]


def test_that_tabs_that_were_closed_are_passed_over(
    qtbot: QtBot, window: MainWindow, copies: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = iter(range(0, 10_000, 10))
    monkeypatch.setattr(window.habits.history, "_clock", lambda: float(next(now_s)))
    first = open_shown(qtbot, window, copies[0])
    look_at(first, "epoch")
    second = open_shown(qtbot, window, copies[1])
    look_at(second, "step")
    window.documents.setCurrentWidget(first)
    look_at(first, "loss")
    window.documents.close_tab(window.documents.indexOf(second))
    window.actions_by_id["back"].trigger()
    assert where(window) == (copies[0].name, "epoch")
    window.actions_by_id["forward"].trigger()
    assert where(window) == (copies[0].name, "loss")


def test_that_the_session_comes_back_with_its_comparison_and_the_tab_in_front(
    qtbot: QtBot, window: MainWindow, copies: list[Path]
) -> None:
    for path in copies:
        open_shown(qtbot, window, path)
    window.documents.compare_paths(*copies)
    window.documents.setCurrentIndex(1)
    texts = session_of(window.documents)
    titles = [window.documents.tabText(index) for index in range(3)]
    window.documents.close_all()
    reopen(window.documents, texts)
    assert [window.documents.tabText(index) for index in range(3)] == titles
    assert window.documents.currentIndex() == 1
    assert session_of(window.documents) == texts


def test_that_texts_that_are_no_session_open_nothing(window: MainWindow) -> None:
    reopen(window.documents, ["", "*", "* {", " 12", ' "relative.pth"', ' [["a", "b"]]', " [[1, 2], [3, 4]]"])
    assert window.documents.count() == 0


def test_that_a_start_without_files_opens_the_session_where_that_is_wanted(
    qtbot: QtBot, window: MainWindow, copies: list[Path], settings: Settings
) -> None:
    open_shown(qtbot, window, copies[0])
    window.save()
    window.documents.close_all()
    window.habits.begin()
    assert window.documents.count() == 0
    settings.set("session/reopen", True)
    window.habits.begin()
    assert [page.path for page in window.documents.pages] == [copies[0]]


def test_that_a_comparison_is_offered_again_and_says_when_a_side_is_gone(
    qtbot: QtBot, window: MainWindow, copies: list[Path]
) -> None:
    window.documents.compare_paths(*copies)
    assert [pair.paths for pair in window.recent.pairs] == [set(copies)]
    window.documents.close_all()
    title = f"{copies[0].name} ⇄ {copies[1].name}"
    assert title in [action.text() for action in window.recent_menu.actions()]
    copies[1].unlink()
    with qtbot.waitSignal(window.recent.checked):
        window.recent_menu.aboutToShow.emit()
    (action,) = [action for action in window.recent_menu.actions() if action.text().startswith(title)]
    assert action.text().endswith("(missing)")
    action.trigger()
    assert len(window.documents.comparisons) == 1


def test_that_the_empty_window_lists_comparisons(qtbot: QtBot, window: MainWindow, copies: list[Path]) -> None:
    window.recent.add_pair(Pair((str(copies[0]), "model"), (str(copies[1]), "model")))
    (button,) = [each for each in window.start.findChildren(QPushButton) if "⇄" in each.accessibleName()]
    assert f"{copies[0].name} › model ⇄ {copies[1].name} › model" in button.accessibleName()
    button.click()
    assert [side.part for side in window.documents.comparisons[0].sides] == ["model", "model"]


def test_that_a_list_of_comparisons_that_was_edited_by_hand_is_read_as_far_as_it_goes(settings: Settings) -> None:
    settings.set("files/recent_comparisons", ["{", '[["/a.pt", ""], ["/b.pt", "x"]]', '[["/a.pt"], 3]'])
    recent = RecentFiles(settings)
    assert recent.pairs == [Pair(("/a.pt", ""), ("/b.pt", "x"))]
    for number in range(10):
        recent.add_pair(Pair((f"/{number}", ""), ("/b", "")))
    assert len(recent.pairs) == MAX_PAIRS
    assert recent.pairs[0].left == ("/9", "")


def test_that_a_file_that_was_written_anew_is_offered_to_be_read_again(
    qtbot: QtBot, window: MainWindow, copies: list[Path]
) -> None:
    page = open_shown(qtbot, window, copies[0])
    watch = window.habits.disk_watch
    assert page.checkpoint is not None
    before = page.checkpoint

    def look() -> list[str]:
        with qtbot.waitSignal(watch._looked):
            watch.look()
        return [message.text for message in window.messages.messages if message.action == "Reload"]

    assert look() == []
    shutil.copy(copies[1], copies[0])
    os.utime(copies[0], (1, 1))
    assert look() == []  # it may still be being written
    assert look() == [f"{copies[0].name} was changed on disk since it was opened"]
    window.messages.dismiss(f"disk {copies[0]}")
    assert look() == []  # told once
    (message,) = [watch._told]
    assert copies[0] in message
    page.open()
    qtbot.waitUntil(lambda: page.checkpoint is not before, timeout=30_000)
    assert look() == look() == []


def test_that_a_file_that_is_gone_is_told_of_once(qtbot: QtBot, window: MainWindow, copies: list[Path]) -> None:
    open_shown(qtbot, window, copies[0])
    watch = window.habits.disk_watch
    copies[0].unlink()
    for _ in range(3):
        with qtbot.waitSignal(watch._looked):
            watch.look()
    texts = [message.text for message in window.messages.messages]
    assert texts == [f"{copies[0].name} is no longer in its folder: no more of its values can be read"]


def test_that_properties_say_where_the_file_lies_and_how_large_it_is(
    qtbot: QtBot, window: MainWindow, copies: list[Path]
) -> None:
    open_shown(qtbot, window, copies[0])
    window.actions_by_id["properties"].trigger()
    (dialog,) = window.findChildren(PropertiesDialog)
    words = [label.text() for label in dialog.findChildren(QLabel)]
    assert str(copies[0].parent) in words
    assert f"{copies[0].stat().st_size:,} bytes" in words
    (copy,) = [button for button in dialog.findChildren(QPushButton) if button.text() == "Copy path"]
    copy.click()
    assert QApplication.clipboard().text() == str(copies[0])
    dialog.close()
