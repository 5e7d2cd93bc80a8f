"""The page of the round trip on the engine's own task: what it shows, copies and opens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from tests.gui.details.inline_client import DOCUMENT, Stage
from viewer.engine.roundtrip_requests import KeepCopy, TryRoundTrip
from viewer.gui.details.tabs import TabPage
from viewer.gui.roundtrip.page import RoundTripPage
from viewer.gui.roundtrip.tab import roundtrip_tab
from viewer.gui.theme import Theme

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture
def stage(tmp_path: Path, theme: Theme) -> Iterator[Stage]:
    stage = Stage(tmp_path, theme, {"w": torch.tensor([1.5, math.nan, 0.1]), "b": torch.zeros(2).bfloat16()})
    yield stage
    stage.bridge.close()


@pytest.fixture
def compared() -> list[tuple[Path, Path]]:
    return []


@pytest.fixture
def page(stage: Stage, compared: list[tuple[Path, Path]], qtbot: QtBot, tmp_path: Path) -> RoundTripPage:
    page = RoundTripPage(stage.tools, lambda a, b: compared.append((a, b)), new_folder=lambda: tmp_path / "kept")
    page.bytes.setChecked(False)
    qtbot.addWidget(page)
    page.resize(800, 600)
    page.show()
    qtbot.waitExposed(page)
    return page


def tried(page: RoundTripPage, stage: Stage, qtbot: QtBot, name: str) -> dict[str, list[str]]:
    page.show_node(DOCUMENT, stage.checkpoint, stage.node(name))
    page.start()
    qtbot.waitUntil(lambda: not page.again.isHidden())
    rows = range(page.model.rowCount())
    cells = [[str(page.model.data(page.model.index(row, column))) for column in range(5)] for row in rows]
    return {page.model.results[row].way.name: line for row, line in zip(rows, cells, strict=True)}


def select(page: RoundTripPage, way: str) -> None:
    row = next(row for row, result in enumerate(page.model.results) if result.way.name == way)
    page.table.setCurrentIndex(page.model.index(row, 0))


def test_that_nothing_is_tried_before_the_button_is_pressed(page: RoundTripPage, stage: Stage) -> None:
    page.show_node(DOCUMENT, stage.checkpoint, stage.node("w"))
    page.set_active(True)
    assert stage.client.requests == []
    assert "Nothing of the file is executed" in page.notice.text
    assert page.notice.action == "Save and reload"


def test_that_ways_and_findings_fill_the_table(page: RoundTripPage, stage: Stage, qtbot: QtBot) -> None:
    QAbstractItemModelTester(page.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    rows = tried(page, stage, qtbot, "w")
    assert rows["torch.save"][1:] == ["= same", "nothing", "its own", "not compared"]
    assert rows["detach"][3] == "shared"
    assert rows["cast-bfloat16"][1:3] == ["≠ rounded", "bits, numbers"]
    assert rows["state_dict"][1] == "✕ failed"
    assert page.said.text() == "1 tensor, 12 B, on cpu"
    select(page, "torch.save")
    assert "NaN == NaN is False" in page.words.text()
    select(page, "cast-bfloat16")
    assert "elements have other bits" in page.words.text()
    rows = tried(page, stage, qtbot, "b")
    assert "BFloat16" in rows["numpy"][2]
    select(page, "numpy")
    assert not page.look.isEnabled()


def test_that_a_row_is_copied_as_a_program_that_repeats_it(
    page: RoundTripPage, stage: Stage, qtbot: QtBot, capsys: pytest.CaptureFixture[str]
) -> None:
    tried(page, stage, qtbot, "w")
    select(page, "cast-bfloat16")
    page.copy_snippet()
    exec(compile(QGuiApplication.clipboard().text(), "copied", "exec"), {})  # the program is what is tested
    said = capsys.readouterr().out
    assert "same bits: False" in said
    select(page, "clone")
    page.copy_snippet()
    exec(compile(QGuiApplication.clipboard().text(), "copied", "exec"), {})
    said = capsys.readouterr().out
    assert "same bits: True" in said
    assert "(x == y).all(): False" in said
    assert "shares memory: False" in said
    page.copy_all()
    assert QGuiApplication.clipboard().text().startswith("Way\tFinding\t")


def test_that_original_and_copy_can_be_compared(
    page: RoundTripPage, stage: Stage, compared: list[tuple[Path, Path]], qtbot: QtBot
) -> None:
    tried(page, stage, qtbot, "w")
    select(page, "cast-float16")
    page.look.click()
    qtbot.waitUntil(lambda: bool(compared))
    (asked,) = stage.client.of(KeepCopy)
    assert asked.way == "cast-float16"
    ((original, copy),) = compared
    assert torch.load(original, weights_only=True).tolist()[0] == 1.5
    assert torch.load(copy, weights_only=True)[2].item() == torch.tensor(0.1).half().item()


def test_that_something_large_is_asked_about_first(
    page: RoundTripPage, stage: Stage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewer.roundtrip.task.LARGE_NBYTES", 4)
    page.show_node(DOCUMENT, stage.checkpoint, stage.node("w"))
    page.start()
    qtbot.waitUntil(lambda: page.notice.action == "Try it all the same")
    assert "three copies" in page.notice.text
    page.notice.acted.emit()
    qtbot.waitUntil(lambda: page.model.rowCount() > 5)
    assert [request.large for request in stage.client.of(TryRoundTrip)] == [False, True]


def test_that_a_new_node_stops_what_runs_and_a_theme_recolours(
    page: RoundTripPage, stage: Stage, qtbot: QtBot, theme: Theme
) -> None:
    stage.client.is_holding = True
    page.show_node(DOCUMENT, stage.checkpoint, stage.node("w"))
    page.start()
    assert not page.cancel.isHidden()
    page.show_node(DOCUMENT, stage.checkpoint, stage.node("b"))
    assert stage.client.cancelled == [1]
    stage.client.release()
    assert page.model.rowCount() == 0
    tried(page, stage, qtbot, "w")
    colours = set()
    for choice in ("light", "dark"):
        theme.set_choice(choice)  # type: ignore[arg-type]
        colour = page.model.data(page.model.index(0, 1), Qt.ItemDataRole.ForegroundRole)
        assert isinstance(colour, QColor)
        colours.add(colour.name())
    assert len(colours) == 2


def test_that_tensors_and_containers_have_the_tab_and_scalars_do_not(stage: Stage, qtbot: QtBot) -> None:
    spec = roundtrip_tab(lambda _a, _b: None)
    assert spec.suits(stage.checkpoint, 0)
    assert spec.suits(stage.checkpoint, stage.node("w"))
    made: TabPage = spec.make(stage.tools, None)  # type: ignore[arg-type]
    assert isinstance(made, RoundTripPage)
    qtbot.addWidget(made)
