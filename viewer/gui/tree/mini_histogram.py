"""A histogram as small as a row of the tree."""

from __future__ import annotations

from math import sqrt
from typing import Final

from PySide6.QtCore import QLineF, QRect, QRectF
from PySide6.QtGui import QPainter, QPen

from viewer.gui.theme import Theme
from viewer.tensors.scan_results import ScanRow

_WIDEST: Final = 96
_ALPHA: Final = 190


def paint_histogram(painter: QPainter, rect: QRect, found: ScanRow, theme: Theme) -> None:
    """Bars of the square root of the counts, none lower than a pixel where something is; a line where 0 lies, and
    a mark at the end where elements are not finite."""
    lost = found.nan or found.posinf or found.neginf
    width = min(rect.width(), _WIDEST) - (6 if lost else 0)
    area = QRectF(rect.right() + 1 - width - (6 if lost else 0), rect.top(), width, rect.height())
    top = max(found.counts)
    step = area.width() / len(found.counts)
    ratio = painter.device().devicePixelRatioF()
    painter.save()
    painter.setPen(QPen(theme.color("border"), 1))
    painter.drawLine(QLineF(area.left(), area.bottom(), area.right(), area.bottom()))
    low, high = found.min, found.max
    if low is not None and high is not None and low < 0 < high:
        x = area.left() + area.width() * _share(low, high)
        painter.drawLine(QLineF(x, area.top(), x, area.bottom()))
    color = theme.color("accent")
    color.setAlpha(_ALPHA)
    for place, count in enumerate(found.counts):
        if count:
            height = max(1.0, area.height() * sqrt(count / top))
            left = round((area.left() + place * step) * ratio) / ratio  # whole pixels: bars of one width, no seams
            right = round((area.left() + (place + 1) * step) * ratio) / ratio
            painter.fillRect(QRectF(left, area.bottom() - height, max(right - left, 1 / ratio), height), color)
    if lost:
        painter.fillRect(
            QRectF(rect.right() - 2, rect.top(), 3, rect.height()), theme.color("nan" if found.nan else "warning")
        )
    painter.restore()


def _share(low: float, high: float) -> float:
    """Where 0 lies between the ends. Halved first: their distance may be more than a float holds."""
    return (-low / 2) / (high / 2 - low / 2)
