"""The histogram plot: what it draws, what it tells at a bin, how it moves."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from viewer.gui.details.bins import LOG_FLOOR, Bins
from viewer.gui.details.histogram_plot import HistogramPlot
from viewer.gui.theme import DARK, LIGHT, Theme

LARGEST = sys.float_info.max


@pytest.fixture
def bins() -> Bins:
    values = np.random.default_rng(3).normal(0, 0.05, 20_000)
    counts, edges = np.histogram(values, 64)
    return Bins(edges.tolist(), counts.tolist(), values.size)


@pytest.fixture
def plot(qtbot: QtBot, theme: Theme, bins: Bins) -> HistogramPlot:
    plot = HistogramPlot(theme)
    qtbot.addWidget(plot)
    plot.resize(700, 420)
    plot.show_bins(bins, (bins.low, bins.high))
    plot.show()
    qtbot.waitExposed(plot)
    return plot


def x_of(plot: HistogramPlot, value: float) -> int:
    """Where a value is, in pixels of the canvas."""
    assert plot.bins is not None
    unit = (value - plot.bins.low) / (plot.bins.high - plot.bins.low)
    return plot.canvas.place(unit).x()


def hover(plot: HistogramPlot, value: float) -> None:
    viewport = plot.canvas.findChild(type(plot.canvas.children()[0])).viewport()
    QApplication.sendEvent(viewport, _move(QPoint(x_of(plot, value), 200), viewport.mapToGlobal(QPoint(0, 0))))


def _move(at: QPoint, origin: QPoint) -> object:
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QMouseEvent

    return QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(at),
        QPointF(origin + at),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
    )


def test_that_the_drawn_heights_are_the_counts(plot: HistogramPlot, bins: Bins) -> None:
    assert plot.canvas.heights().tolist() == list(bins.counts)


def test_that_log_counts_keep_bins_of_one_element_visible(plot: HistogramPlot) -> None:
    plot.show_bins(Bins((0.0, 1.0, 2.0, 3.0), (0, 1, 1000), 1001), (0.0, 3.0))
    plot.set_log_counts(True)
    heights = plot.canvas.heights()
    assert heights.tolist() == [LOG_FLOOR, 0.0, 3.0]
    # Above the floor by some pixels of the picture, not only by a number.
    image = plot.grab().toImage()
    fill = image.pixelColor(x_of(plot, 1.5), plot.height() - 45)
    base = QColor(LIGHT.base)
    assert fill != base
    assert image.pixelColor(x_of(plot, 0.4), plot.height() - 45) in (base, QColor(LIGHT.grid))


def test_that_the_tip_tells_edges_count_and_share_of_the_bin_pointed_at(
    plot: HistogramPlot, bins: Bins, qtbot: QtBot
) -> None:
    hover(plot, 0.031)
    index = bins.index_at(0.031)
    assert index is not None
    assert plot.tip_text == f"{bins.interval(index)}\n{bins.share(index)}"
    assert f"{bins.counts[index]:,} of 20,000" in plot.tip_text
    left, right = plot.tip_text.split("\n")[0][1:-1].split(", ")
    assert float(left.replace("−", "-")) <= 0.031 < float(right.replace("−", "-"))
    assert plot.tip_text.replace("\n", ": ") == plot.accessibleDescription()


def test_that_the_tip_goes_when_nothing_is_pointed_at(plot: HistogramPlot, bins: Bins) -> None:
    plot.point_at(3)
    assert plot.tip_text
    plot.point_at(None)
    assert plot.tip_text == ""


def test_that_keys_go_from_bin_to_bin_zoom_pan_and_reset(plot: HistogramPlot, qtbot: QtBot) -> None:
    plot.setFocus()
    pointed: list[int | None] = []
    plot.pointed.connect(pointed.append)
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    qtbot.keyClick(plot, Qt.Key.Key_Right)
    qtbot.keyClick(plot, Qt.Key.Key_Left)
    assert pointed == [32, 33, 32]
    full = plot.visible_range()
    qtbot.keyClick(plot, Qt.Key.Key_Plus)
    low, high = plot.visible_range()
    assert high - low == pytest.approx(0.8 * (full[1] - full[0]))
    qtbot.keyClick(plot, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert plot.visible_range()[0] > low
    qtbot.keyClick(plot, Qt.Key.Key_Home)
    assert plot.shows_all
    assert plot.visible_range() == full


def test_that_pointing_beyond_the_view_pans_there(plot: HistogramPlot, bins: Bins, qtbot: QtBot) -> None:
    plot.set_range(bins.edges[30], bins.edges[33])
    for _ in range(10):
        qtbot.keyClick(plot, Qt.Key.Key_Right)
    low, _ = plot.visible_range()
    assert low > bins.edges[30]
    assert plot.tip_text.startswith("[")


def test_that_the_wheel_zooms_about_the_pointer(plot: HistogramPlot) -> None:
    viewport = plot.canvas.findChild(type(plot.canvas.children()[0])).viewport()
    value = 0.05
    before = x_of(plot, value)
    at = QPointF(before, 200)
    event = QWheelEvent(
        at,
        QPointF(viewport.mapToGlobal(at.toPoint())),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(viewport, event)
    assert not plot.shows_all
    assert x_of(plot, value) == pytest.approx(before, abs=1)


def test_that_dragging_zooms_to_the_span_and_double_click_shows_all(plot: HistogramPlot, qtbot: QtBot) -> None:
    viewport = plot.canvas.findChild(type(plot.canvas.children()[0])).viewport()
    start, end = QPoint(x_of(plot, -0.05), 150), QPoint(x_of(plot, 0.05), 180)
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=start)
    for step in range(1, 6):
        qtbot.mouseMove(viewport, start + (end - start) * step / 5)
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=end)
    qtbot.waitUntil(lambda: not plot.shows_all)
    low, high = plot.visible_range()
    assert low == pytest.approx(-0.05, abs=0.002)
    assert high == pytest.approx(0.05, abs=0.002)
    plot.canvas.reset_wanted.emit()
    assert plot.shows_all


def test_that_the_range_is_announced_when_the_person_changes_it(plot: HistogramPlot) -> None:
    told: list[object] = []
    plot.range_changed.connect(told.append)
    plot.set_range(0.0, 0.1)
    plot.reset()
    assert told == [(0.0, 0.1), None]


def test_that_other_bins_leave_the_visible_range_as_it_is(plot: HistogramPlot) -> None:
    plot.set_range(0.0, 0.02)
    fine = Bins(np.linspace(-0.01, 0.03, 201).tolist(), [5] * 200, 20_000)
    plot.show_bins(fine, (-0.3, 0.3))
    assert plot.visible_range() == (0.0, 0.02)
    low, high = plot.canvas.view()
    assert low == pytest.approx(0.25)
    assert high == pytest.approx(0.75)


def test_that_zooming_stops_where_float64_has_no_more_values(plot: HistogramPlot) -> None:
    for _ in range(400):
        plot.zoom(0.8)
    low, high = plot.visible_range()
    assert low < high
    assert plot.canvas.view()[0] < plot.canvas.view()[1]
    plot.reset()
    assert plot.shows_all


@pytest.mark.parametrize(
    ("low", "high"), [(-LARGEST, LARGEST), (1e17, 1e17 + 512), (-3e38, 3e38), (-5e-322, 5e-322), (0.0, 1e-300)]
)
def test_that_any_range_of_float64_can_be_drawn_and_zoomed(plot: HistogramPlot, low: float, high: float) -> None:
    edges = [low / 8 * (8 - i) + high / 8 * i for i in range(9)]
    plot.clear()
    plot.show_bins(Bins(edges, [1, 2, 3, 4, 5, 6, 7, 8], 36), (low, high))
    assert not plot.grab().isNull()
    plot.zoom(0.5)
    plot.pan(0.2)
    assert all(math.isfinite(end) for end in plot.visible_range())
    plot.point_at(2)
    assert "3 of 36" in plot.tip_text
    assert not plot.grab().isNull()


def test_that_the_colours_follow_the_theme(plot: HistogramPlot, theme: Theme) -> None:
    corner = QPoint(4, 4)
    assert plot.grab().toImage().pixelColor(corner) == QColor(LIGHT.base)
    theme.set_choice("dark")
    assert plot.grab().toImage().pixelColor(corner) == QColor(DARK.base)
    theme.set_choice("light")
    assert plot.grab().toImage().pixelColor(corner) == QColor(LIGHT.base)
