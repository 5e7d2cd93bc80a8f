"""Two numbers to type: the range of values to look at."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QWidget

from viewer.gui.format import MINUS
from viewer.gui.theme import Theme


class RangeRow(QWidget):
    """Hidden until a range is to be typed.

    Signals
    -------
    entered
        The person pressed Return, and both numbers make a range: look at `numbers`.
    """

    entered = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.low = self._edit("First value of the range", "-0.1")
        self.high = self._edit("Last value of the range", "0.1")
        go = QPushButton("Show", self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for text, edit in (("&from", self.low), ("&to", self.high)):
            label = QLabel(text, self)
            label.setBuddy(edit)
            layout.addWidget(label)
            layout.addWidget(edit)
        layout.addWidget(go)
        layout.addStretch(1)
        go.clicked.connect(self._enter)
        theme.changed.connect(self._restyle)
        self._restyle()
        self.hide()

    @property
    def numbers(self) -> tuple[float, float] | None:
        """What was typed; None where that is no range."""
        low, high = _number(self.low.text()), _number(self.high.text())
        return None if low is None or high is None or not low < high else (low, high)

    def begin(self) -> None:
        """Show it, ready to type."""
        self.show()
        self.low.setFocus(Qt.FocusReason.OtherFocusReason)
        self.low.selectAll()

    def _enter(self) -> None:
        numbers = self.numbers
        alone = _number(self.low.text()) is not None
        self._mark(self.low, numbers is None and not alone)
        self._mark(self.high, numbers is None and alone)
        if numbers is not None:
            self.entered.emit()

    def _mark(self, edit: QLineEdit, fault: bool) -> None:
        edit.setProperty("fault", fault)
        edit.setToolTip("The range needs two numbers, the smaller one first" if fault else "")
        edit.style().unpolish(edit)
        edit.style().polish(edit)

    def _edit(self, name: str, example: str) -> QLineEdit:
        edit = QLineEdit(self)
        edit.setAccessibleName(name)
        edit.setPlaceholderText(example)
        edit.setMaximumWidth(140)
        edit.returnPressed.connect(self._enter)
        return edit

    def _restyle(self) -> None:
        for edit in (self.low, self.high):
            edit.setFont(self._theme.mono(-1))


def _number(text: str) -> float | None:
    """A finite number as Python or this window writes it."""
    try:
        value = float(text.strip().replace(MINUS, "-").replace(",", "").replace("_", ""))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
