"""Folders through the same door as files: dropped into the window, opened and measured by a real engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from pytestqt.qtbot import QtBot

from tests.formats.distributed_files import cut, save_pieces
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.window import MainWindow

OPENED_MS = 30_000


@pytest.fixture
def live_window(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, settings: Settings) -> Iterator[MainWindow]:
    window = MainWindow(engine_bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    yield window
    window.close()


def drop(window: MainWindow, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(f"{path}/" if path.is_dir() else str(path))])
    window.dropEvent(
        QDropEvent(
            QPointF(5, 5),
            Qt.DropAction.CopyAction,
            data,
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
        )
    )


def test_that_a_dropped_folder_is_one_document(qtbot: QtBot, live_window: MainWindow, tmp_path: Path) -> None:
    tensor = torch.arange(24.0).reshape(4, 6)
    folder = save_pieces(tmp_path / "dcp", {"w": (tensor.shape, cut(tensor, 2, 2))}, {"step": 3})
    drop(live_window, folder)
    page = live_window.documents.page
    assert page is not None
    assert page.path == folder
    qtbot.waitUntil(lambda: page.checkpoint is not None, timeout=OPENED_MS)
    checkpoint = page.checkpoint
    assert checkpoint is not None
    assert checkpoint.container == "torch distributed"
    assert checkpoint.chunks == []
    assert checkpoint.tensor(0).shape == (4, 6)
    drop(live_window, folder)
    assert len(live_window.documents.pages) == 1
