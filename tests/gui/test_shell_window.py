"""The window as a whole, over a scripted client and over a real engine."""

from __future__ import annotations

import gc
import os
import signal
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QFileOpenEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QPushButton, QTreeWidget
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import Tensor, Typed, make_checkpoint
from tests.gui.scripted_client import ScriptedClient
from viewer.checkpoint.document import Checkpoint, GlobalUse
from viewer.engine.client import EngineClient
from viewer.engine.protocol import CloseDocument, EngineDown, ListDevices, OpenFile, Restarted, WarmUp
from viewer.errors import Cancelled, EngineLost, MalformedFile
from viewer.gui.dialogs import GoToPathDialog, ShortcutsDialog
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.faults import FaultReporter
from viewer.gui.file_dialogs import OPEN_FILTERS
from viewer.gui.file_open import FileOpenEvents
from viewer.gui.interrupts import Interrupts
from viewer.gui.message_bar import Message
from viewer.gui.safety import SafetyDialog, verdict
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.window import TITLE, MainWindow
from viewer.tensors.devices import Device

TREE = {"model": {"fc.weight": Tensor((4, 3)), "fc.bias": Tensor((4,))}, "epoch": 12}
GLOBALS = (
    GlobalUse("collections", "OrderedDict", True, 2),
    GlobalUse("models.net", "TinyNet", False, 1, node=2),
    GlobalUse("models.net", "Unseen", False, 1),
    GlobalUse("torch._utils", "_rebuild_tensor_v2", True, 62),
)


