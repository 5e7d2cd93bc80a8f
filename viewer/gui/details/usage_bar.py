"""A thin bar: how much of a storage a tensor uses."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.details.page import TEXT_INSET
from viewer.gui.override import override
from viewer.gui.theme import Theme


class UsageBar(QWidget):
    """A share of a whole, as wide as it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._fraction = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def fraction(self) -> float:
        return self._fraction

    def show_fraction(self, fraction: float, words: str) -> None:
        self._fraction = max(0.0, min(fraction, 1.0))
        self.setAccessibleName(words)
        self.setToolTip(words)
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(320, 8)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        trough = QRectF(TEXT_INSET, 1, min(self.width() - TEXT_INSET, 480), 6)
        painter.setBrush(self._theme.color("raised"))
        painter.drawRoundedRect(trough, 3, 3)
        if self._fraction > 0:
            painter.setBrush(self._theme.color("accent"))
            painter.drawRoundedRect(QRectF(TEXT_INSET, 1, max(2.0, trough.width() * self._fraction), 6), 3, 3)
