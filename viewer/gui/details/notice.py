"""A sentence where a plot would be, with at most one way out."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget


class Notice(QWidget):
    """Centred words, and a button where something can be done.

    Signals
    -------
    acted
        The button was pressed.
    """

    acted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._label = QLabel(self)
        self._label.setProperty("role", "muted")
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setWordWrap(True)
        self._label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._button = QPushButton(self)
        self._button.clicked.connect(self.acted)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(32, 16, 32, 16)
        layout.setSpacing(12)
        layout.addStretch(1)
        layout.addWidget(self._label)
        layout.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(1)

    @property
    def text(self) -> str:
        return self._label.text()

    @property
    def action(self) -> str:
        """What the button says; "" where there is none."""
        return "" if self._button.isHidden() else self._button.text()

    def show_notice(self, text: str, action: str = "") -> None:
        self._label.setText(text)
        self._button.setText(action)
        self._button.setVisible(bool(action))
