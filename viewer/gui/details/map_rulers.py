"""Paints what stands around a map: indexes along rows and columns, and the bar of colours with their values."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QImage, QPainter, QPen

from viewer.gui.details.map_colours import N_COLOURS
from viewer.gui.details.map_view import Frame, Part
from viewer.gui.details.scale import Scale
from viewer.gui.details.ticks import value_labels, value_ticks
from viewer.gui.theme import Theme

_TICK: Final = 4
_APART: Final = 3
_ROOM: Final = 64
"""Pixels between two labels of the columns, at least."""


def paint_rulers(painter: QPainter, theme: Theme, frame: Frame, part: Part, pitch: tuple[int, int]) -> None:
    """Indexes left of a map and below it, each at the middle of its element, or of its kernel.

    Parameters
    ----------
    pitch
        Rows and columns of the map from one index to the next.
    """
    high, wide = pitch
    metrics = painter.fontMetrics()
    line = QPen(theme.color("border"), 1)
    text = QPen(theme.color("muted"))
    for row in _indexes(part.top / high, part.bottom / high, frame.height // (metrics.height() + 12)):
        y = frame.y_of(part, row * high + max(high - 1, 1) / 2)
        painter.setPen(line)
        painter.drawLine(QPointF(frame.x - _TICK, y), QPointF(frame.x - 1, y))
        painter.setPen(text)
        box = QRectF(0, y - metrics.height() / 2, frame.x - _TICK - _APART, metrics.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"{row:,}")
    bottom = frame.y + frame.height
    widest = metrics.horizontalAdvance(f"{max(int(part.right) - 1, 0):,}")
    for column in _indexes(part.left / wide, part.right / wide, frame.width // max(_ROOM, widest + 24)):
        x = frame.x_of(part, column * wide + max(wide - 1, 1) / 2)
        painter.setPen(line)
        painter.drawLine(QPointF(x, bottom), QPointF(x, bottom + _TICK - 1))
        painter.setPen(text)
        box = QRectF(x - 100, bottom + _TICK + 1, 200, metrics.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, f"{column:,}")


def paint_colour_bar(
    painter: QPainter, theme: Theme, bar: QRect, levels: tuple[float, float], table: tuple[int, ...]
) -> None:
    """The colours from the lowest value at the foot to the highest at the top, with some values beside them."""
    low, high = levels
    image = QImage(1, N_COLOURS, QImage.Format.Format_RGB32)
    for place in range(N_COLOURS):
        image.setPixel(0, N_COLOURS - 1 - place, table[place])
    painter.drawImage(bar, image)
    painter.setPen(QPen(theme.color("border"), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(QRectF(bar).adjusted(-0.5, -0.5, 0.5, 0.5))
    metrics = painter.fontMetrics()
    step, ticks = value_ticks(low, high, max(2, bar.height() // 48))
    scale = Scale(low, high)
    painter.setPen(QPen(theme.color("muted")))
    for tick, label in zip(ticks, value_labels(ticks, step), strict=True):
        y = bar.y() + bar.height() * (1 - scale.to_unit(tick))
        painter.drawLine(QPointF(bar.right() + 1, y), QPointF(bar.right() + _TICK, y))
        box = QRectF(bar.right() + _TICK + _APART, y - metrics.height() / 2, 200, metrics.height())
        painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, label)


def _indexes(first: float, end: float, at_most: int) -> list[int]:
    """Round indexes of elements of which the middle is in view."""
    _, ticks = value_ticks(first - 0.5, end - 0.5, max(1, at_most), whole=True)
    return [int(tick) for tick in ticks if tick >= 0]
