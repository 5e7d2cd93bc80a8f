"""A small chart of steps over a range: zoomed with the wheel, told about under the pointer. Painted by Qt alone."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF, QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.compare.drawings import Drawing, Series
from viewer.gui.details.bins import LOG_FLOOR
from viewer.gui.details.hover_tip import HoverTip
from viewer.gui.details.ticks import count_label, count_ticks, log_count_ticks, value_labels, value_ticks
from viewer.gui.override import override
from viewer.gui.theme import Theme

_ZOOM: Final = 0.8
_HEADROOM: Final = 1.06
_TOP, _RIGHT, _BOTTOM = 10, 14, 26
_TICK_ROOM: Final = 60
_AREA_ALPHA: Final = 90


class StepChart(QWidget):
    """Draws a Drawing; a sentence where there is none."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._drawing: Drawing | None = None
        self._text = ""
        self._view = (0.0, 1.0)
        self._pressed: float | None = None
        self._pointed: int | None = None
        self._tip = HoverTip(self)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(name)
        theme.changed.connect(self._take_theme)
        self._take_theme()

    @property
    def drawing(self) -> Drawing | None:
        return self._drawing

    @property
    def visible_range(self) -> tuple[float, float]:
        """The ends of what is seen of the x axis."""
        return self._view

    def draw(self, drawing: Drawing) -> None:
        """Show another drawing, all of it."""
        self._drawing = drawing
        self.point_at(None)
        self.reset()

    def say(self, text: str) -> None:
        """Show a sentence in its place."""
        self._drawing = None
        self._text = text
        self.point_at(None)
        self.update()

    def reset(self) -> None:
        """Show the whole range."""
        if self._drawing is not None:
            low, high = self._drawing.edges[0], self._drawing.edges[-1]
            margin = (high / 2 - low / 2) / 50
            self._view = low - margin, high + margin
        self.update()

    def zoom(self, factor: float, about: float | None = None) -> None:
        """Make the visible range so many times as wide, about a place or its middle."""
        if self._drawing is None:
            return
        low, high = self._view
        about = low / 2 + high / 2 if about is None else about
        self._set_view(about + (low - about) * factor, about + (high - about) * factor)

    def point_at(self, step: int | None) -> None:
        """Tell about one step; None for none."""
        self._pointed = step
        if step is None or self._drawing is None:
            self._tip.hide()
        else:
            edges = self._drawing.edges
            text = self._drawing.tell(step)
            self.setAccessibleDescription(text.replace("\n", ", "))
            self._tip.show_beside(round(self._x((edges[step] + edges[step + 1]) / 2)), _TOP, text)
        self.update()

    def _set_view(self, low: float, high: float) -> None:
        drawing = self._drawing
        assert drawing is not None
        first, last = drawing.edges[0], drawing.edges[-1]
        margin = (last / 2 - first / 2) / 50
        first, last = first - margin, last + margin
        narrowest = max((last - first) * 1e-9, 16 * math.ulp(max(abs(low), abs(high))))
        if not narrowest < high - low < last - first:
            if high - low > narrowest:
                self.reset()
            return
        if low < first:
            low, high = first, first + (high - low)
        elif high > last:
            low, high = last - (high - low), last
        self._view = low, high
        self.update()

    # Places

    def _area(self) -> QRectF:
        return QRectF(
            self._left, _TOP, max(self.width() - self._left - _RIGHT, 1), max(self.height() - _TOP - _BOTTOM, 1)
        )

    def _x(self, value: float) -> float:
        area, (low, high) = self._area(), self._view
        return area.left() + (value / 2 - low / 2) / (high / 2 - low / 2) * area.width()

    def _value(self, x: float) -> float:
        area, (low, high) = self._area(), self._view
        unit = (x - area.left()) / area.width()
        return low + unit * (high - low) if math.isfinite(high - low) else low * (1 - unit) + high * unit

    def _visible(self, drawing: Drawing) -> range:
        last = len(drawing.edges) - 2
        first = max(0, min(bisect_right(drawing.edges, self._view[0]) - 1, last))
        end = max(0, min(bisect_right(drawing.edges, self._view[1]) - 1, last))
        return range(first, end + 1)

    # Qt

    @override
    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setFont(self.font())
        drawing = self._drawing
        if drawing is None:
            painter.setPen(self._theme.color("muted"))
            flags = int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap)
            painter.drawText(self.rect().adjusted(16, 8, -16, -8), flags, self._text)
            return
        area, steps = self._area(), self._visible(drawing)
        tallest = float(max(max(series.heights[steps.start : steps.stop]) for series in drawing.series))
        floor, level = 0.0, max(tallest, 1e-300)
        if drawing.log:
            floor, level = LOG_FLOOR, math.log10(max(tallest, 2.0))
        top = floor + (level - floor) * _HEADROOM

        def y(height: float) -> float:
            level = (math.log10(height) if height > 0 else floor) if drawing.log else height
            return area.bottom() - (level - floor) / (top - floor) * area.height()

        self._paint_axes(painter, drawing, area, top, y)
        painter.setClipRect(area.adjusted(0, -1, 1, 1))
        for series in drawing.series:
            self._paint_series(painter, drawing, series, steps, area, y)
        if self._pointed is not None and self._pointed in steps:
            middle = self._x((drawing.edges[self._pointed] + drawing.edges[self._pointed + 1]) / 2)
            painter.setPen(QPen(self._theme.color("muted"), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(middle, area.top()), QPointF(middle, area.bottom()))
        painter.setClipping(False)
        if self.hasFocus():
            painter.setPen(QPen(self._theme.color("accent"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _paint_axes(
        self, painter: QPainter, drawing: Drawing, area: QRectF, top: float, y: Callable[[float], float]
    ) -> None:
        metrics = QFontMetrics(self.font())
        at_most = max(2, int(area.height() // 50))
        if drawing.log:
            heights: list[float] = [float(count) for count in log_count_ticks(top, at_most)]
            labels = [count_label(height) for height in heights]
        elif drawing.whole:
            _, heights = count_ticks(top, at_most)
            labels = [count_label(height) for height in heights]
        else:
            step, heights = value_ticks(0.0, top, at_most)
            labels = value_labels(heights, step)
        grid, muted = self._theme.color("grid"), self._theme.color("muted")
        for height, label in zip(heights, labels, strict=True):
            line = y(height)
            painter.setPen(grid)
            painter.drawLine(QPointF(area.left(), line), QPointF(area.right(), line))
            painter.setPen(muted)
            box = QRectF(0, line - metrics.height() / 2, self._left - 8, metrics.height())
            painter.drawText(box, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), label)
        places, words = self._x_ticks(drawing, max(2, int(area.width() // _TICK_ROOM)))
        for place, word in zip(places, words, strict=True):
            x = self._x(place)
            painter.setPen(grid)
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            painter.setPen(muted)
            width = metrics.horizontalAdvance(word)
            left = max(0.0, min(x - width / 2, self.width() - width))
            painter.drawText(QPointF(left, area.bottom() + 6 + metrics.ascent()), word)

    def _x_ticks(self, drawing: Drawing, at_most: int) -> tuple[list[float], list[str]]:
        low, high = self._view
        if drawing.ticks is not None:
            return drawing.ticks(low, high, at_most)
        step, ticks = value_ticks(low, high, at_most)
        return ticks, value_labels(ticks, step)

    def _paint_series(
        self,
        painter: QPainter,
        drawing: Drawing,
        series: Series,
        steps: range,
        area: QRectF,
        y: Callable[[float], float],
    ) -> None:
        points = QPolygonF()
        points.append(QPointF(self._x(drawing.edges[steps.start]), area.bottom()))
        edges, heights = drawing.edges, series.heights
        # More steps than pixels are drawn as the highest of each pixel.
        stride = max(1, len(steps) // max(int(area.width()), 1))
        for start in range(steps.start, steps.stop, stride):
            end = min(start + stride, steps.stop)
            level = y(max(heights[start:end]))
            points.append(QPointF(self._x(edges[start]), level))
            points.append(QPointF(self._x(edges[end]), level))
        points.append(QPointF(self._x(edges[steps.stop]), area.bottom()))
        if series.filled:
            painter.setPen(Qt.PenStyle.NoPen)
            area_color = self._theme.color(series.line)
            area_color.setAlpha(_AREA_ALPHA)
            painter.setBrush(area_color)
            painter.drawPolygon(points)
        painter.setPen(QPen(self._theme.color(series.line), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(points)

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        if self._drawing is not None and event.angleDelta().y():
            self.zoom(_ZOOM ** (event.angleDelta().y() / 120), self._value(event.position().x()))
            event.accept()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = event.position().x()

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: ARG002
        self._pressed = None

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        drawing, x = self._drawing, event.position().x()
        if drawing is None:
            return
        if self._pressed is not None and event.buttons() & Qt.MouseButton.LeftButton:
            by = self._value(self._pressed) - self._value(x)
            self._pressed = x
            self._set_view(self._view[0] + by, self._view[1] + by)
            return
        value = self._value(x)
        inside = drawing.edges[0] <= value <= drawing.edges[-1] and self._area().contains(event.position())
        self.point_at(min(bisect_right(drawing.edges, value) - 1, len(drawing.edges) - 2) if inside else None)

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: ARG002
        self.reset()

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self.point_at(None)
        super().leaveEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        drawing, key = self._drawing, event.key()
        if drawing is None:
            super().keyPressEvent(event)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            steps = self._visible(drawing)
            here = (steps.start + steps.stop) // 2 if self._pointed is None else self._pointed
            step = here + (1 if key == Qt.Key.Key_Right else -1)
            self.point_at(max(0, min(step, len(drawing.edges) - 2)))
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(_ZOOM)
        elif key == Qt.Key.Key_Minus:
            self.zoom(1 / _ZOOM)
        elif key == Qt.Key.Key_Home:
            self.reset()
        else:
            super().keyPressEvent(event)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(180, 110)

    def _take_theme(self) -> None:
        self.setFont(self._theme.mono(-1))
        self._left = QFontMetrics(self.font()).horizontalAdvance("0,000,000") + 10
        self._tip.set_look(self._theme)
        self.update()
