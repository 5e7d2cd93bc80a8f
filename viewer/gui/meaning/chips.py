"""A row of chips of which one is chosen; those that would leave nothing are not offered."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QWidget

from viewer.gui.format import format_count


class ChipRow(QWidget):
    """The first chip leaves everything.

    Signals
    -------
    chosen_changed
        The person chose another.
    """

    chosen_changed = Signal()

    def __init__(self, chips: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        """`chips` are texts and tips."""
        super().__init__(parent)
        self._texts = [text for text, _ in chips]
        self._group = QButtonGroup(self)
        self.buttons: list[QPushButton] = []
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        for number, (text, tip) in enumerate(chips):
            button = QPushButton(text, self)
            button.setProperty("role", "chip")
            button.setCheckable(True)
            button.setChecked(not number)
            button.setToolTip(tip)
            button.setVisible(not number)
            self._group.addButton(button, number)
            self.buttons.append(button)
            line.addWidget(button)
        self._group.idClicked.connect(self._clicked)

    @property
    def chosen(self) -> int:
        return self._group.checkedId()

    def choose(self, number: int) -> None:
        """Choose a chip, without telling."""
        self.buttons[number].setChecked(True)

    def show_counts(self, counts: Sequence[int]) -> None:
        """Say on each chip how many rows it leaves."""
        for number, (button, text, count) in enumerate(zip(self.buttons, self._texts, counts, strict=True)):
            button.setText(f"{text} {format_count(count)}")
            button.setVisible(not number or count > 0)

    def _clicked(self, _number: int) -> None:
        self.chosen_changed.emit()
