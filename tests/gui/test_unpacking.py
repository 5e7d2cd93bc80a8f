"""A compressed checkpoint: said, unpacked to a chosen place by a real engine, and opened."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.unpacking import unpacked_path
from viewer.gui.window import MainWindow

OPENED_MS = 30_000


@pytest.fixture
def live_window(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, settings: Settings) -> Iterator[MainWindow]:
    window = MainWindow(engine_bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    yield window
    window.close()


def choose(window: MainWindow, target: Path) -> None:
    action = window.messages.messages[0].on_action
    assert action is not None
    action()
    dialog = window.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.fileSelected.emit(str(target))
    dialog.reject()


def test_that_a_compressed_checkpoint_is_unpacked_to_a_chosen_place_and_opened(
    qtbot: QtBot, live_window: MainWindow, sample_path: Path, tmp_path: Path
) -> None:
    packed, target = tmp_path / "model.pth.gz", tmp_path / "model.pth"
    packed.write_bytes(gzip.compress(sample_path.read_bytes()))
    live_window.documents.open_paths([packed])
    qtbot.waitUntil(lambda: bool(live_window.messages.messages), timeout=OPENED_MS)
    message = live_window.messages.messages[0]
    assert message.action == "Unpack…"
    assert "gzip" in message.text
    choose(live_window, target)
    qtbot.waitUntil(lambda: live_window.documents.page is not None, timeout=OPENED_MS)
    page = live_window.documents.page
    assert page is not None
    qtbot.waitUntil(lambda: page.checkpoint is not None, timeout=OPENED_MS)
    assert page.path == target
    assert target.read_bytes() == sample_path.read_bytes()


def test_that_a_place_that_cannot_be_written_is_said_and_another_can_be_chosen(
    qtbot: QtBot, live_window: MainWindow, sample_path: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "model.pth.gz"
    packed.write_bytes(gzip.compress(sample_path.read_bytes()))
    live_window.documents.open_paths([packed])
    qtbot.waitUntil(lambda: bool(live_window.messages.messages), timeout=OPENED_MS)
    choose(live_window, tmp_path / "nowhere" / "model.pth")
    qtbot.waitUntil(lambda: bool(live_window.messages.messages), timeout=OPENED_MS)
    assert live_window.messages.messages[0].action == "Unpack…"
    assert live_window.documents.count() == 0
    assert sorted(path.name for path in tmp_path.glob("model*")) == ["model.pth.gz"]


@pytest.mark.parametrize(("packed", "proposed"), [("m.pth.gz", "m.pth"), ("m.XZ", "m"), ("m.pth", "m-unpacked.pth")])
def test_that_a_name_is_proposed_that_is_not_the_files_own(packed: str, proposed: str) -> None:
    assert unpacked_path(Path("/x") / packed) == Path("/x") / proposed
