"""Which colours a map has for what is not finite: squares with words, of the sorts that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.override import override
from viewer.gui.theme import Theme

_TOKENS: Final = {"NaN": "nan", "+inf": "posinf", "−inf": "neginf"}
_SIDE: Final = 10
_GAP: Final = 6


class MapLegend(QWidget):
    """Hidden where all is finite."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._kinds: Sequence[str] = ()
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._restyle)
        self._restyle()
        self.hide()

    @property
    def kinds(self) -> Sequence[str]:
        return self._kinds

    def show_kinds(self, kinds: Sequence[str]) -> None:
        self._kinds = kinds
        self.setVisible(bool(kinds))
        self.setAccessibleName("In the map: " + ", ".join(kinds))
        self.updateGeometry()
        self.update()

    @override
    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        return QSize(sum(self._width(metrics, kind) for kind in self._kinds), metrics.height() + 2)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        metrics = painter.fontMetrics()
        x = 0.0
        for kind in self._kinds:
            painter.fillRect(QRectF(x, (self.height() - _SIDE) / 2, _SIDE, _SIDE), self._theme.color(_TOKENS[kind]))
            painter.setPen(self._theme.color("muted"))
            box = QRectF(x + _SIDE + _GAP, 0, 100, self.height())
            painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, kind)
            x += self._width(metrics, kind)

    def _width(self, metrics: QFontMetrics, kind: str) -> int:
        return _SIDE + _GAP + metrics.horizontalAdvance(kind) + 2 * _GAP

    def _restyle(self) -> None:
        self.setFont(self._theme.mono(-1))
        self.updateGeometry()
        self.update()
