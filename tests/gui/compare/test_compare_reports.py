"""Reports of a comparison, written by the engine."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.gui.compare.pages import compared
from viewer.engine.compare_requests import ReportFormat
from viewer.gui.compare.page import ComparePage
from viewer.gui.compare.session import Side
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.message_bar import Message
from viewer.gui.theme import Theme


@pytest.fixture
def page(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path) -> Iterator[ComparePage]:
    torch.save({"w": torch.ones(2), "lr": 0.1}, tmp_path / "a.pth")
    torch.save({"w": torch.tensor([1.0, 3.0]), "lr": 0.1}, tmp_path / "b.pth")
    page = compared(qtbot, engine_bridge, theme, Side(tmp_path / "a.pth"), Side(tmp_path / "b.pth"))
    yield page
    page.close_document()


def written(qtbot: QtBot, page: ComparePage, format_: ReportFormat, target: Path) -> Message:
    """What is said when the report is there, or cannot be."""
    with qtbot.waitSignal(page.said, timeout=20_000) as said:
        page.exporter.write(format_, target)
    message = said.args[0]
    assert isinstance(message, Message)
    return message


def test_that_each_format_holds_what_was_compared(qtbot: QtBot, page: ComparePage, tmp_path: Path) -> None:
    for format_ in ("html", "json", "csv", "text"):
        assert written(qtbot, page, format_, tmp_path / f"report.{format_}").kind == "ok"
    entries = {entry["path"]: entry for entry in json.loads((tmp_path / "report.json").read_text())["entries"]}
    assert entries["w"]["max_abs"] == 2.0
    with (tmp_path / "report.csv").open(newline="") as file:
        rows = {row["path"]: row for row in csv.DictReader(file)}
    assert rows["w"]["status"] == "changed"
    assert "same 1 tensor, 1 changed" in (tmp_path / "report.text").read_text()
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_that_a_report_never_takes_the_place_of_a_compared_file(
    qtbot: QtBot, page: ComparePage, tmp_path: Path
) -> None:
    before = (tmp_path / "a.pth").read_bytes()
    message = written(qtbot, page, "html", tmp_path / "a.pth")
    assert message.kind == "error"
    assert "one of the files compared" in message.text
    assert (tmp_path / "a.pth").read_bytes() == before


def test_that_the_text_is_copied(qtbot: QtBot, page: ComparePage) -> None:
    with qtbot.waitSignal(page.said, timeout=20_000):
        page.exporter.copy()
    assert "same 1 tensor, 1 changed" in QGuiApplication.clipboard().text()
