"""The small tip beside the pointer in a plot: a widget of the plot, so that it moves without a window of its own."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from viewer.gui.override import override
from viewer.gui.theme import Theme

_PADDING = 8
_DISTANCE = 10
"""Between the pointed place and the tip."""


class HoverTip(QWidget):
    """A few short lines in a rounded frame; takes no clicks."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._text = ""
        self._theme: Theme | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    @property
    def text(self) -> str:
        return self._text

    def set_look(self, theme: Theme) -> None:
        self._theme = theme
        self.setFont(theme.mono(-1))
        self.update()

    def show_beside(self, x: int, top: int, text: str) -> None:
        """Show `text` right of x, or left of it where the parent ends; coordinates of the parent."""
        parent = self.parentWidget()
        assert parent is not None
        self._text = text
        metrics = QFontMetrics(self.font())
        lines = text.split("\n")
        width = max(metrics.horizontalAdvance(line) for line in lines) + 2 * _PADDING
        # Measured as it is drawn: many times the rounded line spacing may be less.
        height = metrics.boundingRect(QRect(0, 0, width, 10_000), Qt.AlignmentFlag.AlignLeft, text).height()
        self.resize(width, height + 2 * _PADDING)
        left = x + _DISTANCE
        if left + width > parent.width():
            left = max(0, x - _DISTANCE - width)
        self.move(left, top + _DISTANCE)
        self.show()
        self.raise_()
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._theme is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.color("border"), 1))
        painter.setBrush(self._theme.color("window"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        painter.setPen(self._theme.color("text"))
        painter.setFont(self.font())
        painter.drawText(
            self.rect().adjusted(_PADDING, _PADDING, -_PADDING, -_PADDING), Qt.AlignmentFlag.AlignLeft, self._text
        )
