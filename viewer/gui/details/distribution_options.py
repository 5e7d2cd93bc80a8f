"""How a histogram is looked at: axis, cumulative counts, and the range to begin with. One menu."""

from __future__ import annotations

from typing import Final, TypeAlias

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from viewer.gui.details.menu_title import add_title
from viewer.tensors.histogram_results import AxisName

TYPED: Final = "typed"
RangeChoice: TypeAlias = float | str | None
"""A fraction to leave out at either end, TYPED, or None for the full range."""

_AXES: Final[tuple[tuple[AxisName, str], ...]] = (
    ("linear", "&Linear axis"),
    ("signed log", "&Signed logarithm: straight about 0, logarithmic far from it"),
)
_RANGES: Final[tuple[tuple[RangeChoice, str], ...]] = (
    (None, "&Full range"),
    (0.001, "From &0.1 to 99.9 % of the values"),
    (0.01, "From &1 to 99 %"),
    (0.05, "From &5 to 95 %"),
    (TYPED, "From and to &numbers that I type"),
)


class DistributionOptions(QToolButton):
    """A button with a menu.

    Signals
    -------
    axis_changed, cumulative_changed, range_changed
        Look at `axis`, `is_cumulative`, `range_choice`.
    """

    axis_changed = Signal()
    cumulative_changed = Signal(bool)
    range_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "menu")
        self.setText("View")
        self.setToolTip("Axis, range, and cumulative counts")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self)
        self.setMenu(self._menu)
        add_title(self._menu, "Values")
        self._axes = self._group(_AXES)
        add_title(self._menu, "Counts")
        self.cumulative = QAction("&Cumulative: how many values are not above", self._menu)
        self.cumulative.setCheckable(True)
        self._menu.addAction(self.cumulative)
        add_title(self._menu, "Range")
        self._ranges = self._group(_RANGES)
        self._axes.triggered.connect(self.axis_changed)
        self.cumulative.toggled.connect(self.cumulative_changed)
        self._ranges.triggered.connect(self.range_changed)

    @property
    def axis(self) -> AxisName:
        return "signed log" if self._axes.checkedAction().data() == "signed log" else "linear"

    @property
    def is_cumulative(self) -> bool:
        return self.cumulative.isChecked()

    @property
    def range_choice(self) -> RangeChoice:
        return _RANGES[self._ranges.actions().index(self._ranges.checkedAction())][0]

    def forget_range(self) -> None:
        """The person went back to all of it: so the next tensor begins with all of it too."""
        self._ranges.actions()[0].setChecked(True)

    def choose(self, choice: RangeChoice) -> None:
        """Choose an axis or a range, as the menu would."""
        for group, entries in ((self._axes, _AXES), (self._ranges, _RANGES)):
            for action, (value, _) in zip(group.actions(), entries, strict=True):
                if value == choice:
                    action.trigger()

    def _group(self, entries: tuple[tuple[RangeChoice | AxisName, str], ...]) -> QActionGroup:
        group = QActionGroup(self)
        for value, text in entries:
            action = QAction(text, self._menu)
            action.setCheckable(True)
            action.setData(value)
            group.addAction(action)
            self._menu.addAction(action)
        group.actions()[0].setChecked(True)
        return group
