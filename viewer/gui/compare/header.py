"""The line that says which file is left and which is right."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from viewer.gui.theme import Theme


class SidesHeader(QWidget):
    """Both names in the colours of their sides, and what swaps them."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.left, self.right = QLabel(self), QLabel(self)
        self.swap = QPushButton("⇄ Swap", self)
        self.swap.setToolTip("Exchange left and right")
        line = QHBoxLayout(self)
        line.setContentsMargins(12, 6, 12, 6)
        line.setSpacing(12)
        for widget in (self.left, self.swap, self.right):
            line.addWidget(widget)
        line.addStretch(1)
        for label in (self.left, self.right):
            label.setTextFormat(Qt.TextFormat.PlainText)
        theme.changed.connect(self._take_theme)
        self._take_theme()

    def show_paths(self, left: Path, right: Path) -> None:
        """Name both files; where the names are the same, with their folders."""
        alike = left.name == right.name
        for label, path, side in ((self.left, left, "left"), (self.right, right, "right")):
            name = f"{path.parent.name}/{path.name}" if alike and path.parent.name else path.name
            label.setText(f"■ {name}")
            label.setToolTip(str(path))
            label.setAccessibleName(f"{side}: {name}")

    def _take_theme(self) -> None:
        for label, side in ((self.left, "left"), (self.right, "right")):
            label.setFont(self._theme.mono())
            label.setStyleSheet(f"color: {self._theme.color(side).name()};")
