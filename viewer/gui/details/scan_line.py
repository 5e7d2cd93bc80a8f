"""One line between the controls and the plot: what is not in the plot, or how far the scan is."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QToolButton, QWidget

from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.format import format_bytes, format_count
from viewer.gui.icons import IconSet
from viewer.gui.theme import Theme
from viewer.task import Progress

_PATIENCE_MS: Final = 150
"""A scan that is done sooner shows no progress: it would only flicker."""
_STEPS: Final = 1000


class ScanLine(QWidget):
    """Always there and of one height, so that the plot does not jump.

    Signals
    -------
    cancel_wanted
        The person wants the scan to stop.
    """

    cancel_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._note = ElidedLabel(Qt.TextElideMode.ElideRight, self)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(160)
        self._bar.setAccessibleName("Progress of the scan")
        self._amount = ElidedLabel(Qt.TextElideMode.ElideRight, self)
        self._amount.setProperty("role", "muted")
        self._cancel = QToolButton(self)
        self._cancel.setProperty("role", "flat")
        self._cancel.setAccessibleName("Cancel the scan")
        self._cancel.setToolTip("Stop computing this tensor")
        self._cancel.setIconSize(QSize(12, 12))
        self._cancel.clicked.connect(self.cancel_wanted)
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(_PATIENCE_MS)
        self._patience.timeout.connect(self._show_progress)

        self._line = layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._note)
        layout.addWidget(self._bar)
        layout.addWidget(self._amount)
        layout.addWidget(self._cancel)
        self.setFixedHeight(28)
        self.end()
        theme.changed.connect(self._restyle)
        self._restyle()

    @property
    def note(self) -> str:
        return self._note.text()

    @property
    def amount(self) -> str:
        """How far the scan is, in words; "" while none is shown."""
        return "" if self._bar.isHidden() else self._amount.text()

    def add_widget(self, widget: QWidget, stretch: int = 0) -> None:
        """Have something more at the end of the line."""
        self._line.addWidget(widget, stretch)

    def show_note(self, note: str) -> None:
        """Tell what the plot leaves out, or what else needs saying; "" for nothing."""
        self._note.set_text(note)
        self._restyle()

    def begin(self) -> None:
        """A scan begins; it is shown once it takes a while."""
        self._bar.setRange(0, 0)
        self._amount.set_text("waiting for the engine")
        self._patience.start()

    def show_progress(self, progress: Progress) -> None:
        words = format_bytes if progress.unit == "bytes" else format_count
        if progress.total > 0:
            self._bar.setRange(0, _STEPS)  # the widget counts in 32 bits, files do not
            self._bar.setValue(min(_STEPS, progress.done * _STEPS // progress.total))
            self._amount.set_text(f"{words(progress.done)} of {words(progress.total)}")
        else:
            self._bar.setRange(0, 0)
            self._amount.set_text(words(progress.done))

    def end(self) -> None:
        """No scan runs."""
        self._patience.stop()
        for widget in (self._bar, self._amount, self._cancel):
            widget.hide()

    def _show_progress(self) -> None:
        for widget in (self._bar, self._amount, self._cancel):
            widget.show()

    def _restyle(self) -> None:
        palette = self._note.palette()
        palette.setColor(self._note.foregroundRole(), self._theme.color("warning" if "⚠" in self.note else "muted"))
        self._note.setPalette(palette)
        self._amount.setFont(self._theme.mono(-1))
        self._cancel.setIcon(IconSet(self._theme.tokens).icon("close", "muted"))
