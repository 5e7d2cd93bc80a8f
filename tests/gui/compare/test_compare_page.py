"""A comparison in its tab, over a real engine, and its item model under Qt's own tester."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from viewer.compare.results import Status
from viewer.gui.compare.cells import Column
from viewer.gui.compare.page import ComparePage
from viewer.gui.documents import side_title
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.theme import Theme
from viewer.gui.tree.delegate import ROW_HEIGHT


@pytest.fixture
def page(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path) -> Iterator[ComparePage]:
    """Two files of which one tensor is the same, one is changed, and one stands on each side alone."""
    same, weight = torch.ones(4), torch.arange(6.0).reshape(2, 3)
    changed = weight.clone()
    changed[1, 2] += 0.5
    torch.save({"same": same, "weight": weight, "old": torch.ones(1)}, tmp_path / "a.pth")
    torch.save({"same": same, "weight": changed, "new": torch.ones(2)}, tmp_path / "b.pth")
    page = ComparePage(engine_bridge, theme, tmp_path / "a.pth", tmp_path / "b.pth")
    qtbot.addWidget(page)
    tester = QAbstractItemModelTester(page.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    page.resize(1200, 800)
    page.show()
    with qtbot.waitSignal(page.finished, timeout=60_000):
        page.start()
    assert tester.model() is page.model
    yield page
    page.close_document()


def cells(page: ComparePage, column: Column) -> list[str]:
    return [page.model.index(row, column).data() for row in range(page.model.rowCount())]


def test_that_each_row_has_its_verdict_and_each_chip_leaves_its_rows(page: ComparePage) -> None:
    verdicts = dict(zip(cells(page, Column.NAME), cells(page, Column.VERDICT), strict=True))
    assert verdicts == {"same": "= identical", "weight": "≠ changed", "old": "− only left", "new": "+ only right"}
    assert cells(page, Column.MAX_ABS)[cells(page, Column.NAME).index("weight")] == "0.5"
    assert [chip.text() for chip in page.filters.chips[1:3]] == ["Differences 3", "Changed 1"]
    page.filters.chips[1].click()
    assert set(cells(page, Column.NAME)) == {"weight", "old", "new"}
    page.filters.chips[3].click()
    assert cells(page, Column.NAME) == ["old"]


def test_that_the_next_difference_is_gone_to_and_drawn(qtbot: QtBot, page: ComparePage) -> None:
    page.next_difference()
    comparison = page.comparison
    assert comparison is not None
    assert comparison.path_a(page.view.current_row) == "weight"
    qtbot.waitUntil(lambda: page.details.plots is not None and not page.details.message, timeout=20_000)
    assert page.details.largest.texts()[0] == ("[1, 2]", "5", "5.5", "0.5", "1,048,576")


def test_that_swapping_exchanges_only_left_and_only_right(qtbot: QtBot, page: ComparePage) -> None:
    with qtbot.waitSignal(page.finished, timeout=20_000):
        page.swap()
    assert page.title == "b.pth ⇄ a.pth"
    comparison = page.comparison
    assert comparison is not None
    removed = [row for row in comparison.counted_rows() if comparison.status(row) == Status.REMOVED]
    assert [comparison.path_a(row) for row in removed] == ["new"]


def test_that_rows_are_as_high_as_those_of_a_document(page: ComparePage) -> None:
    heights = {page.view.rowHeight(page.model.index(row, 0)) for row in range(page.model.rowCount())}
    assert heights == {ROW_HEIGHT}


def test_that_a_selected_row_keeps_the_colours_of_its_sides_on_screen(qtbot: QtBot, page: ComparePage) -> None:
    index = page.model.index(cells(page, Column.NAME).index("weight"), Column.LEFT)
    page.view.setCurrentIndex(index)
    assert page.view.selectionModel().isSelected(index)
    wanted = index.data(Qt.ItemDataRole.ForegroundRole)
    picture = page.view.viewport().grab(page.view.visualRect(index)).toImage()
    painted = {picture.pixelColor(x, y).name() for x in range(picture.width()) for y in range(picture.height())}
    assert QColor(wanted).name() in painted


@pytest.mark.parametrize(
    ("name", "title"),
    [("m.pth", "m.pth"), ("a-very-long-run-name-of-some-model-step-0400.pth", "a-very-lon…p-0400.pth")],
)
def test_that_the_tab_of_a_comparison_shortens_each_name_by_itself(name: str, title: str) -> None:
    assert side_title(Path("/runs") / name) == title
