"""Notes of the running window, the word after a crash, and the report of a fault."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import Tensor, make_checkpoint
from viewer import __version__
from viewer.desktop.state import RunNote, state_folder
from viewer.engine.faults import EngineFault
from viewer.errors import EngineLost, MalformedFile
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.habits.crash_watch import CrashWatch, report_text
from viewer.gui.message_bar import Message
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.window import MainWindow


@pytest.fixture
def window(qtbot: QtBot, bridge: EngineBridge, theme: Theme, settings: Settings) -> Iterator[MainWindow]:
    window = MainWindow(bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    yield window
    window.habits.crash_watch.release()


def notes() -> dict[str, list[str]]:
    folder = state_folder()
    assert folder is not None
    return {path.name: json.loads(path.read_text()) for path in folder.glob("run-*.json")}


def leave_note(session: list[str], fault: str = "") -> None:
    """As a window of another process that did not end properly."""
    folder = state_folder()
    assert folder is not None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run-1.lock").touch()
    (folder / "run-1.json").write_text(json.dumps(session))
    (folder / "run-1.fault").write_text(fault)


def test_that_the_note_follows_the_tabs_and_goes_with_the_window(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    watch = window.habits.crash_watch
    watch.start()
    paths = [tmp_path / "a.pth", tmp_path / "b.pth"]
    window.documents.open_paths(paths)
    wanted = [f" {json.dumps(str(paths[0]))}", f"*{json.dumps(str(paths[1]))}"]
    qtbot.waitUntil(lambda: list(notes().values()) == [wanted])
    window.documents.setCurrentIndex(0)
    qtbot.waitUntil(lambda: next(iter(notes().values()))[0].startswith("*"))
    window.documents.close_tab(1)
    qtbot.waitUntil(lambda: len(next(iter(notes().values()))) == 1)
    watch.release()
    assert notes() == {}


def test_that_the_start_after_a_crash_says_so_and_offers_what_was_open(window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "open.pth"
    leave_note([f"*{json.dumps(str(path))}"], "Fatal Python error: Segmentation fault")
    window.habits.crash_watch.start()
    (message,) = window.messages.messages
    assert "unexpectedly" in message.text
    assert "Segmentation fault" in message.details
    (button,) = [each for each in window.messages.findChildren(QPushButton) if each.text() == "Open what was open"]
    button.click()
    assert [page.path for page in window.documents.pages] == [path]
    folder = state_folder()
    assert folder is not None
    assert "Segmentation fault" in (folder / "checkpoint-viewer.log").read_text()


def test_that_a_start_after_a_proper_end_says_nothing(window: MainWindow) -> None:
    note = RunNote()
    note.start()
    note.release()
    window.habits.crash_watch.start()
    assert window.messages.messages == []


def test_that_a_crash_with_nothing_open_offers_nothing(window: MainWindow) -> None:
    leave_note([])
    window.habits.crash_watch.start()
    (message,) = window.messages.messages
    assert message.action == ""


def test_that_a_fault_is_logged_and_its_report_has_versions_and_file_facts_but_no_values(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    window.report_fault("ValueError: odd", f'File "{tmp_path}/viewer/x.py", line 1\nValueError: odd')
    (button,) = [each for each in window.messages.findChildren(QPushButton) if each.text() == "Copy report"]
    button.click()
    report = QApplication.clipboard().text()
    assert report.startswith(f"checkpoint-viewer {__version__}\nPython {sys.version.split()[0]}\n")
    assert 'File "~/viewer/x.py"' in report
    folder = state_folder()
    assert folder is not None
    assert "ValueError: odd" in (folder / "checkpoint-viewer.log").read_text()


def test_that_a_report_tells_what_kind_of_file_was_open_and_not_which(tmp_path: Path) -> None:
    tree = {"secret": {"weight": Tensor((4, 3))}, "epoch": 12345}
    checkpoint = make_checkpoint(tree, tmp_path / "private-name.pth", ())
    text = report_text(Message("error", "went wrong"), [checkpoint])
    assert f"{len(checkpoint.nodes):,} nodes, 1 tensors" in text
    assert checkpoint.container in text
    for word in ("secret", "12345", "private-name", str(tmp_path)):
        assert word not in text


@pytest.mark.parametrize(
    ("error", "report"),
    [
        (EngineFault("a fault", details="Traceback"), True),
        (MalformedFile("broken"), False),
        (EngineLost("ended"), False),
    ],
)
def test_that_a_report_is_offered_for_faults_of_the_program(error: MalformedFile, report: bool) -> None:
    assert Message.of(error).report is report


def test_that_a_watch_whose_folder_cannot_be_written_says_nothing(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    watch = CrashWatch(window.documents, window)
    said: list[Message] = []
    watch.said.connect(said.append)
    watch.start()
    window.report_fault("ValueError", "trace")
    watch.release()
    assert said == []


def test_that_a_long_message_takes_as_many_lines_as_it_needs(qtbot: QtBot, window: MainWindow) -> None:
    window.resize(700, 500)
    window.messages.say(Message("error", "short"))
    one_line = window.messages.sizeHint().height()
    window.messages.say(Message("error", "many words " * 40, key="long"))
    qtbot.waitUntil(lambda: window.messages.height() > one_line + 5 * window.messages.fontMetrics().lineSpacing())
    assert window.minimumHeight() == 420


def test_that_a_message_that_begins_with_an_arabic_name_runs_from_left_to_right(window: MainWindow) -> None:
    text = "نموذج.pth is open"
    window.messages.say(Message("info", text))
    (label,) = [each for each in window.messages.findChildren(QLabel) if each.text().endswith("is open")]
    assert label.text() == f"\u200e{text}"
    assert window.messages.messages[0].text == text
