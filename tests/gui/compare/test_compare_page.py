"""A comparison in its tab, over a real engine, and its item model under Qt's own tester."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.compare.pages import PATIENCE_MS, cells, compared, go_to, make_page, verdicts
from viewer.compare.results import Status
from viewer.gui.compare.cells import Column
from viewer.gui.compare.page import ComparePage
from viewer.gui.compare.pair_tabs import MAPS
from viewer.gui.compare.session import Side
from viewer.gui.documents import side_title
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.format import format_number
from viewer.gui.theme import Theme
from viewer.gui.tree.delegate import ROW_HEIGHT


@pytest.fixture
def page(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path) -> Iterator[ComparePage]:
    """Two files of which one tensor is the same, one is changed, and one stands on each side alone."""
    same, weight = torch.ones(4), torch.arange(6.0).reshape(2, 3)
    changed = weight.clone()
    changed[1, 2] += 0.5
    texts = "the quick brown fox", "the slow brown fox"
    torch.save(
        {"same": same, "weight": weight, "old": torch.ones(1), "lr": 0.5, "note": texts[0]}, tmp_path / "a.pth"
    )
    torch.save(
        {"same": same, "weight": changed, "new": torch.ones(2), "lr": 0.25, "note": texts[1]}, tmp_path / "b.pth"
    )
    page = make_page(qtbot, engine_bridge, theme, Side(tmp_path / "a.pth"), Side(tmp_path / "b.pth"))
    tester = QAbstractItemModelTester(page.tree.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    with qtbot.waitSignal(page.finished, timeout=PATIENCE_MS):
        page.start()
    assert tester.model() is page.tree.model
    yield page
    page.close_document()


def test_that_each_row_has_its_verdict_and_each_chip_leaves_its_rows(page: ComparePage) -> None:
    found = verdicts(page)
    assert found.pop("Overview") == "− 1 only left · 4 more"
    assert found == {
        "same": "= identical",
        "weight": "≠ changed",
        "lr": "≠ changed",
        "note": "≠ changed",
        "old": "− only left",
        "new": "+ only right",
    }
    assert cells(page, Column.MAX_ABS)[cells(page, Column.NAME).index("weight")] == "0.5"
    assert [chip.text() for chip in page.tree.filters.chips[1:3]] == ["Differences 5", "Changed 3"]
    page.tree.filters.chips[1].click()
    assert set(cells(page, Column.NAME)) == {"weight", "lr", "note", "old", "new"}
    page.tree.filters.chips[3].click()
    assert cells(page, Column.NAME) == ["old"]


def test_that_a_comparison_begins_with_its_overview(page: ComparePage) -> None:
    assert page.details.overview.isVisible()
    assert page.details.overview.totals.texts()[0] == ("− only left", "1")
    layers = {layer.name: layer for layer in page.details.overview.chart.layers}
    assert layers["same"].is_frozen
    assert layers["weight"].changed == 1
    page.details.overview.row_wanted.emit(layers["weight"].row)
    assert page.comparison is not None
    assert page.comparison.path_a(page.tree.current_row) == "weight"


def test_that_the_next_difference_is_gone_to_and_drawn(qtbot: QtBot, page: ComparePage) -> None:
    page.next_difference()
    comparison = page.comparison
    assert comparison is not None
    assert comparison.path_a(page.tree.current_row) == "weight"
    qtbot.waitUntil(lambda: page.details.shows_pair, timeout=20_000)
    tabs = page.details.tabs
    assert tabs.largest.texts()[0] == ("[1, 2]", "5", "5.5", "0.5", "1,048,576")
    figures = {row[0]: row[1:] for row in page.details.sides.texts()}
    assert figures["mean"] == ("2.5", "2.58333")
    values = [torch.arange(6.0), torch.tensor([0, 1, 2, 3, 4, 5.5])]
    assert figures["std"] == tuple(format_number(float(side.double().std(correction=0))) for side in values)
    assert tabs.both.drawing is not None
    assert [sum(series.heights) for series in tabs.both.drawing.series] == [6, 6]


def test_that_the_difference_is_drawn_on_both_scales_and_zoomed(qtbot: QtBot, page: ComparePage) -> None:
    go_to(page, "weight")
    qtbot.waitUntil(lambda: page.details.shows_pair, timeout=20_000)
    chart, scale = page.details.tabs.difference, page.details.tabs.scale
    for choice in (0, 1):
        scale.setCurrentIndex(choice)
        assert chart.drawing is not None
        assert sum(chart.drawing.series[0].heights) == 6
    before = chart.visible_range
    chart.zoom(0.5)
    low, high = chart.visible_range
    assert high - low == pytest.approx((before[1] - before[0]) / 2)
    chart.reset()
    assert chart.visible_range == before


def turn_wheel(widget: QWidget, notches: int) -> None:
    """Forwards over the middle of a widget: nearer."""
    middle = QPointF(widget.rect().center())
    QApplication.sendEvent(
        widget,
        QWheelEvent(
            middle,
            widget.mapToGlobal(middle),
            QPoint(),
            QPoint(0, 120 * notches),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        ),
    )


def test_that_the_wheel_and_the_keys_work_in_plots_and_maps(qtbot: QtBot, page: ComparePage) -> None:
    go_to(page, "weight")
    qtbot.waitUntil(lambda: page.details.shows_pair, timeout=20_000)
    tabs = page.details.tabs
    before = tabs.both.visible_range
    turn_wheel(tabs.both, 2)
    low, high = tabs.both.visible_range
    assert high - low == pytest.approx((before[1] - before[0]) * 0.64)
    qtbot.keyClick(tabs.both, Qt.Key.Key_Home)
    assert tabs.both.visible_range == before
    qtbot.keyClick(tabs.both, Qt.Key.Key_Right)
    assert "left" in tabs.both.accessibleDescription()
    tabs.go_to(MAPS)
    qtbot.waitUntil(lambda: tabs.maps.maps is not None, timeout=20_000)
    tabs.maps.set_cross(0, 0)
    qtbot.keyClick(tabs.maps, Qt.Key.Key_Down)
    qtbot.keyClick(tabs.maps, Qt.Key.Key_Right)
    assert tabs.maps.cross == (1, 1)
    assert "left    4" in tabs.maps.tip_text


def test_that_maps_zoom_together_and_ask_for_what_they_show(
    qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path
) -> None:
    a = torch.arange(500.0 * 700).reshape(500, 700)
    b = a.clone()
    b[250, 350] += 1
    for name, value in (("a.pth", a), ("b.pth", b)):
        torch.save({"w": value}, tmp_path / name)
    page = compared(qtbot, engine_bridge, theme, Side(tmp_path / "a.pth"), Side(tmp_path / "b.pth"))
    go_to(page, "w")
    qtbot.waitUntil(lambda: page.details.shows_pair, timeout=20_000)
    maps = page.details.tabs.maps
    page.details.tabs.go_to(MAPS)
    qtbot.waitUntil(lambda: maps.maps is not None, timeout=20_000)
    assert maps.maps is not None
    assert not maps.maps.is_exact
    for _ in range(6):
        turn_wheel(maps, 2)
    assert maps.view.width() < 60
    qtbot.waitUntil(lambda: maps.maps is not None and maps.maps.is_exact, timeout=20_000)
    maps.set_cross(250, 350)
    assert maps.tip_text.split("\n") == ["[250, 350]", "left    175,350", "right   175,351", "|b−a|   1"]
    maps.reset()
    assert (maps.view.width(), maps.view.height()) == (700, 500)
    page.close_document()


def test_that_a_click_on_a_large_difference_sets_the_cross_hair_of_all_maps(qtbot: QtBot, page: ComparePage) -> None:
    go_to(page, "weight")
    qtbot.waitUntil(lambda: page.details.shows_pair, timeout=20_000)
    tabs = page.details.tabs
    tabs.largest.clicked.emit(tabs.largest.cells.index(0, 0))
    tabs.go_to(MAPS)
    qtbot.waitUntil(lambda: tabs.maps.maps is not None, timeout=20_000)
    assert tabs.maps.cross == (1, 2)
    maps = tabs.maps.maps
    assert maps is not None
    assert maps.is_exact
    assert tabs.maps.tip_text.split("\n")[1:] == ["left    5", "right   5.5", "|b−a|   0.5"]


def test_that_two_texts_are_one_with_their_words_marked(page: ComparePage) -> None:
    go_to(page, "note")
    assert page.details.text.isVisible()
    assert page.details.text.toPlainText().strip() == "the −quick+slow brown fox"


def test_that_two_numbers_have_their_difference(page: ComparePage) -> None:
    go_to(page, "lr")
    assert ("right − left", "−0.25") in page.details.measures.texts()


def test_that_swapping_exchanges_only_left_and_only_right(qtbot: QtBot, page: ComparePage) -> None:
    with qtbot.waitSignal(page.finished, timeout=20_000):
        page.swap()
    assert page.title == "b.pth ⇄ a.pth"
    comparison = page.comparison
    assert comparison is not None
    removed = [row for row in comparison.counted_rows() if comparison.status(row) == Status.REMOVED]
    assert [comparison.path_a(row) for row in removed] == ["new"]


def test_that_a_side_is_changed_and_the_other_file_stays_open(
    qtbot: QtBot, page: ComparePage, tmp_path: Path
) -> None:
    torch.save({"same": torch.ones(4)}, tmp_path / "c.pth")
    left = page.session.documents
    assert left is not None
    with qtbot.waitSignal(page.finished, timeout=20_000):
        page.header.right.path_chosen.emit(tmp_path / "c.pth")
    assert page.title == "a.pth ⇄ c.pth"
    documents = page.session.documents
    assert documents is not None
    assert documents[0] == left[0]
    assert verdicts(page)["same"] == "= identical"


def test_that_siblings_are_sorted_by_change_and_back(page: ComparePage) -> None:
    natural = cells(page, Column.NAME)
    page.sort_by_change()
    assert cells(page, Column.NAME)[:2] == ["Overview", "weight"]
    assert page.tree.model.headerData(Column.REL_NORM, Qt.Orientation.Horizontal) == "▾ ‖a−b‖/‖a‖"
    page.sort_by_change()
    assert cells(page, Column.NAME) == natural


def test_that_a_name_filter_leaves_its_rows(qtbot: QtBot, page: ComparePage) -> None:
    page.tree.filters.text.setText("EIG")
    qtbot.waitUntil(lambda: cells(page, Column.NAME) == ["weight"])
    page.tree.filters.clear()
    assert len(cells(page, Column.NAME)) == 7


def test_that_rows_are_as_high_as_those_of_a_document(page: ComparePage) -> None:
    model = page.tree.model
    heights = {page.tree.view.rowHeight(model.index(row, 0)) for row in range(model.rowCount())}
    assert heights == {ROW_HEIGHT}


def test_that_a_selected_row_keeps_the_colours_of_its_sides_on_screen(qtbot: QtBot, page: ComparePage) -> None:
    view = page.tree.view
    index = page.tree.model.index(cells(page, Column.NAME).index("weight"), Column.LEFT)
    view.setCurrentIndex(index)
    assert view.selectionModel().isSelected(index)
    wanted = index.data(Qt.ItemDataRole.ForegroundRole)
    picture = view.viewport().grab(view.visualRect(index)).toImage()
    painted = {picture.pixelColor(x, y).name() for x in range(picture.width()) for y in range(picture.height())}
    assert QColor(wanted).name() in painted


def test_that_colours_follow_the_theme(qtbot: QtBot, page: ComparePage, theme: Theme) -> None:
    go_to(page, "weight")
    qtbot.waitUntil(lambda: page.details.shows_pair, timeout=20_000)
    chart = page.details.tabs.both

    def painted() -> set[str]:
        picture = chart.grab().toImage()
        return {picture.pixelColor(x, y).name() for x in range(picture.width()) for y in range(picture.height())}

    assert theme.color("left").name() in painted()
    theme.set_choice("dark")
    assert theme.color("left").name() in painted()
    index = page.tree.model.index(0, Column.RIGHT)
    assert index.data(Qt.ItemDataRole.ForegroundRole) == theme.color("right")


@pytest.mark.parametrize(
    ("name", "title"),
    [("m.pth", "m.pth"), ("a-very-long-run-name-of-some-model-step-0400.pth", "a-very-lon…p-0400.pth")],
)
def test_that_the_tab_of_a_comparison_shortens_each_name_by_itself(name: str, title: str) -> None:
    assert side_title(Path("/runs") / name) == title


def test_that_two_parts_of_one_file_are_compared(
    qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path
) -> None:
    path = tmp_path / "both.pth"
    live = {"fc.weight": torch.ones(3), "fc.bias": torch.zeros(2)}
    torch.save({"model": live, "ema": {**live, "fc.weight": torch.full((3,), 1.5)}}, path)
    page = compared(qtbot, engine_bridge, theme, Side(path, "model"), Side(path, "ema"))
    documents = page.session.documents
    assert documents is not None
    assert documents[0] == documents[1]
    assert verdicts(page)["fc.weight"] == "≠ changed"
    go_to(page, "model/fc.weight")
    qtbot.waitUntil(lambda: page.details.shows_pair, timeout=20_000)
    page.close_document()


def test_that_a_pair_of_single_tensors_has_a_row_of_its_own(
    qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path
) -> None:
    path = tmp_path / "both.pth"
    torch.save({"a": torch.ones(3), "b": torch.zeros(3)}, path)
    page = compared(qtbot, engine_bridge, theme, Side(path, "a"), Side(path, "b"))
    assert verdicts(page) == {"a": "≠ changed"}
    qtbot.waitUntil(lambda: page.details.shows_pair, timeout=20_000)
    page.close_document()
