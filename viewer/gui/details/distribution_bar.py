"""The controls above a histogram: counts, axis and range, which part, bins, what is shown, and back to all of it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QComboBox, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from viewer.gui.details.distribution_options import DistributionOptions
from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.details.histogram_plot import MOUSE_AND_KEYS
from viewer.gui.theme import Theme
from viewer.tensors.histogram_results import AUTO_BINS, BinRule

AUTO: Final = "auto"
NUMPY: Final = "numpy"
EACH: Final = "each"
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

    def __init__(self, theme: Theme, export: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.options = DistributionOptions(self)
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

        self._rule = ""
        self._info = ElidedLabel(Qt.TextElideMode.ElideRight, self)
        self._info.setProperty("role", "muted")
        self._info.setAlignment(Qt.AlignmentFlag.AlignRight)
        # It takes what the note beside it leaves: that says what is not in the plot, and is more important.
        self._info.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._all = QPushButton("Show all", self)
        self._all.setProperty("role", "flat")
        self._all.setToolTip(f"Back to the full range (Home)\n{MOUSE_AND_KEYS}")
        self._all.hide()
        self._all.clicked.connect(self.all_wanted)
        self._bins = QComboBox(self)
        self._bins.setAccessibleName("Number of bins")
        # Narrower than its longest entry, which the list shows whole: the tree must not be pushed aside.
        self._bins.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._bins.setMinimumContentsLength(9)
        self._bins.setToolTip(
            "Number of bins. auto: the square root of the number of elements, from 16 to 256\n"
            "auto (numpy): the finer of Sturges' and Freedman and Diaconis' rules\n"
            "a bar per value: of whole numbers, as far as 4,096 bars go"
        )
        self._bins.addItem(f"{AUTO} bins", AUTO)
        self._bins.addItem("auto (numpy)", NUMPY)
        self._bins.addItem("a bar per value", EACH)
        for choice in BIN_CHOICES:
            self._bins.addItem(f"{choice:,} bins", choice)
        self._bins.view().setMinimumWidth(self._bins.view().sizeHintForColumn(0) + 24)
        self._bins.activated.connect(self.bins_chosen)

        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._linear)
        layout.addWidget(self._log)
        layout.addWidget(self.options)
        layout.addWidget(self._part)
        layout.addStretch(1)
        layout.addWidget(self._bins)
        layout.addWidget(export)
        theme.changed.connect(self._restyle)
        self._restyle()

    @property
    def for_below(self) -> tuple[QWidget, QWidget]:
        """What is shown, and back to the full range: for the line below, since this one is full."""
        return self._info, self._all

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
        return auto_bins(numel) if choice in (AUTO, NUMPY, EACH) else int(choice)

    def rule(self, numel: int, *, whole: bool) -> BinRule | None:
        """The rule for the edges; None where equal bins over the full range are wanted, which need no rule.

        Parameters
        ----------
        whole
            True where the values are whole numbers.
        """
        choice, axis = self._bins.currentData(), self.options.axis
        if choice == NUMPY:
            return BinRule(AUTO_BINS, axis)
        if choice == EACH and whole:
            return BinRule(BIN_CHOICES[-1])
        return None if axis == "linear" else BinRule(self.n_bins(numel), axis)

    @property
    def bins_choice(self) -> str:
        """What was chosen: a number, or the name of a rule."""
        return str(self._bins.currentData())

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

    def show_rule(self, rule: str) -> None:
        """Say how the bins came about that are drawn next; "" where that needs no words."""
        self._rule = rule

    def show_info(self, info: str, zoomed: bool) -> None:
        rule = self._rule.partition(",")[0] if "," in self._rule and not zoomed else ""
        self._info.set_text(f"{rule}: {info}" if rule and info else info)
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