@pytest.fixture
def window(qtbot: QtBot, bridge: EngineBridge, theme: Theme, settings: Settings) -> MainWindow:
    window = MainWindow(bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    return window


@pytest.fixture
def live_window(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, settings: Settings) -> Iterator[MainWindow]:
    """A window over a real engine."""
    window = MainWindow(engine_bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    yield window
    window.close()


def open_made(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, path: Path, root: object = TREE
) -> Checkpoint:
    """Open a file of which the scripted engine says that it holds `root`."""
    checkpoint = make_checkpoint(root, path, GLOBALS)
    window.documents.open_paths([path])
    page = window.documents.page
    assert page is not None
    with qtbot.waitSignal(page.opened):
        client.answer(client.jobs_of(OpenFile)[-1], checkpoint)
    wait_for_rows(qtbot, page)
    return checkpoint


def wait_for_rows(qtbot: QtBot, page: DocumentPage) -> None:
    """A busy machine may not lay out even a small tree in one slice."""
    qtbot.waitUntil(lambda: page.tree is not None and page.tree.model.rowCount() > 0)


def texts_of(window: MainWindow) -> list[str]:
    return [message.text for message in window.messages.messages]


def test_that_an_empty_window_says_what_to_do(window: MainWindow) -> None:
    assert window.start.isVisible()
    assert not window.documents.isVisible()
    words = " ".join(label.text() for label in window.start.findChildren(QLabel))
    assert "runs nothing" in words
    assert not window.actions_by_id["close"].isEnabled()
    assert window.actions_by_id["open"].isEnabled()
    assert window.windowTitle() == TITLE


def test_that_the_engine_is_asked_after_the_first_paint(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient, theme: Theme, settings: Settings
) -> None:
    window = MainWindow(bridge, theme, settings)
    qtbot.addWidget(window)
    window.painted.connect(window.ask_engine)
    assert client.requests == {}
    with qtbot.waitSignal(window.painted):
        window.show()
    assert [type(request) for request in client.requests.values()] == [WarmUp, ListDevices]


def test_that_a_tab_is_there_at_once_and_fills_when_the_engine_answers(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    path = tmp_path / "model.pth"
    window.documents.open_paths([path])
    page = window.documents.page
    assert page is not None
    assert page.is_opening
    assert page.tree is None
    assert window.documents.tabText(0) == "model.pth"
    client.report(1, 10, 100)
    with qtbot.waitSignal(page.opened):
        client.answer(1, make_checkpoint(TREE, path, GLOBALS))
    wait_for_rows(qtbot, page)
    assert page.tree is not None
    assert page.tree.model.rowCount() == 2
    assert page.document == 1
    assert window.windowTitle() == f"model.pth — {TITLE}"
    assert window.recent.paths == [path]
    assert "2 unknown" in window.status.verdict.text()
    assert window.actions_by_id["close"].isEnabled()


def test_that_a_file_opens_once_whatever_way_it_is_named(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    window.documents.open_paths(["a.pth", "b.pth"])
    window.documents.open_paths([tmp_path / "a.pth", str(tmp_path / "x" / ".." / "b.pth"), "a.pth"])
    assert [page.path.name for page in window.documents.pages] == ["a.pth", "b.pth"]
    assert window.documents.currentIndex() == 0
    assert len(client.jobs_of(OpenFile)) == 2


def test_that_a_failure_leaves_a_message_and_no_tab_and_can_be_tried_again(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    path = tmp_path / "broken.pth"
    window.documents.open_paths([path])
    client.fail(1, MalformedFile("it ends after 3 of 400 bytes", path=path, advice="Fetch it again"))
    qtbot.waitUntil(lambda: bool(window.messages.messages))
    assert texts_of(window) == ["broken.pth: it ends after 3 of 400 bytes. Fetch it again"]
    assert window.documents.count() == 0
    assert window.start.isVisible()
    retry = window.messages.messages[0].on_action
    assert retry is not None
    retry()
    assert window.documents.count() == 1
    assert len(client.jobs_of(OpenFile)) == 2


def test_that_opening_can_be_cancelled_without_a_word(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    window.documents.open_paths([tmp_path / "slow.pth"])
    page = window.documents.page
    assert page is not None
    page.cancel()
    assert client.cancelled == [1]
    client.fail(1, Cancelled("stopped"))
    qtbot.waitUntil(lambda: window.documents.count() == 0)
    assert texts_of(window) == []


def test_that_closing_a_tab_closes_the_document_and_cancels_its_jobs(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    open_made(qtbot, window, client, tmp_path / "a.pth")
    window.documents.open_paths([tmp_path / "slow.pth"])
    window.actions_by_id["close"].trigger()
    assert client.cancelled == [2]
    window.documents.close_tab(0)
    assert [client.requests[job] for job in client.jobs_of(CloseDocument)] == [CloseDocument(1)]
    assert window.start.isVisible()


def test_that_the_middle_button_closes_a_tab(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    window.documents.open_paths([tmp_path / "a.pth", tmp_path / "b.pth"])
    bar = window.documents.tabBar()
    qtbot.mouseClick(bar, Qt.MouseButton.MiddleButton, pos=bar.tabRect(0).center())
    assert [page.path.name for page in window.documents.pages] == ["b.pth"]
    qtbot.mouseClick(bar, Qt.MouseButton.MiddleButton, pos=QPoint(bar.width() - 1, 2))
    assert window.documents.count() == 1


def test_that_reading_again_keeps_the_row_and_closes_the_former_document(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    path = tmp_path / "a.pth"
    open_made(qtbot, window, client, path)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    page.tree.go_to_path("model/fc.bias")
    window.actions_by_id["reload"].trigger()
    window.actions_by_id["reload"].trigger()  # one is enough
    assert len(client.jobs_of(OpenFile)) == 2
    with qtbot.waitSignal(page.opened):
        client.answer(client.jobs_of(OpenFile)[-1], make_checkpoint({"new": 1, **TREE}, path))
    wait_for_rows(qtbot, page)
    assert page.tree.model.rowCount() == 3
    assert page.tree.view.currentIndex().data() == "fc.bias"
    assert [client.requests[job] for job in client.jobs_of(CloseDocument)] == [CloseDocument(1)]


def test_that_a_failed_second_reading_keeps_what_is_shown(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    open_made(qtbot, window, client, tmp_path / "a.pth")
    window.actions_by_id["reload"].trigger()
    client.fail(client.jobs_of(OpenFile)[-1], MalformedFile("cut short", path=tmp_path / "a.pth"))
    qtbot.waitUntil(lambda: bool(texts_of(window)))
    page = window.documents.page
    assert page is not None
    assert page.checkpoint is not None
    assert not page.is_opening


def test_that_warnings_of_a_file_are_said(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    checkpoint = make_checkpoint(TREE, tmp_path / "a.pth")
    checkpoint.warnings += ["two records have one name", "the directory is missing"]
    window.documents.open_paths([checkpoint.path])
    client.answer(1, checkpoint)
    qtbot.waitUntil(lambda: bool(texts_of(window)))
    assert texts_of(window) == ["a.pth: two records have one name (and 1 more)"]
    assert "directory" in window.messages.messages[0].details


def test_that_a_hint_takes_the_place_of_the_one_before(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    open_made(qtbot, window, client, tmp_path / "a.pth")
    page = window.documents.page
    assert page is not None
    for hint in ("there is no state here", "there is no parameter here"):
        page.said.emit(hint)
    assert texts_of(window) == ["there is no parameter here"]


def test_that_very_many_files_become_tabs_one_after_the_other(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{number}.pth" for number in range(70)]
    window.documents.open_paths([*paths, paths[0], paths[60]])
    assert 40 <= window.documents.count() < 70
    qtbot.waitUntil(lambda: window.documents.count() == 70)
    assert [page.path for page in window.documents.pages] == paths
    window.documents.close_all()
    assert window.documents.count() == 0


def test_that_a_tab_in_the_background_makes_its_details_when_it_is_looked_at(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    behind, front = (make_checkpoint(TREE, tmp_path / name) for name in ("a.pth", "b.pth"))
    window.documents.open_paths([behind.path, front.path])
    for job, checkpoint in zip(client.jobs_of(OpenFile), (behind, front), strict=True):
        client.answer(job, checkpoint)
    first, second = window.documents.pages
    qtbot.waitUntil(lambda: second.details is not None and second.details.isVisible())
    assert first.checkpoint is behind
    assert first.details is None
    window.documents.setCurrentIndex(0)
    qtbot.waitUntil(lambda: first.details is not None and first.details.isVisible())


def test_that_the_end_of_the_engine_is_one_message_that_opens_again_what_was_lost(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    open_made(qtbot, window, client, tmp_path / "a.pth")
    window.documents.open_paths([tmp_path / "b.pth", tmp_path / "c.pth"])
    for job in client.jobs_of(OpenFile)[1:]:
        client.fail(job, EngineLost("the engine was killed"))
    client.mailbox.put(Restarted(EngineLost("the engine was killed")))
    qtbot.waitUntil(lambda: bool(texts_of(window)))
    assert texts_of(window) == ["the engine was killed"]
    assert [page.path.name for page in window.documents.pages] == ["a.pth"]
    again = window.messages.messages[0].on_action
    assert again is not None
    again()
    assert [page.path.name for page in window.documents.pages] == ["a.pth", "b.pth", "c.pth"]
    client.mailbox.put(EngineDown(EngineLost("ended too often")))
    qtbot.waitUntil(lambda: texts_of(window) == ["ended too often"])


def test_that_devices_are_offered_and_a_choice_is_kept(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, settings: Settings
) -> None:
    window.ask_engine()
    devices = [Device("cpu", "CPU"), Device("cuda:0", "A100")]
    client.answer(client.jobs_of(ListDevices)[0], devices)
    box = window.status.device_box
    qtbot.waitUntil(lambda: len(box.menu().actions()) == 2)
    box.menu().actions()[1].trigger()
    assert settings.get("engine/device") == "cuda:0"
    assert window.documents.options.device == "cuda:0"


def test_that_a_missing_device_is_said_and_not_replaced(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient, theme: Theme, settings: Settings
) -> None:
    window = MainWindow(bridge, theme, settings, "cuda:3")
    qtbot.addWidget(window)
    window.ask_engine()
    client.answer(client.jobs_of(ListDevices)[0], [Device("cpu", "CPU")])
    qtbot.waitUntil(lambda: bool(texts_of(window)))
    assert "cuda:3" in texts_of(window)[0]
    assert window.status.device_box.device == "cuda:3"


def test_that_files_are_dropped_into_the_window(window: MainWindow, client: ScriptedClient, tmp_path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "ä b.pth")), QUrl("https://example.org/x.pth")])
    copy, button, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), copy, data, button, none)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(window, QDropEvent(QPointF(5, 5), copy, data, button, none))
    assert [page.path.name for page in window.documents.pages] == ["ä b.pth"]


def test_that_links_to_elsewhere_are_not_taken(window: MainWindow) -> None:
    data = QMimeData()
    data.setUrls([QUrl("https://example.org/x.pth")])
    enter = QDragEnterEvent(
        QPoint(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    enter.ignore()
    QApplication.sendEvent(window, enter)
    assert not enter.isAccepted()


def test_that_files_from_the_desktop_come_through_the_same_door(
    qapp: QApplication, window: MainWindow, tmp_path: Path
) -> None:
    events = FileOpenEvents(qapp, window.documents.open_paths)
    QApplication.sendEvent(qapp, QFileOpenEvent(str(tmp_path / "a.pth")))
    assert [page.path.name for page in window.documents.pages] == ["a.pth"]
    events.release()
    QApplication.sendEvent(qapp, QFileOpenEvent(str(tmp_path / "b.pth")))
    assert window.documents.count() == 1
    shiboken6.delete(events)


def test_that_the_open_dialog_opens_without_stopping_the_window(
    qtbot: QtBot, window: MainWindow, settings: Settings, tmp_path: Path
) -> None:
    window.actions_by_id["open"].trigger()
    dialog = window.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.filesSelected.emit([str(tmp_path / "a.pth")])
    dialog.reject()
    assert [page.path.name for page in window.documents.pages] == ["a.pth"]
    assert settings.get("files/folder") == str(tmp_path)


def test_that_a_folder_is_chosen_and_opens_as_one_document(
    qtbot: QtBot, window: MainWindow, settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "checkpoint-500"
    folder.mkdir()
    window.actions_by_id["open_folder"].trigger()
    dialog = window.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    assert dialog.fileMode() == QFileDialog.FileMode.Directory
    dialog.filesSelected.emit([str(folder)])
    dialog.reject()
    assert [page.path for page in window.documents.pages] == [folder]
    assert settings.get("files/folder") == str(tmp_path)


def test_that_the_empty_window_offers_folders_too(qtbot: QtBot, window: MainWindow) -> None:
    button = next(button for button in window.start.findChildren(QPushButton) if button.text() == "Open folder…")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    dialog = window.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    assert dialog.fileMode() == QFileDialog.FileMode.Directory
    dialog.reject()
    assert "folder" in window.start.drop_area.accessibleName()
    assert "*.index.json" in OPEN_FILTERS[0]


def test_that_the_theme_is_switched_everywhere_and_kept(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, theme: Theme, settings: Settings, tmp_path: Path
) -> None:
    open_made(qtbot, window, client, tmp_path / "a.pth")
    light = window.grab().toImage()
    window.actions_by_id["theme_dark"].setChecked(True)
    dark = window.grab().toImage()
    assert settings.get("view/theme") == "dark"
    bottom, middle = light.height() - 3, light.height() // 2
    for at in (QPoint(900, 10), QPoint(900, 60), QPoint(100, middle), QPoint(900, middle), QPoint(20, bottom)):
        assert light.pixelColor(at).lightness() > 200, at
        assert dark.pixelColor(at).lightness() < 90, at


def test_that_text_size_is_kept(window: MainWindow, theme: Theme, settings: Settings) -> None:
    window.actions_by_id["zoom_in"].trigger()
    window.actions_by_id["zoom_in"].trigger()
    assert settings.get("view/zoom") == 2
    window.actions_by_id["zoom_reset"].trigger()
    assert settings.get("view/zoom") == theme.zoom == 0


def test_that_display_options_change_all_trees_and_are_kept(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, settings: Settings, tmp_path: Path
) -> None:
    names = {f"m.{number}.{part}.w": Tensor() for number in (10, 9) for part in "ab"}
    open_made(qtbot, window, client, tmp_path / "a.pth", names)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    tree = page.tree

    def order() -> list[str]:
        row = tree.model.table.row_at(["m"])
        return [] if row is None else [tree.model.table.label[child] for child in tree.model.table.children(row)]

    qtbot.waitUntil(lambda: order() == ["9", "10"])
    window.actions_by_id["natural_order"].setChecked(False)
    qtbot.waitUntil(lambda: order() == ["10", "9"])
    window.actions_by_id["group_names"].setChecked(False)
    qtbot.waitUntil(lambda: tree.model.rowCount() == 4)
    assert settings.get("tree/group_names") is settings.get("tree/natural_order") is False


def test_that_a_path_is_gone_to_and_a_wrong_one_is_explained_in_the_dialog(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    open_made(qtbot, window, client, tmp_path / "a.pth")
    window.actions_by_id["go_to_path"].trigger()
    dialog = window.findChild(GoToPathDialog)
    assert isinstance(dialog, GoToPathDialog)
    dialog.edit.setText("model/nothing")
    qtbot.keyClick(dialog.edit, Qt.Key.Key_Return)
    assert "nothing" in dialog.fault.text()
    assert dialog.isVisible()
    dialog.edit.setText("model/fc.bias")
    qtbot.keyClick(dialog.edit, Qt.Key.Key_Return)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    assert page.tree.view.currentIndex().data() == "fc.bias"


def test_that_what_a_file_names_is_listed_by_module_with_the_unknown_first(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    open_made(qtbot, window, client, tmp_path / "a.pth")
    qtbot.mouseClick(window.status.verdict, Qt.MouseButton.LeftButton)
    dialog = window.findChild(SafetyDialog)
    assert isinstance(dialog, SafetyDialog)
    names = dialog.findChild(QTreeWidget)
    assert isinstance(names, QTreeWidget)
    modules = [names.topLevelItem(number).text(0) for number in range(names.topLevelItemCount())]
    assert modules == ["models.net", "collections", "torch._utils"]
    known, unseen = names.topLevelItem(0).child(0), names.topLevelItem(0).child(1)
    assert (known.text(1), known.text(3)) == ("⚠ unknown", "epoch")
    assert (unseen.text(1), unseen.text(3)) == ("⚠ unknown", "not shown in the tree")
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    for item in (unseen, known):
        qtbot.mouseClick(
            names.viewport(), Qt.MouseButton.LeftButton, pos=names.visualItemRect(item).center() + QPoint(60, 0)
        )
    assert page.tree.current_node == 2
    dialog.close()


def test_that_the_verdict_counts_and_claims_no_more() -> None:
    assert verdict(make_checkpoint({})) == ("✓ nothing was executed · no classes named", True)
    one = make_checkpoint({}, globals_=GLOBALS[:1])
    assert verdict(one) == ("✓ nothing was executed · 1 class named", True)
    assert verdict(make_checkpoint({}, globals_=GLOBALS)) == (
        "✓ nothing was executed · 4 classes named, ⚠ 2 unknown",
        False,
    )


def test_that_the_keys_are_listed(window: MainWindow) -> None:
    window.actions_by_id["shortcuts"].trigger()
    dialog = window.findChild(ShortcutsDialog)
    assert isinstance(dialog, ShortcutsDialog)
    listed = {dialog.table.item(row, 0).text() for row in range(dialog.table.rowCount())}
    assert {"Open", "Find", "Go to path", "Follow a link"} <= listed
    assert all(dialog.table.item(row, 1).text() for row in range(dialog.table.rowCount()))
    dialog.close()


def test_that_a_fault_of_ours_is_said_in_the_window(
    qtbot: QtBot, window: MainWindow, capsys: pytest.CaptureFixture[str]
) -> None:
    reporter = FaultReporter(window.report_fault)
    try:
        reporter._hook(ValueError, ValueError("a mistake"), None)
        qtbot.waitUntil(lambda: bool(texts_of(window)))
    finally:
        reporter.release()
        shiboken6.delete(reporter)
    assert texts_of(window) == ["A fault of this program: ValueError: a mistake"]
    assert "a mistake" in capsys.readouterr().err


def test_that_an_interrupt_calls_in_the_event_loop_and_the_signals_are_given_back(qtbot: QtBot) -> None:
    before = signal.getsignal(signal.SIGINT)
    told: list[int] = []
    interrupts = Interrupts(lambda: told.append(1))
    os.kill(os.getpid(), signal.SIGINT)
    qtbot.waitUntil(lambda: told == [1])
    interrupts.release()
    assert signal.getsignal(signal.SIGINT) == before
    shiboken6.delete(interrupts)


def test_that_place_and_sizes_are_kept(
    qtbot: QtBot, bridge: EngineBridge, theme: Theme, settings: Settings, window: MainWindow
) -> None:
    window.resize(700, 500)  # the offscreen screen is 800 pixels wide
    window.close()
    again = MainWindow(bridge, theme, settings)
    qtbot.addWidget(again)
    assert again.size() == window.size()


def test_that_window_tabs_and_dialogs_are_collected_when_they_are_gone(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient, theme: Theme, settings: Settings, tmp_path: Path
) -> None:
    window = MainWindow(bridge, theme, settings)
    window.show()
    open_made(qtbot, window, client, tmp_path / "a.pth")
    page = window.documents.page
    assert page is not None
    with qtbot.waitSignal(page.filled):
        pass
    assert page.tree is not None
    window.actions_by_id["go_to_path"].trigger()
    dialog = window.findChild(GoToPathDialog)
    assert isinstance(dialog, GoToPathDialog)
    dialog.reject()
    window.messages.say(Message("info", "something"))
    things = [
        window,
        window.start,
        window.documents,
        window.status,
        window.messages,
        window.messages._rows[0],
        dialog,
    ]
    things += [page, page.tree, page.tree.model, page.tree.view, page.details]
    watched = [weakref.ref(thing) for thing in things]
    del page, dialog, things
    window.close()
    shiboken6.delete(window)
    del window
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert [type(thing) for ref in watched if (thing := ref()) is not None] == []


def test_that_a_real_file_is_opened_by_a_real_engine(
    qtbot: QtBot, live_window: MainWindow, sample_path: Path
) -> None:
    live_window.documents.open_paths([sample_path])
    page = live_window.documents.page
    assert page is not None
    with qtbot.waitSignal(page.filled, timeout=20_000):
        pass
    assert page.tree is not None
    assert page.tree.model.rowCount() > 3
    page.tree.go_to_path("model")
    assert page.details is not None
    assert page.details.node == page.tree.current_node
    assert texts_of(live_window) == []


def test_that_what_is_no_checkpoint_is_said_by_a_real_engine(
    qtbot: QtBot, live_window: MainWindow, tmp_path: Path
) -> None:
    path = tmp_path / "page.pth"
    path.write_text("<!DOCTYPE html><html></html>")
    live_window.documents.open_paths([path, tmp_path / "missing.pth"])
    qtbot.waitUntil(lambda: len(texts_of(live_window)) == 2, timeout=20_000)
    assert live_window.documents.count() == 0
    assert all("page.pth" in text or "missing.pth" in text for text in texts_of(live_window))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_that_the_window_works_on_after_its_engine_was_killed(
    qtbot: QtBot, live_window: MainWindow, engine: EngineClient, sample_paths: tuple[Path, Path]
) -> None:
    live_window.documents.open_paths(sample_paths[:1])
    page = live_window.documents.page
    assert page is not None
    qtbot.waitUntil(lambda: page.tree is not None, timeout=20_000)
    pid = engine.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: len(texts_of(live_window)) == 1, timeout=20_000)
    live_window.documents.open_paths(sample_paths[1:])
    second = live_window.documents.page
    assert second is not None
    qtbot.waitUntil(lambda: second.tree is not None, timeout=20_000)
    assert live_window.documents.count() == 2


def test_that_objects_and_long_names_find_their_place(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, tmp_path: Path
) -> None:
    name = "x" * 180 + ".pth"
    root = {"k" * 10_000: 1, "net": Typed("a.b.Net", {"w": Tensor()}), "line\nbreak": "y" * 5000, "<b>": "&amp;"}
    open_made(qtbot, window, client, tmp_path / name, root)
    assert len(window.documents.tabText(0)) <= 41
    window.grab()
    assert window.width() < 2000
