"""Which rows of a slice the table has, where the slice is longer than a table can be."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from viewer.gui.format import format_count


class WindowStrip(QWidget):
    """Hidden where all rows are in the table.

    Signals
    -------
    shift_wanted
        Carries 1 for the rows after, -1 for the rows before.
    """

    shift_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel(self)
        self._label.setProperty("role", "muted")
        self.back = self._button("◀", "The rows before")
        self.on = self._button("▶", "The rows after")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for widget in (self._label, self.back, self.on):
            layout.addWidget(widget)
        self.back.clicked.connect(self._go_back)
        self.on.clicked.connect(self._go_on)
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text()

    def show_window(self, first: int, count: int, rows: int) -> None:
        """Say which rows are there; nothing where that is all of them."""
        self.setVisible(count < rows)
        self._label.setText(f"rows {format_count(first)} … {format_count(first + count - 1)} of {format_count(rows)}")
        self.back.setEnabled(first > 0)
        self.on.setEnabled(first + count < rows)

    def _button(self, text: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setProperty("role", "flat")
        button.setText(text)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        return button

    def _go_back(self) -> None:
        self.shift_wanted.emit(-1)

    def _go_on(self) -> None:
        self.shift_wanted.emit(1)
