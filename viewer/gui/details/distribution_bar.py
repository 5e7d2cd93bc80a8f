"""The controls above a histogram: linear or log counts, bins, which part, what is shown, and back to all of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QComboBox, QHBoxLayout, QPushButton, QWidget

from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.details.histogram_plot import MOUSE_AND_KEYS
from viewer.gui.theme import Theme

AUTO: Final = "auto"
BIN_CHOICES: Final = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_AUTO_LEAST: Final = 16
_AUTO_MOST: Final = 256
"""A bin narrower than two or three pixels of an ordinary plot tells nothing that zooming does not tell better."""


def auto_bins(numel: int) -> int:
    """The square-root rule, within 16 … 256: ceil(sqrt(n)) bins for n elements."""
    return max(_AUTO_LEAST, min(_AUTO_MOST, _ceil_sqrt(numel)))


class DistributionBar(QWidget):
    """Says what the person wants; it holds no data.

    Signals
    -------
    log_counts_chosen
        Carries True for log counts.
    bins_chosen, part_chosen
        Another number of bins, another part of the values.
    all_wanted
        The person wants to see the full range again.
    """

    log_counts_chosen = Signal(bool)
    bins_chosen = Signal()
    part_chosen = Signal()
    all_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._linear = self._chip("linear", "Counts on a linear axis")
        self._log = self._chip("log counts", "Counts on a logarithmic axis; a bin of one element stays visible")
        self._linear.setChecked(True)
        group = QButtonGroup(self)
        group.addButton(self._linear)
        group.addButton(self._log)
        self._log.toggled.connect(self.log_counts_chosen)

        self._part = QComboBox(self)
        self._part.setAccessibleName("Part of the values")
        self._part.hide()
        self._part.activated.connect(self.part_chosen)

        self._info = ElidedLabel(Qt.TextElideMode.ElideRight, self)
        self._info.setProperty("role", "muted")
        self._info.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._all = QPushButton("Show all", self)
        self._all.setProperty("role", "flat")
        self._all.setToolTip(f"Back to the full range (Home)\n{MOUSE_AND_KEYS}")
        self._all.hide()
        self._all.clicked.connect(self.all_wanted)
        self._bins = QComboBox(self)
        self._bins.setAccessibleName("Number of bins")
        self._bins.setToolTip("Number of bins. auto: the square root of the number of elements, from 16 to 256")
        self._bins.addItem(f"{AUTO} bins", AUTO)
        for choice in BIN_CHOICES:
            self._bins.addItem(f"{choice:,} bins", choice)
        self._bins.activated.connect(self.bins_chosen)

        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._linear)
        layout.addWidget(self._log)
        layout.addWidget(self._part)
        layout.addWidget(self._info, 1)
        layout.addWidget(self._all)
        layout.addWidget(self._bins)
        theme.changed.connect(self._restyle)
        self._restyle()

    @property
    def log_counts(self) -> bool:
        return self._log.isChecked()

    @property
    def part(self) -> int:
        """0 for the main view of the values, then the others in their order."""
        return max(0, self._part.currentIndex())

    @property
    def info(self) -> str:
        return self._info.text()

    def n_bins(self, numel: int) -> int:
        """How many bins are wanted for a tensor of `numel` elements."""
        choice = self._bins.currentData()
        return auto_bins(numel) if choice == AUTO else int(choice)

    def choose_bins(self, choice: int | str) -> None:
        """Choose a number of bins, or AUTO, as the box would."""
        self._bins.setCurrentIndex(self._bins.findData(choice))
        self.bins_chosen.emit()

    def choose_log_counts(self, on: bool) -> None:
        (self._log if on else self._linear).setChecked(True)

    def choose_part(self, part: int) -> None:
        self._part.setCurrentIndex(part)
        self.part_chosen.emit()

    def offer_parts(self, names: Sequence[str]) -> None:
        """Offer several views of the values; the choice stays where the names are the same as before."""
        present = [self._part.itemText(row) for row in range(self._part.count())]
        if present != list(names):
            self._part.clear()
            self._part.addItems(list(names))
        self._part.setVisible(len(names) > 1)

    def show_info(self, info: str, zoomed: bool) -> None:
        self._info.set_text(info)
        self._all.setVisible(zoomed)

    def _chip(self, text: str, tip: str) -> QPushButton:
        chip = QPushButton(text, self)
        chip.setProperty("role", "chip")
        chip.setCheckable(True)
        chip.setToolTip(tip)
        return chip

    def _restyle(self) -> None:
        self._info.setFont(self._theme.mono(-1))


def _ceil_sqrt(n: int) -> int:
    # In whole numbers: the shape in a file may claim more elements than a float holds.
    root = isqrt(n)
    return root if root * root == n else root + 1
