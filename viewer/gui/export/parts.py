"""Small parts of these dialogs: a line with progress and cancel, a hash with its copy button, tables that lead on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QSizePolicy, QWidget

from viewer.gui.details.jump_table import JumpTable
from viewer.gui.details.page import TEXT_INSET, Page, SectionLabel, WordsLabel
from viewer.gui.export.rows import Listing
from viewer.gui.icons import IconSet
from viewer.gui.job_strip import amount_text
from viewer.gui.theme import Theme
from viewer.task import Progress

_BAR_STEPS: Final = 1000
_COPIED_MS: Final = 2_000
_SELECTABLE: Final = Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard


class ProgressLine(QWidget):
    """A bar, how far it is, and a way to stop.

    Signals
    -------
    cancelled
        The person wants it to stop.
    """

    cancelled = Signal()

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._since_s = 0.0
        self._words = ""
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._amount = QLabel(self)
        self._amount.setFont(theme.mono(-1))
        self.cancel = QPushButton("Cancel", self)
        self.cancel.setAutoDefault(False)
        self.cancel.clicked.connect(self.cancelled)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(12)
        line.addWidget(self._bar, 1)
        line.addWidget(self._amount)
        line.addWidget(self.cancel)
        self.hide()

    @property
    def text(self) -> str:
        return self._amount.text()

    def begin(self, words: str) -> None:
        """Show that something began."""
        self._since_s = time.monotonic()
        self._bar.setRange(0, 0)
        self._words = words
        self._amount.setText(words)
        self.cancel.setEnabled(True)
        self.show()

    def take(self, progress: Progress, words: str = "") -> None:
        """Show how far it is; `words` say what is being done from now on."""
        self._words = words or self._words
        if progress.total > 0:
            self._bar.setRange(0, _BAR_STEPS)
            self._bar.setValue(min(_BAR_STEPS, progress.done * _BAR_STEPS // progress.total))
        amount = amount_text(progress, time.monotonic() - self._since_s)
        self._amount.setText(f"{self._words} · {amount}" if amount else self._words)

    def stopping(self) -> None:
        """The engine was asked to stop."""
        self._amount.setText("cancelling…")
        self.cancel.setEnabled(False)


class HashLine(QWidget):
    """A SHA-256 that can be selected, with a button that copies it."""

    def __init__(self, theme: Theme, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.label = QLabel(self)
        self.label.setTextInteractionFlags(_SELECTABLE)
        self.label.setAccessibleName(name)
        self.label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.copy = QPushButton("Copy", self)
        self.copy.setAutoDefault(False)
        self.copy.setAccessibleName(f"Copy the {name}")
        self.copy.clicked.connect(self._copy)
        self._again = QTimer(self, singleShot=True, interval=_COPIED_MS)
        self._again.timeout.connect(partial(self.copy.setText, "Copy"))
        line = QHBoxLayout(self)
        line.setContentsMargins(TEXT_INSET, 0, 0, 0)
        line.setSpacing(12)
        line.addWidget(self.label, 1)
        line.addWidget(self.copy)
        theme.changed.connect(self._take_theme)
        self._take_theme()

    @property
    def text(self) -> str:
        return self.label.text()

    def show_hash(self, sha256: str) -> None:
        """Show 64 hex digits."""
        self.label.setText(sha256)
        self.copy.setEnabled(bool(sha256))

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.label.text())
        self.copy.setText("Copied")
        self._again.start()

    @Slot()
    def _take_theme(self) -> None:
        self.label.setFont(self._theme.mono())
        self.copy.setIcon(IconSet(self._theme.tokens).icon("copy", "muted"))


class ListingPage(Page):
    """Tables one below the other; rows with a place lead there.

    Signals
    -------
    path_requested
        Carries the path that the person wants to see.
    """

    path_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: list[QWidget] = []
        self.column.addStretch(1)

    @property
    def tables(self) -> list[JumpTable]:
        """The tables, from top to bottom."""
        return [widget for widget in self._shown if isinstance(widget, JumpTable)]

    def clear(self) -> None:
        """Show nothing."""
        for widget in self._shown:
            self.column.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self._shown = []

    def add_words(self, text: str, colour: str = "muted") -> None:
        """Add a paragraph."""
        label = WordsLabel(self._theme, colour, self.body)
        label.show_words(text)
        self.add(label)

    def add_title(self, text: str) -> None:
        """Add the head of a section."""
        self.add(SectionLabel(text, self.body))

    def add_listing(self, listing: Listing, heads: tuple[str, ...] = (), optional: tuple[int, ...] = ()) -> None:
        """Add what was found of one kind, with its head; columns in `optional` go where there is no room."""
        self.add_title(listing.title)
        if listing.sentences:
            self.add_words("\n".join(listing.sentences), "text")
        if not listing.rows:
            return
        table = JumpTable(self._theme, listing.title, self.body)
        table.show_jumps(listing.rows, heads, optional=optional)
        table.node_requested.connect(partial(self._go, listing.paths))
        self.add(table)

    def add(self, widget: QWidget) -> None:
        """Add a part of another kind."""
        self.column.insertWidget(self.column.count() - 1, widget)
        widget.show()
        self._shown.append(widget)

    def _go(self, paths: Sequence[str], row: int) -> None:
        self.path_requested.emit(paths[row])
