"""What narrows the aligned tree: chips by verdict with their counts, and a filter by name."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLineEdit, QPushButton, QWidget

from viewer.compare.results import Status
from viewer.gui.compare.verdicts import CHIPS, chip_count
from viewer.gui.format import format_count
from viewer.gui.tree.filter import BadFilter, FilterSpec, parse_filter

_SETTLES_MS: Final = 120


class FilterBar(QWidget):
    """Signals: `changed` when other rows are wanted; `entered` when the person goes from the filter to the rows."""

    changed = Signal()
    entered = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.spec = FilterSpec()
        self.text = QLineEdit(self)
        self.text.setPlaceholderText("Filter by name: words, or /regular expression/")
        self.text.setAccessibleName("Filter by name")
        self.text.setClearButtonEnabled(True)
        self._group = QButtonGroup(self)
        self.chips: list[QPushButton] = []
        line = QHBoxLayout(self)
        line.setContentsMargins(8, 6, 8, 8)
        line.setSpacing(8)
        line.addWidget(self.text, 1)
        for number, chip in enumerate(CHIPS):
            button = QPushButton(chip.text, self)
            button.setProperty("role", "chip")
            button.setCheckable(True)
            button.setChecked(not number)
            button.setToolTip(chip.tip)
            self._group.addButton(button, number)
            self.chips.append(button)
            line.addWidget(button)
        self.previous, self.next = QPushButton("↑ F7", self), QPushButton("↓ F8", self)
        self.previous.setToolTip("Previous difference (F7)")
        self.next.setToolTip("Next difference (F8)")
        self.previous.setAccessibleName("Previous difference")
        self.next.setAccessibleName("Next difference")
        line.addWidget(self.previous)
        line.addWidget(self.next)
        self._settle = QTimer(self, singleShot=True, interval=_SETTLES_MS)
        self._settle.timeout.connect(self._take_text)
        self.text.textChanged.connect(self._settle.start)
        self.text.returnPressed.connect(self.entered)
        self._group.idClicked.connect(self._chip_clicked)

    @property
    def statuses(self) -> frozenset[Status] | None:
        """The verdicts that are wanted; None for all."""
        return CHIPS[self._group.checkedId()].statuses

    def show_totals(self, totals: tuple[int, ...]) -> None:
        """Say on each chip how many rows it leaves."""
        for button, chip in zip(self.chips, CHIPS, strict=True):
            button.setText(f"{chip.text} {format_count(chip_count(chip, totals))}")

    def clear(self) -> None:
        """Look for no name any more."""
        self.text.clear()
        self._settle.stop()
        self._take_text()

    def choose_all(self) -> None:
        """Leave every verdict."""
        self.chips[0].setChecked(True)
        self.changed.emit()

    def focus_text(self) -> None:
        self.text.setFocus()
        self.text.selectAll()

    def _chip_clicked(self, _number: int) -> None:
        self.changed.emit()

    def _take_text(self) -> None:
        fault = ""
        try:
            self.spec = parse_filter(self.text.text())
        except BadFilter as error:
            fault = str(error)
        self.text.setToolTip(fault)
        if bool(self.text.property("fault")) != bool(fault):
            self.text.setProperty("fault", bool(fault))
            self.text.style().unpolish(self.text)
            self.text.style().polish(self.text)
        if not fault:
            self.changed.emit()
