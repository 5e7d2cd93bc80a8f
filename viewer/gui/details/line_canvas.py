"""Elements along one axis as a line: each point with its extremes, so that no outlier disappears."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Final

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from viewer.gui.details.scale import Scale
from viewer.gui.details.ticks import value_labels, value_ticks
from viewer.gui.details.zoom_canvas import ZOOM_STEP, ZoomCanvas
from viewer.gui.format import format_number
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.tensors.slice_results import HAS_NAN, HAS_NEGINF, HAS_POSINF, LineEnvelope

_NARROWEST: Final = 8.0
_KINDS: Final = ((HAS_NAN, "NaN", "nan"), (HAS_POSINF, "+inf", "posinf"), (HAS_NEGINF, "−inf", "neginf"))
_RUG: Final = 8
"""Height of the marks for what is not finite, at the foot of the plot."""
_DOTS_UP_TO: Final = 80
"""Elements that get a dot each besides the line."""


class LineCanvas(ZoomCanvas):
    """Draws a LineEnvelope.

    Signals
    -------
    looked_at
        Carries first and end of the indexes in view, and the pixels they are drawn in.
    """

    looked_at = Signal(object, object, object)  # an index may exceed 32 bits

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "Line of values", parent)
        self._length = 1
        self._line: LineEnvelope | None = None
        self._part: tuple[float, float] | None = None
        self._cross: float | None = None
        self._press: float | None = None
        self._band: tuple[float, float] | None = None
        theme.changed.connect(self.update)

    @property
    def part(self) -> tuple[float, float]:
        """First and end of the indexes in view."""
        return (0.0, float(self._length)) if self._part is None else self._part

    @property
    def line(self) -> LineEnvelope | None:
        return self._line

    @property
    def shows_all(self) -> bool:
        return self._part is None

    @property
    def kinds(self) -> list[str]:
        """Which sorts of non-finite values are drawn."""
        present = 0
        for code in set(self._line.codes) if self._line is not None else ():
            present |= code
        return [name for flag, name, _ in _KINDS if present & flag]

    def set_length(self, length: int) -> None:
        """Another axis, of which nothing is known yet."""
        self._length = length
        self._line = self._part = None
        self._point(None)
        self.zoomed.emit(False)
        self._rest.start()
        self.update()

    def show_line(self, line: LineEnvelope) -> None:
        self._line = line
        self._point(self._cross)

    @override
    def tell_looked_at(self) -> None:
        self._rest.stop()
        first, end = self.part
        width = max(1, round(self._area().width() * self.devicePixelRatioF()))
        self.looked_at.emit(math.floor(first), min(self._length, math.ceil(end)), width)

    def set_part(self, first: float, end: float) -> None:
        """Bring a part of the axis into view."""
        size = min(max(end - first, min(_NARROWEST, self._length)), float(self._length))
        first = min(max((first + end - size) / 2, 0.0), self._length - size)
        was_all = self._part is None
        self._part = None if size >= self._length else (first, first + size)
        self._part_changed(was_all=was_all, is_all=self._part is None)

    @override
    def reset(self) -> None:
        self.set_part(0.0, float(self._length))

    def zoom(self, factor: float, about: float | None = None) -> None:
        """Make the part in view so many times as long, about a place, the cross-hair or the middle."""
        first, end = self.part
        about = about if about is not None else self._cross if self._cross is not None else (first + end) / 2
        self.set_part(about + (first - about) * factor, about + (end - about) * factor)

    @override
    def leave(self) -> None:
        self._point(None)

    def words(self, index: float) -> str:
        """What is drawn at a place of the axis."""
        line, point = self._line, self._point_at(index)
        if line is None or point is None:
            return ""
        first, end = line.edges[point], line.edges[point + 1]
        code = line.codes[point]
        also = [name for flag, name, _ in _KINDS if code & flag]
        low, high = line.low[point], line.high[point]
        if end - first == 1:
            return f"[{first}]  {also[0] if also else format_number(low, 9)}"
        if math.isnan(low):
            return f"[{first}…{end - 1}]  no finite value of {end - first:,} elements: {' and '.join(also)}"
        held = f", among them {' and '.join(also)}" if also else ""
        return (
            f"[{first}…{end - 1}]  from {format_number(low, 9)} to {format_number(high, 9)}, mean "
            f"{format_number(line.mean[point])} of {end - first:,} elements{held}"
        )

    def _point_at(self, index: float) -> int | None:
        line = self._line
        if line is None or not len(line.low) or not line.edges[0] <= index < line.edges[-1]:
            return None
        return bisect_right(line.edges, index) - 1

    def _point(self, cross: float | None) -> None:
        self._cross = cross
        self._say("" if cross is None else self.words(cross))
        self.update()

    # Painting

    def _area(self) -> QRectF:
        metrics = QFontMetrics(self._theme.mono(-1))
        left = metrics.horizontalAdvance("0") * 9 + 16
        return QRectF(left, 10, max(1, self.width() - left - 20), max(1, self.height() - 10 - metrics.height() - 14))

    def _values(self) -> Scale:
        """From the lowest value in view at the foot to the highest at the top, with some room."""
        line = self._line
        low, high = math.inf, -math.inf
        if line is not None:
            first, end = self.part
            for point in range(len(line.low)):
                if line.edges[point + 1] > first and line.edges[point] < end and not math.isnan(line.low[point]):
                    low, high = min(low, line.low[point]), max(high, line.high[point])
        if low > high:
            return Scale(-1.0, 1.0)
        if low == high:
            half = abs(low) / 2 or 1.0
            return Scale(low - half, high + half)
        room = (high / 2 - low / 2) * 0.1
        scale = Scale(low, high)
        return Scale(scale.to_value(-0.05), scale.to_value(1.05)) if math.isfinite(room) else scale

    @override
    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("base"))
        painter.setFont(self._theme.mono(-1))
        area, values = self._area(), self._values()
        self._paint_axes(painter, area, values)
        painter.save()
        painter.setClipRect(area)
        if self._line is not None:
            self._paint_line(painter, area, values, self._line)
        if self._cross is not None:
            painter.setPen(QPen(self._theme.color("muted"), 1, Qt.PenStyle.DashLine))
            x = self._x_of(area, self._cross)
            painter.drawLine(QLineF(x, area.top(), x, area.bottom()))
        if self._band is not None:
            left, right = (self._x_of(area, end) for end in self._band)
            painter.fillRect(QRectF(left, area.top(), right - left, area.height()), self._theme.color("plot_fill"))
        painter.restore()
        if self.hasFocus():
            painter.setPen(QPen(self._theme.color("accent"), 1))
            painter.drawRect(area.adjusted(-0.5, -0.5, 0.5, 0.5))

    def _paint_axes(self, painter: QPainter, area: QRectF, values: Scale) -> None:
        metrics = painter.fontMetrics()
        grid, text = QPen(self._theme.color("grid"), 1), QPen(self._theme.color("muted"))
        step, ticks = value_ticks(values.low, values.high, max(2, int(area.height() // 56)))
        for tick, label in zip(ticks, value_labels(ticks, step), strict=True):
            y = area.bottom() - values.to_unit(tick) * area.height()
            painter.setPen(grid)
            painter.drawLine(QLineF(area.left(), y, area.right(), y))
            painter.setPen(text)
            box = QRectF(0, y - metrics.height() / 2, area.left() - 8, metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, label)
        first, end = self.part
        widest = metrics.horizontalAdvance(f"{self._length:,}") + 28
        _, indexes = value_ticks(first, end, max(2, int(area.width() // max(72, widest))), whole=True)
        for index in indexes:
            x = self._x_of(area, index)
            painter.setPen(grid)
            painter.drawLine(QLineF(x, area.top(), x, area.bottom()))
            painter.setPen(text)
            label = f"{int(index):,}"
            half = metrics.horizontalAdvance(label) / 2 + 1
            x = min(x, self.width() - half)
            box = QRectF(x - half, area.bottom() + 6, 2 * half, metrics.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, label)

    def _paint_line(self, painter: QPainter, area: QRectF, values: Scale, line: LineEnvelope) -> None:
        first, end = self.part
        accent, fill = self._theme.color("accent"), self._theme.color("plot_fill")
        runs: list[QPolygonF] = [QPolygonF()]
        bars: list[QLineF] = []
        rugs: dict[str, list[QLineF]] = {}
        for point in range(len(line.low)):
            if line.edges[point + 1] <= first or line.edges[point] >= end:
                continue
            x = self._x_of(area, (line.edges[point] + line.edges[point + 1]) / 2)
            for flag, _, token in _KINDS:
                if line.codes[point] & flag:
                    rugs.setdefault(token, []).append(QLineF(x, area.bottom() - _RUG, x, area.bottom()))
            if math.isnan(line.low[point]):
                runs.append(QPolygonF())
                continue
            low, high = (
                area.bottom() - values.to_unit(v) * area.height() for v in (line.low[point], line.high[point])
            )
            if line.edges[point + 1] - line.edges[point] > 1:
                bars.append(QLineF(x, low, x, high - 1))
            runs[-1].append(QPointF(x, area.bottom() - values.to_unit(line.mean[point]) * area.height()))
        painter.setPen(QPen(fill, max(1.0, area.width() / max(1, len(line.low)))))
        painter.drawLines(bars)
        painter.setPen(QPen(accent, 1))
        for run in runs:
            painter.drawPolyline(run)
        if end - first <= _DOTS_UP_TO:
            painter.setPen(QPen(accent, 5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            for run in runs:
                painter.drawPoints(run)
        for token, lines in rugs.items():
            painter.setPen(QPen(self._theme.color(token), 2))
            painter.drawLines(lines)

    def _x_of(self, area: QRectF, index: float) -> float:
        first, end = self.part
        return area.left() + (index - first) / (end - first) * area.width()

    def _index_at(self, x: float) -> float:
        area, (first, end) = self._area(), self.part
        return first + (x - area.left()) / area.width() * (end - first)

    # Mouse and keys

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._press = self._index_at(event.position().x())

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = self._index_at(event.position().x())
        if self._press is not None:
            first, end = self.part
            low, high = sorted((self._press, min(max(at, first), end)))
            self._band = (low, high)
        self._point(at if self._area().contains(event.position()) else None)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: ARG002
        band, self._band, self._press = self._band, None, None
        if band is not None and band[1] > band[0]:
            self.set_part(*band)
        self.update()

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        self.zoom(ZOOM_STEP ** (event.angleDelta().y() / 120), self._index_at(event.position().x()))
        event.accept()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, (first, end) = event.key(), self.part
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            sign = 1 if key == Qt.Key.Key_Right else -1
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                step = sign * (end - first) / 10
                self.set_part(first + step, end + step)
            else:
                step = max(1.0, (end - first) / max(1.0, self._area().width()))
                at = (first + end) / 2 if self._cross is None else self._cross + sign * step
                self._point(math.floor(min(max(at, 0.0), self._length - 1)) + 0.5)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Up):
            self.zoom(ZOOM_STEP)
        elif key in (Qt.Key.Key_Minus, Qt.Key.Key_Down):
            self.zoom(1 / ZOOM_STEP)
        elif key == Qt.Key.Key_Home:
            self.reset()
        elif key == Qt.Key.Key_Escape and self._cross is not None:
            self._point(None)
        else:
            super().keyPressEvent(event)

    @override
    def sizeHint(self) -> QSize:
        return QSize(640, 400)
