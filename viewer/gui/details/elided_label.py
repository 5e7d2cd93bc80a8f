"""A line of text that gives way in the middle or at the end where it is too long, and is whole on hover."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from viewer.gui.details.tips import cut_middle, plain_tip
from viewer.gui.override import override


class ElidedLabel(QLabel):
    """Plain text on one line."""

    def __init__(self, mode: Qt.TextElideMode, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    @property
    def shown_text(self) -> str:
        """The text as it fits at present."""
        return QFontMetrics(self.font()).elidedText(cut_middle(self.text()), self._mode, self.contentsRect().width())

    def set_text(self, text: str) -> None:
        self.setText(text)
        self.setToolTip(plain_tip(text))
        self.updateGeometry()

    @override
    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        padding = self.width() - self.contentsRect().width()  # of a style sheet
        return QSize(metrics.horizontalAdvance(cut_middle(self.text())) + padding + 2, metrics.height() + 2)

    @override
    def minimumSizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(min(self.sizeHint().width(), metrics.horizontalAdvance("0") * 8), metrics.height() + 2)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        # Not QLabel's own: that would draw the text in full and clip it.
        painter = QPainter(self)
        painter.setFont(self.font())
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), self.alignment() | Qt.AlignmentFlag.AlignVCenter, self.shown_text)
