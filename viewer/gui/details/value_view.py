"""Shows one plain value: large, or in a read-only viewer where it is long; one click from the clipboard."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication, QTextOption
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPlainTextEdit, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from viewer.gui.details.cell_table import CellTable
from viewer.gui.details.facts import Fact
from viewer.gui.details.page import TEXT_INSET
from viewer.gui.details.values import ValueWords
from viewer.gui.format import format_count
from viewer.gui.icons import IconSet
from viewer.gui.theme import Theme

_SHOWN_CHARACTERS: Final = 100_000
"""A text viewer lays out all its lines before the first paint: this many take some 50 ms."""
_LONGEST_WORD: Final = 500
"""From here on lines break anywhere: looking for a place between words takes seconds in a text without blanks."""


class ValueView(QWidget):
    """The value, a button to copy it, and its facts."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._copied = ""
        self._large = QLabel(self)
        self._large.setTextFormat(Qt.TextFormat.PlainText)
        self._large.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._large.setAccessibleName("Value")
        self._large.setContentsMargins(TEXT_INSET, 0, 0, 0)
        self._text = QPlainTextEdit(self)
        self._text.setReadOnly(True)
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self._text.setTabChangesFocus(True)
        self._text.setAccessibleName("Value")
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._copy = QToolButton(self)
        self._copy.setProperty("role", "flat")
        self._copy.setText("Copy")
        self._copy.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._copy.setIconSize(QSize(14, 14))
        self._copy.setAccessibleName("Copy the value")
        self._copy.setToolTip("Copy the whole value")
        self._copy.clicked.connect(self.copy)
        self._cut = QLabel(self)
        self._cut.setProperty("role", "muted")
        self.facts = CellTable(theme, "About the value", self)

        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self._large)
        line.addWidget(self._copy)
        line.addWidget(self._cut)
        line.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(line)
        layout.addWidget(self.facts)
        layout.addWidget(self._text, 1)
        theme.changed.connect(self._restyle)
        self._restyle()

    @property
    def shown(self) -> str:
        """What is on the screen."""
        return self._text.toPlainText() if self._large.isHidden() else self._large.text()

    @property
    def is_long(self) -> bool:
        return self._large.isHidden()

    def show_value(self, words: ValueWords, type_name: str, *, code: bool = False) -> None:
        """Show a value and its type; `code` keeps its lines whole."""
        self._copied = words.copied
        # A short value takes the height that it needs, a long one all there is.
        vertical = QSizePolicy.Policy.Expanding if words.long else QSizePolicy.Policy.Maximum
        self.setSizePolicy(QSizePolicy.Policy.Expanding, vertical)
        self._large.setVisible(not words.long)
        self._text.setVisible(words.long)
        cut = len(words.shown) > _SHOWN_CHARACTERS
        self._cut.setVisible(cut and words.long)
        self._cut.setText(
            f"the first {format_count(_SHOWN_CHARACTERS)} of {format_count(len(words.shown))} characters; "
            "Copy takes all of them"
        )
        wrap = QPlainTextEdit.LineWrapMode.NoWrap if code else QPlainTextEdit.LineWrapMode.WidgetWidth
        shown = words.shown[:_SHOWN_CHARACTERS] if words.long else ""
        unbroken = max(map(len, shown.split()), default=0) > _LONGEST_WORD
        breaks = QTextOption.WrapMode.WrapAnywhere if unbroken else QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
        self._text.clear()  # else the text before is laid out anew
        self._text.setWordWrapMode(breaks)
        self._text.setLineWrapMode(wrap)
        self._text.setPlainText(shown)
        self._large.setText("" if words.long else words.shown)
        lines = 24 if code else min(24, max(4, words.shown.count("\n") + 2 + len(words.shown) // 80))
        self._text.setMinimumHeight(QFontMetrics(self._theme.mono()).lineSpacing() * lines + 16)
        self.facts.show_facts([Fact("type", type_name), *words.facts])

    def copy(self) -> None:
        """Put the whole value on the clipboard."""
        QGuiApplication.clipboard().setText(self._copied)

    def _restyle(self) -> None:
        self._large.setFont(self._theme.mono(6))
        self._text.setFont(self._theme.mono())
        self._copy.setIcon(IconSet(self._theme.tokens).icon("copy", "muted"))
