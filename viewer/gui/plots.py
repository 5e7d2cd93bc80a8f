"""What draws plots: the one module with pyqtgraph. It knows pixels and colours; `details/` knows what they mean.

Import it inside a function, when a plot is shown: it brings numpy and costs a third of a second, which neither the
window's start nor a click on a folder should wait for.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np  # noqa: TID253
import pyqtgraph as pg  # noqa: TID253
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from viewer.gui.details.bins import LOG_FLOOR, Bins, log_count
from viewer.gui.details.scale import Scale
from viewer.gui.details.ticks import (
    count_label,
    count_ticks,
    log_count_ticks,
    power_labels,
    signed_log_ticks,
    value_labels,
    value_ticks,
)
from viewer.gui.override import override
from viewer.gui.theme import Theme

_LABEL_MARGIN: Final = 12
_WHEEL_STEP: Final = 0.8
"""By how much one notch of the wheel (120 eighths of a degree) narrows the visible range."""


class _Axis(pg.AxisItem):  # type: ignore[misc]
    """An axis with a grid whose outermost labels are drawn too: pyqtgraph drops those that reach beyond the plot."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self._labels: dict[float, str] = {}
        self.enableAutoSIPrefix(False)
        self.setStyle(tickLength=0, tickTextOffset=8, tickAlpha=255)
        self.setGrid(255)

    @override
    def boundingRect(self) -> QRectF:
        rect: QRectF = super().boundingRect()
        return rect.adjusted(-_LABEL_MARGIN, -_LABEL_MARGIN, _LABEL_MARGIN, _LABEL_MARGIN)

    @override
    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:  # noqa: ARG002
        return [self._labels.get(value, "") for value in values]


