"""A page of headed sections that scrolls as a whole."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from viewer.gui.details.tips import cut_middle
from viewer.gui.theme import Theme

_LONGEST: Final = 20_000
"""Characters of a paragraph: more take longer to break into lines than a click may take."""
TEXT_INSET: Final = 3
"""How far Qt sets in the text of table cells."""


class SectionLabel(QLabel):
    """The head of a section."""

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(text, parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        font = QFont(self.font())
        font.setWeight(QFont.Weight.DemiBold)
        self.setFont(font)
        self.setContentsMargins(TEXT_INSET, 10, 0, 0)


class WordsLabel(QLabel):
    """A paragraph of plain words that can be selected; a token of the theme colours it."""

    def __init__(self, theme: Theme, token: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._token = token
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setContentsMargins(TEXT_INSET, 0, 0, 0)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        theme.changed.connect(self._recolor)
        self._recolor()

    def show_words(self, text: str) -> None:
        """Show `text`; nothing where it is empty."""
        self.setText(cut_middle(text, _LONGEST))
        self.setVisible(bool(text))

    def _recolor(self) -> None:
        palette = self.palette()
        palette.setColor(self.foregroundRole(), self._theme.color(self._token))
        self.setPalette(palette)


class Page(QScrollArea):
    """Add sections to `column`; what is left over stays empty below them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.body = QWidget(self)
        self.body.setProperty("role", "panel")
        self.column = QVBoxLayout(self.body)
        # Tables set their text in by 3 pixels; so do the other sections, and all of it begins at 16.
        self.column.setContentsMargins(13, 4, 16, 16)
        self.column.setSpacing(6)
        self.setWidget(self.body)

    def section(self, text: str) -> SectionLabel:
        """Add the head of a section and return it, to hide it with its section."""
        label = SectionLabel(text, self.body)
        self.column.addWidget(label)
        return label
