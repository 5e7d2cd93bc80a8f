"""The page of a comparison that accounts for every byte."""

from __future__ import annotations

from pathlib import Path

import torch
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tests.gui.compare.pages import PATIENCE_MS, compared
from tests.gui.scripted_client import ScriptedClient
from viewer.engine.export_requests import Explain
from viewer.errors import Cancelled, ViewerError
from viewer.gui.compare.session import Side
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.export.explain_panel import ExplainPanel
from viewer.gui.theme import Theme


def count(text: str) -> int:
    return int(text.replace(",", ""))


def test_that_every_byte_of_two_files_is_accounted_for_in_their_comparison(
    qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path
) -> None:
    content = {"w": torch.arange(6.0), "n": 1}
    a, b = tmp_path / "a.pt", tmp_path / "other.pt"
    torch.save(content, a)
    torch.save(content, b)
    page = compared(qtbot, engine_bridge, theme, Side(a), Side(b))
    page.why.click()
    panel = page.pages.panel
    assert panel is not None
    qtbot.waitUntil(lambda: panel.explanation is not None, timeout=PATIENCE_MS)
    assert panel.explanation is not None
    assert panel.explanation.same_content
    assert panel.verdict.text().lower() == panel.explanation.verdict.lower()
    rows = panel.found.tables[0].texts()
    assert sum(count(row[2]) for row in rows) == a.stat().st_size
    assert sum(count(row[3]) for row in rows) == b.stat().st_size
    assert rows[-1] == ("unexplained", "", "0", "0", "")
    panel.back.click()
    assert page.tree.isVisible()
    page.close_document()


def test_that_it_can_be_cancelled_and_tried_again(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient, theme: Theme
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    panel = ExplainPanel(bridge, theme, parent)
    parent.show()
    panel.explain(1, 2)
    panel.explain(1, 2)  # asked once for the same two
    assert client.jobs_of(Explain) == [1]
    panel.running.cancel.click()
    assert client.cancelled == [1]
    client.fail(1, Cancelled("cancelled"))
    qtbot.waitUntil(lambda: panel.verdict.text() == "Cancelled")
    panel.again.click()
    client.fail(2, ViewerError("the file changed on disk"))
    qtbot.waitUntil(lambda: panel.told.text() == "the file changed on disk")
    panel.release()