class _ValueAxis(_Axis):
    """The x axis: ticks at round values, with just the digits that tell them apart."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.units = Scale(0.0, 1.0)
        self.integral = False

    @override
    def tickValues(self, low_unit: float, high_unit: float, size: float) -> list[tuple[float, list[float]]]:
        low, high = self.units.to_value(low_unit), self.units.to_value(high_unit)
        if self.units.threshold is not None:
            powers = signed_log_ticks(low, high, self.units.threshold, max(3, int(size // 72)))
            if powers:
                places = [self.units.to_unit(tick) for tick in powers]
                self._labels = dict(zip(places, power_labels(powers), strict=True))
                return [(1.0, places)]
        room = 88.0
        for _ in range(3):  # labels may turn out wider than thought: then fewer of them
            step, ticks = value_ticks(low, high, max(2, int(size // room)), whole=self.integral)
            labels = value_labels(ticks, step)
            needed = max((len(label) for label in labels), default=0) * self._character_width() + 24
            if needed <= room:
                break
            room = needed
        places = [self.units.to_unit(tick) for tick in ticks]
        self._labels = dict(zip(places, labels, strict=True))
        return [(step, places)]

    def _character_width(self) -> float:
        font = self.style["tickFont"]
        return 8.0 if font is None else float(font.pointSizeF()) * 0.85


class _CountAxis(_Axis):
    """The y axis: counts, or their logarithms."""

    def __init__(self) -> None:
        super().__init__("left")
        self.log_counts = False

    @override
    def tickValues(self, lowest: float, highest: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: ARG002
        at_most = max(2, int(size // 60))
        if self.log_counts:
            counts = log_count_ticks(highest, at_most)
            self._labels = {math.log10(count): count_label(count) for count in counts}
            return [(1.0, list(self._labels))]
        step, ticks = count_ticks(highest, at_most)
        self._labels = {tick: count_label(tick) for tick in ticks}
        return [(step, ticks)]


class _SpanBox(pg.ViewBox):  # type: ignore[misc]
    """Turns the mouse into wishes, in units of the drawn range; it moves nothing itself."""

    spanned = Signal(float, float)
    shifted = Signal(float)
    zoomed = Signal(float, float)
    reset_wanted = Signal()

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        self.disableAutoRange()
        self.band = pg.LinearRegionItem(movable=False)
        self.band.setZValue(20)
        self.band.hide()
        self.addItem(self.band, ignoreBounds=True)

    @override
    def mouseDragEvent(self, ev: Any, axis: int | None = None) -> None:  # noqa: ARG002
        shift = ev.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if ev.button() == Qt.MouseButton.MiddleButton or (ev.button() == Qt.MouseButton.LeftButton and shift):
            ev.accept()
            self.shifted.emit(self._unit_at(ev.lastPos()) - self._unit_at(ev.pos()))
        elif ev.button() == Qt.MouseButton.LeftButton:
            ev.accept()
            span = sorted((self._unit_at(ev.buttonDownPos()), self._unit_at(ev.pos())))
            self.band.setRegion(span)
            self.band.setVisible(not ev.isFinish())
            if ev.isFinish():
                self.spanned.emit(*span)
        else:
            ev.ignore()

    @override
    def wheelEvent(self, ev: Any, axis: int | None = None) -> None:  # noqa: ARG002
        ev.accept()
        if ev.orientation() == Qt.Orientation.Horizontal or ev.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            low, high = self.viewRange()[0]
            self.shifted.emit(-ev.delta() / 1200 * (high - low))
        else:
            self.zoomed.emit(_WHEEL_STEP ** (ev.delta() / 120), self._unit_at(ev.pos()))

    @override
    def mouseClickEvent(self, ev: Any) -> None:
        if ev.double() and ev.button() == Qt.MouseButton.LeftButton:
            ev.accept()
            self.reset_wanted.emit()

    def _unit_at(self, position: QPointF) -> float:
        return float(self.mapToView(position).x())


class HistogramCanvas(QWidget):
    """A filled step curve over two axes, with a marked bin and a cross-hair.

    x is in units of the drawn range (see `Scale`): 0 at the first edge of the bins, 1 at the last.

    Signals
    -------
    spanned
        A span was dragged out: its two ends.
    shifted
        A drag or wheel moves the view by so many units.
    zoomed
        A wheel makes the view so many times as wide, about a place.
    reset_wanted
        A double click.
    hovered
        Carries the place under the pointer, or None when it left the plot.
    """

    spanned = Signal(float, float)
    shifted = Signal(float)
    zoomed = Signal(float, float)
    reset_wanted = Signal()
    hovered = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bins: Bins | None = None
        self._is_cumulative = False
        self._box = _SpanBox()
        self._values = _ValueAxis()
        self._counts = _CountAxis()
        self._view = pg.PlotWidget(
            self, enableMenu=False, viewBox=self._box, axisItems={"bottom": self._values, "left": self._counts}
        )
        self._view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._view.setFrameShape(QFrame.Shape.NoFrame)
        self._view.hideButtons()
        self._view.getPlotItem().layout.setContentsMargins(6, 8, 16, 0)
        for axis in (self._values, self._counts):
            axis.setZValue(-10)  # the grid behind the curve; PlotItem puts axes before it
        self._curve = pg.PlotCurveItem(x=[0.0, 1.0], y=[0.0], stepMode="center", antialias=False)
        self._mark = pg.PlotCurveItem(x=[0.0, 1.0], y=[0.0], stepMode="center", antialias=False)
        self._mark.setZValue(5)
        self._cross = pg.InfiniteLine(angle=90, movable=False)
        self._cross.setZValue(10)
        for item in (self._curve, self._mark, self._cross):
            self._view.addItem(item, ignoreBounds=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._view)
        self.mark(None)

        self._box.spanned.connect(self.spanned)
        self._box.shifted.connect(self.shifted)
        self._box.zoomed.connect(self.zoomed)
        self._box.reset_wanted.connect(self.reset_wanted)
        self._view.scene().sigMouseMoved.connect(self._mouse_moved)

    @property
    def log_counts(self) -> bool:
        return self._counts.log_counts

    def draw(self, bins: Bins, *, log_counts: bool, cumulative: bool = False) -> None:
        """Draw a histogram over its own range; the view stays where it is in units.

        Parameters
        ----------
        cumulative
            Each bin is as high as it and all before it hold.
        """
        self._bins = bins
        self._is_cumulative = cumulative
        self._values.units = bins.scale
        self._values.integral = bins.integral
        self._counts.log_counts = log_counts
        self._values.picture = self._counts.picture = None
        edges = np.asarray(bins.edges, dtype=np.float64)
        if bins.threshold is not None:
            edges = np.copysign(np.log1p(np.abs(edges) / bins.threshold), edges)
        units = (edges / 2 - edges[0] / 2) / (edges[-1] / 2 - edges[0] / 2)
        self._curve.setData(x=units, y=self.heights(), fillLevel=self._floor)
        self._curve.show()

    def clear(self) -> None:
        """Take the curve away; axes and view stay, so that nothing jumps while the next is computed."""
        self._bins = None
        self._curve.hide()
        self.mark(None)

    def heights(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The drawn heights: counts, or their logarithms with LOG_FLOOR for empty bins."""
        assert self._bins is not None
        counts = np.asarray(self._bins.counts, dtype=np.float64)
        if self._is_cumulative:
            counts = np.cumsum(counts) + self._bins.below
        return np.log10(np.maximum(counts, 0.5)) if self.log_counts else counts

    def set_view(self, low: float, high: float, top: float) -> None:
        """Show the units from low to high and heights from the floor to `top`."""
        self._box.setRange(xRange=(low, high), yRange=(self._floor, top), padding=0)

    def view(self) -> tuple[float, float]:
        """The visible units."""
        low, high = self._box.viewRange()[0]
        return float(low), float(high)

    def mark(self, index: int | None) -> None:
        """Lay stress on one bin; None on none."""
        self._mark.setVisible(index is not None)
        self._cross.setVisible(index is not None)
        if index is None or self._bins is None:
            return
        left, right = (self._values.units.to_unit(self._bins.edges[index + side]) for side in (0, 1))
        count = self._bins.reached(index) if self._is_cumulative else self._bins.counts[index]
        height = log_count(count) if self.log_counts else float(count)
        self._mark.setData(x=np.array([left, right]), y=np.array([height]), fillLevel=self._floor)
        self._cross.setPos((left + right) / 2)

    def place(self, unit: float) -> QPoint:
        """Where a place of the x axis is, at the upper end of the plot, in pixels of this widget."""
        top = self._box.sceneBoundingRect().top()
        x = self._box.mapViewToScene(QPointF(unit, 0)).x()
        place: QPoint = self._view.mapFromScene(QPointF(x, top))
        at: QPoint = self._view.mapTo(self, place)
        return at

    def draw_to(self, painter: QPainter) -> None:
        """Draw what is shown in lines and letters; rendering the widget would give its pixels."""
        area = self._view.viewport().rect()
        painter.fillRect(area, self._view.backgroundBrush())
        self._view.render(painter, QRectF(area), area)

    def recolor(self, theme: Theme) -> None:
        """Take the colours and the face of the theme."""
        self._view.setBackground(theme.color("base"))
        for axis in (self._values, self._counts):
            axis.setTickFont(theme.mono(-1))
            axis.setPen(pg.mkPen(theme.color("grid")))
            axis.setTickPen(pg.mkPen(theme.color("grid")))
            axis.setTextPen(pg.mkPen(theme.color("muted")))
        self._curve.setPen(pg.mkPen(theme.color("accent"), width=1))
        self._curve.setBrush(pg.mkBrush(theme.color("plot_fill")))
        self._mark.setPen(pg.mkPen(None))
        self._mark.setBrush(pg.mkBrush(theme.color("plot_fill")))
        self._cross.setPen(pg.mkPen(theme.color("muted"), width=1, style=Qt.PenStyle.DashLine))
        self._box.band.setBrush(pg.mkBrush(theme.color("plot_fill")))
        for edge in self._box.band.lines:
            edge.setPen(pg.mkPen(theme.color("accent"), width=1))

    @property
    def _floor(self) -> float:
        return LOG_FLOOR if self.log_counts else 0.0

    def _mouse_moved(self, position: QPointF) -> None:
        inside = self._box.sceneBoundingRect().contains(position)
        self.hovered.emit(float(self._box.mapSceneToView(position).x()) if inside else None)
