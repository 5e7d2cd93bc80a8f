"""A paragraph that breaks also inside long words: dotted names and expressions have no blanks to break at."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPalette, QResizeEvent, QTextOption
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextEdit, QWidget

from viewer.gui.details.page import TEXT_INSET
from viewer.gui.details.tips import cut_middle
from viewer.gui.override import override
from viewer.gui.theme import Theme

_LONGEST = 4_000


class WrappedText(QTextEdit):
    """Plain words that can be selected, as high as they are at the present width."""

    def __init__(self, theme: Theme, token: str, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._token = token
        self.setReadOnly(True)
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.viewport().setAutoFillBackground(False)
        self.document().setDocumentMargin(TEXT_INSET)
        self.setPlainText(cut_middle(text, _LONGEST))
        self.setAccessibleName(text[:200])
        theme.changed.connect(self._recolor)
        self._recolor()

    @override
    def sizeHint(self) -> QSize:
        return QSize(240, self._height())

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(80, self._height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.setFixedHeight(self._height())

    def _height(self) -> int:
        return int(self.document().size().height()) + 1

    def _recolor(self) -> None:
        palette = self.palette()
        palette.setColor(QPalette.ColorRole.Text, self._theme.color(self._token))
        self.setPalette(palette)
        self.setFixedHeight(self._height())
