"""Histograms of several tensors on the same edges, over one another. Painted here: a dozen polylines need no more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.details.hover_tip import HoverTip
from viewer.gui.details.scale import Scale
from viewer.gui.details.series import series_color, series_pen
from viewer.gui.details.ticks import power_labels, signed_log_ticks, value_labels, value_ticks
from viewer.gui.format import format_number
from viewer.gui.override import override
from viewer.gui.theme import Theme

_MARGIN: Final = 12
_FILL: Final = 28
"""Opacity of the area under a curve; of the one that is stressed it is more."""
_STRESSED_FILL: Final = 90


@dataclass(frozen=True, slots=True)
class Curve:
    """One histogram.

    Attributes
    ----------
    name
        In short, for the tip.
    shares
        Of the tensor's finite elements, in percent, in each bin.
    """

    name: str
    shares: Sequence[float]


class OverlayPlot(QWidget):
    """Shares, and not counts: tensors of different sizes have curves of the same area."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._edges: Sequence[float] = ()
        self._threshold: float | None = None
        self._curves: Sequence[Curve] = ()
        self._log = False
        self._stressed: int | None = None
        self._tip = HoverTip(self)
        self._bin: int | None = None
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(160)
        self.setAccessibleName("Histograms over one another")
        theme.changed.connect(self._take_theme)
        self._take_theme()

    @property
    def curves(self) -> Sequence[Curve]:
        return self._curves

    @property
    def tip_text(self) -> str:
        """What the tip at the pointer says; "" while the pointer is elsewhere."""
        return "" if self._bin is None else self._tip.text

    def show_curves(self, edges: Sequence[float], curves: Sequence[Curve], threshold: float | None = None) -> None:
        """Draw curves of one number less of shares than there are edges; nothing without curves.

        Parameters
        ----------
        threshold
            Of a signed logarithm that the x axis has; None for a linear axis.
        """
        self._edges, self._curves, self._threshold = edges, curves, threshold
        self._stressed = None
        self._point_at(None)
        self.update()

    def set_log(self, log: bool) -> None:
        """Draw the logarithms of the shares."""
        self._log = log
        self.update()

    def stress(self, place: int | None) -> None:
        """Lay stress on one curve; None on none."""
        if place != self._stressed:
            self._stressed = place
            self.update()

    def point_at_bin(self, number: int | None) -> None:
        """Tell the shares in one bin, beside it; None for none."""
        self._point_at(number)

    @override
    def sizeHint(self) -> QSize:
        return QSize(480, 320)

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        area = self._area()
        x = event.position().x()
        if not self._curves or not area.left() <= x <= area.right():
            self._point_at(None)
            return
        n_bins = len(self._edges) - 1
        places = [self._x(area, edge) for edge in self._edges]
        self._point_at(next((bin_ for bin_ in range(n_bins) if places[bin_] <= x <= places[bin_ + 1]), None))

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point_at(None)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("base"))
        if not self._curves:
            return
        area = self._area()
        low, high = self._heights()
        self._paint_grid(painter, area, low, high)
        order = [place for place in range(len(self._curves)) if place != self._stressed]
        order += [] if self._stressed is None else [self._stressed]
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for place in order:
            self._paint_curve(painter, area, place, low, high)
        if self._bin is not None:
            x = self._x(area, self._edges[self._bin] / 2 + self._edges[self._bin + 1] / 2)
            painter.setPen(QPen(self._theme.color("muted"), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    def _paint_curve(self, painter: QPainter, area: QRectF, place: int, low: float, high: float) -> None:
        points = QPolygonF()
        for number, share in enumerate(self._curves[place].shares):
            y = area.bottom() - area.height() * self._unit(share, low, high)
            points.append(QPointF(self._x(area, self._edges[number]), y))
            points.append(QPointF(self._x(area, self._edges[number + 1]), y))
        fill = QColor(series_color(self._theme, place))
        fill.setAlpha(_STRESSED_FILL if place == self._stressed else _FILL)
        closed = QPolygonF(points)
        closed.append(area.bottomRight())
        closed.append(area.bottomLeft())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawPolygon(closed)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(series_pen(self._theme, place, 2.5 if place == self._stressed else 1.5))
        painter.drawPolyline(points)

    def _paint_grid(self, painter: QPainter, area: QRectF, low: float, high: float) -> None:
        painter.setFont(self._theme.mono(-1))
        metrics = QFontMetrics(painter.font())
        grid, text = self._theme.color("grid"), self._theme.color("muted")
        room = 72
        for _ in range(3):  # labels may turn out wider than thought: then fewer of them
            ticks, labels = self._value_ticks(max(2, int(area.width() // room)))
            needed = max((metrics.horizontalAdvance(label) for label in labels), default=0) + 24
            if needed <= room:
                break
            room = needed
        for tick, label in zip(ticks, labels, strict=True):
            x = self._x(area, tick)
            painter.setPen(grid)
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            painter.setPen(text)
            box = QRectF(x - room, area.bottom() + 4, 2 * room, metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, label)
        for height, label in self._height_ticks(area, low, high):
            y = area.bottom() - area.height() * height
            painter.setPen(grid)
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(text)
            box = QRectF(0, y - metrics.height() / 2, area.left() - 8, metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, label)

    def _value_ticks(self, at_most: int) -> tuple[list[float], list[str]]:
        low, high = self._edges[0], self._edges[-1]
        if self._threshold is None:
            step, ticks = value_ticks(low, high, at_most)
            return ticks, value_labels(ticks, step)
        ticks = signed_log_ticks(low, high, self._threshold, at_most)
        return ticks, power_labels(ticks)

    def _height_ticks(self, area: QRectF, low: float, high: float) -> list[tuple[float, str]]:
        """Heights between 0 and 1, and what they stand for."""
        if self._log:
            powers = range(math.ceil(low), math.floor(high) + 1)
            stride = max(1, len(powers) * 36 // max(1, int(area.height())))
            marked = powers[::stride]
            return [((power - low) / (high - low), f"{format_number(10.0**power, 3)} %") for power in marked]
        step, ticks = value_ticks(0.0, high, max(2, int(area.height() // 56)))
        return [(tick / high, f"{label} %") for tick, label in zip(ticks, value_labels(ticks, step), strict=True)]

    def _heights(self) -> tuple[float, float]:
        """What the lower and the upper end of the plot stand for: percent, or powers of ten of it."""
        shares = [share for curve in self._curves for share in curve.shares if share > 0]
        top = max(shares, default=1.0)
        if not self._log:
            return 0.0, top * 1.05
        low = math.log10(min(shares, default=1.0))
        return low - 0.3, max(math.log10(top) + 0.1, low + 0.5)

    def _unit(self, share: float, low: float, high: float) -> float:
        if not self._log:
            return share / high
        return (math.log10(share) - low) / (high - low) if share > 0 else 0.0

    def _x(self, area: QRectF, value: float) -> float:
        low, high = self._edges[0], self._edges[-1]
        return area.left() + area.width() * Scale(low, high, self._threshold).to_unit(value)

    def _area(self) -> QRectF:
        metrics = QFontMetrics(self._theme.mono(-1))
        left = metrics.horizontalAdvance("0.00001 %") + _MARGIN
        below = metrics.height() + _MARGIN
        return QRectF(left, _MARGIN, max(40, self.width() - left - _MARGIN), max(40, self.height() - below - _MARGIN))

    def _point_at(self, number: int | None) -> None:
        if number == self._bin:
            return
        self._bin = number
        if number is None:
            self._tip.hide()
        else:
            left, right = self._edges[number], self._edges[number + 1]
            lines = [f"{format_number(left, 4)} … {format_number(right, 4)}"]
            width = max(len(curve.name) for curve in self._curves)
            lines += [f"{curve.name:<{width}}  {curve.shares[number]:8.4f} %" for curve in self._curves]
            area = self._area()
            self._tip.show_beside(round(self._x(area, right)), round(area.top()), "\n".join(lines))
        self.update()

    def _take_theme(self) -> None:
        self._tip.set_look(self._theme)
        self.update()
