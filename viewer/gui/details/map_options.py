"""How a map is coloured and what a pixel shows: one menu, and the choices that come out of it."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, cast

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from viewer.engine.values_requests import ReduceName
from viewer.gui.details.map_colours import ColourName
from viewer.gui.details.menu_title import add_title

RangeName: TypeAlias = Literal["slice", "tensor", "inner"]
AUTO: Final = "auto"
_COLOURS: Final = (
    (AUTO, "&By the values: diverging where some are below 0 and some above"),
    ("diverging", "&Diverging: blue, white at 0, red"),
    ("sequential", "&Sequential: viridis"),
)
_RANGES: Final = (
    ("slice", "Range of the s&lice"),
    ("tensor", "Range of the whole &tensor"),
    ("inner", "&Inner 98 % of the tensor; the rest has the colours of the ends"),
)
_REDUCES: Final = (
    ("absmax", "&Largest magnitude, with its sign"),
    ("max", "Largest &value"),
    ("min", "S&mallest value"),
    ("mean", "M&ean"),
)


class MapOptions(QToolButton):
    """A button with a menu.

    Signals
    -------
    colours_changed
        Colours or their range: look at `colours` and `range_name`.
    reduce_changed
        What a pixel shows of several elements: look at `reduce`.
    """

    colours_changed = Signal()
    reduce_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("role", "menu")
        self.setText("View")
        self.setToolTip("Colours, their range, and what a pixel shows")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self)
        self.setMenu(self._menu)
        self._colours = self._group("Colours", _COLOURS)
        self._ranges = self._group("First and last colour", _RANGES)
        self._reduces = self._group("Where a pixel stands for several elements", _REDUCES)
        self._colours.triggered.connect(self.colours_changed)
        self._ranges.triggered.connect(self.colours_changed)
        self._reduces.triggered.connect(self.reduce_changed)

    @property
    def range_name(self) -> RangeName:
        return cast(RangeName, self._ranges.checkedAction().data())

    @property
    def reduce(self) -> ReduceName:
        return cast(ReduceName, self._reduces.checkedAction().data())

    @property
    def chosen(self) -> list[str]:
        """The names of the entries that are chosen, one of each group."""
        return [str(group.checkedAction().data()) for group in (self._colours, self._ranges, self._reduces)]

    def colours(self, low: float, high: float) -> ColourName:
        """The colour map for values in this range."""
        chosen = self._colours.checkedAction().data()
        if chosen == AUTO:
            return "diverging" if low < 0 < high else "sequential"
        return cast(ColourName, chosen)

    def choose(self, name: str) -> None:
        """Choose an entry by its name, as the menu would."""
        for group in (self._colours, self._ranges, self._reduces):
            for action in group.actions():
                if action.data() == name:
                    action.trigger()

    def _group(self, title: str, entries: tuple[tuple[str, str], ...]) -> QActionGroup:
        add_title(self._menu, title)
        group = QActionGroup(self)
        for name, text in entries:
            action = QAction(text, self._menu)
            action.setCheckable(True)
            action.setData(name)
            group.addAction(action)
            self._menu.addAction(action)
        group.actions()[0].setChecked(True)
        return group
