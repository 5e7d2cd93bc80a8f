"""A theme, a client that answers when it is told to, and a real engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.gui.scripted_client import ScriptedClient
from viewer.engine.client import EngineClient
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.mailbox import Mailbox
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme


@pytest.fixture(scope="session")
def fusion(qapp: QApplication) -> QApplication:
    """The application in its style. Set once, as in the program: PySide 6.11 crashes now and then where a style is
    replaced while a style sheet stands on it."""
    qapp.setStyle("Fusion")
    return qapp


@pytest.fixture
def theme(fusion: QApplication) -> Iterator[Theme]:
    """The light theme, applied to the application."""
    font = fusion.font()
    theme = Theme(fusion, "light")
    yield theme
    shiboken6.delete(theme)
    fusion.setFont(font)


@pytest.fixture
def client() -> ScriptedClient:
    return ScriptedClient()


@pytest.fixture
def bridge(qapp: QApplication, client: ScriptedClient) -> Iterator[EngineBridge]:
    """A bridge over the scripted client."""
    bridge = EngineBridge(client, client.mailbox)
    yield bridge
    bridge.close()
    shiboken6.delete(bridge)


@pytest.fixture
def engine(qapp: QApplication) -> Iterator[EngineClient]:
    """A client whose engine runs."""
    mailbox = Mailbox()
    client = EngineClient(mailbox.put)
    client.mailbox = mailbox  # type: ignore[attr-defined]  # for `engine_bridge` alone
    client.start()
    yield client
    client.close()


@pytest.fixture
def engine_bridge(engine: EngineClient) -> Iterator[EngineBridge]:
    """A bridge over a real engine."""
    bridge = EngineBridge(engine, engine.mailbox)  # type: ignore[attr-defined]
    yield bridge
    bridge.close()
    shiboken6.delete(bridge)


@pytest.fixture
def settings(tmp_path: Path, qtbot: QtBot) -> Settings:
    """Settings in a file of the test's own."""
    return Settings(tmp_path / "settings.ini")
