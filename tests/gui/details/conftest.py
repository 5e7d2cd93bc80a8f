"""A checkpoint made by hand, and a panel that talks to a client answered by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.gui.details.handmade import HandClient, bridge_to, training_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.panel import DetailsPanel
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.theme import Theme


@pytest.fixture(autouse=True)
def widgets_gone(qapp: QApplication) -> Iterator[None]:
    """Delete what a test closed: no event loop runs between tests, and each style sheet would visit the dead too."""
    yield
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def checkpoint() -> Checkpoint:
    return training_checkpoint()


@pytest.fixture
def client() -> HandClient:
    return HandClient()


@pytest.fixture
def bridge(qapp: QApplication, client: HandClient) -> Iterator[EngineBridge]:
    bridge = bridge_to(client)
    yield bridge
    bridge.close()
    shiboken6.delete(bridge)


@pytest.fixture
def panel(qtbot: QtBot, bridge: EngineBridge, theme: Theme) -> DetailsPanel:
    panel = DetailsPanel(bridge, theme)
    qtbot.addWidget(panel)
    panel.resize(900, 760)
    panel.show()
    return panel
