"""The head of the tree: which columns show, how wide they are, and the order that a click asks for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtWidgets import QHeaderView, QMenu, QTreeView

from viewer.gui.override import override
from viewer.gui.tree.columns import AFTER_SCAN, SCANNED, TITLES, Column

_WIDTHS: Final = {
    Column.TYPE: 10,
    Column.SHAPE: 15,
    Column.ELEMENTS: 13,
    Column.SIZE: 10,
    Column.HISTOGRAM: 13,
    Column.NAN: 9,
    Column.INF: 8,
    Column.ZEROS: 11,
}
"""In digits of the face for numbers, margins included."""
_FIGURE: Final = 12
_NARROWEST_NAME: Final = 22
"""Where the columns need more room than there is, the view scrolls sideways instead of cutting names further."""
_NARROWEST_PATH: Final = 38


class TreeHeader(QObject):
    """Looks after the header of a tree view.

    Signals
    -------
    clicked
        Carries the Column whose head was clicked.
    columns_changed
        Other columns show now.
    """

    clicked = Signal(object)
    columns_changed = Signal()

    def __init__(self, view: QTreeView) -> None:
        super().__init__(view)
        self._view = view
        self._digit = 8
        self._chosen: set[Column] = {column for column in Column if column not in SCANNED} | set(AFTER_SCAN)
        self._scanned = False
        self._paths = False
        header = view.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(40)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setHighlightSections(False)
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._click)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._open_menu)
        header.sectionResized.connect(self._fit_later)
        view.viewport().installEventFilter(self)
        for column in SCANNED:
            view.setColumnHidden(column, True)
        self.fit()

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that show, in their order."""
        return tuple(column for column in Column if not self._view.isColumnHidden(column))

    @property
    def chosen(self) -> frozenset[Column]:
        """The columns that the person wants to see, those of a scan also before there is one."""
        return frozenset(self._chosen)

    @property
    def wanted_width(self) -> int:
        """In pixels: what all columns that show take with names of a fair length."""
        return sum(self._view.columnWidth(c) for c in self.shown[1:]) + (_NARROWEST_NAME + 6) * self._digit

    def set_digit_width(self, width: int) -> None:
        """Make the columns as wide as their figures are in a face whose digits have this width."""
        self._digit = width
        header = self._view.header()
        for column in Column:
            if column != Column.NAME:
                header.resizeSection(column, _WIDTHS.get(column, _FIGURE) * width)
        self.fit()

    def show_scan(self, shown: bool, chosen: Iterable[Column] | None = None) -> None:
        """Show the columns of a scan, those that were chosen."""
        self._scanned = shown
        if chosen is not None:
            self._chosen = set(chosen)
        self._apply()

    def expect_paths(self, paths: bool) -> None:
        """Whole paths stand in the column of names, and need more room."""
        if paths != self._paths:
            self._paths = paths
            self._view.header().setSectionResizeMode(Column.NAME, QHeaderView.ResizeMode.Stretch)
            self.fit()

    @Slot()
    def fit(self) -> None:
        """Give the names what is left, but never less than can be read."""
        header = self._view.header()
        others = sum(header.sectionSize(column) for column in self.shown[1:])
        least = (_NARROWEST_PATH if self._paths else _NARROWEST_NAME) * self._digit
        mode = QHeaderView.ResizeMode
        if others + least <= self._view.viewport().width() or not (self._paths or self.shown[-1] > Column.SIZE):
            if header.sectionResizeMode(Column.NAME) != mode.Stretch:
                header.setSectionResizeMode(Column.NAME, mode.Stretch)
        elif header.sectionResizeMode(Column.NAME) != mode.Interactive or header.sectionSize(Column.NAME) < least:
            header.setSectionResizeMode(Column.NAME, mode.Interactive)
            header.resizeSection(Column.NAME, least)

    def make_menu(self, above: QMenu | None = None) -> QMenu:
        """The columns to choose from, in a menu of their own or as a part of the one above."""
        menu = QMenu("Columns", self._view if above is None else above)
        if above is None:
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if not self._scanned:
            hint = menu.addAction("More columns come with a scan of all values")
            hint.setEnabled(False)
            menu.addSeparator()
        for column in Column:
            if column == Column.NAME or (column in SCANNED and not self._scanned):
                continue
            if column == Column.HISTOGRAM:
                menu.addSeparator()
            action = menu.addAction(TITLES[column])
            action.setCheckable(True)
            action.setChecked(not self._view.isColumnHidden(column))
            action.toggled.connect(partial(self.choose, column))
        return menu

    def choose_named(self, names: Iterable[str]) -> None:
        """Show the columns with these names, and no others; names that no column has are passed over."""
        known = Column.__members__
        self._chosen = {known[name] for name in names if name in known} | {Column.NAME}
        self._apply()

    def choose(self, column: Column, shown: bool) -> None:
        """Show or hide one column."""
        if shown:
            self._chosen.add(column)
        else:
            self._chosen.discard(column)
        self._apply()

    def _apply(self) -> None:
        for column in Column:
            wanted = column == Column.NAME or column in self._chosen
            self._view.setColumnHidden(column, not wanted or (column in SCANNED and not self._scanned))
        self.fit()
        self.columns_changed.emit()

    @Slot(int)
    def _click(self, section: int) -> None:
        self.clicked.emit(Column(section))

    @Slot(QPoint)
    def _open_menu(self, at: QPoint) -> None:
        self.make_menu().popup(self._view.header().mapToGlobal(at))

    @Slot(int, int, int)
    def _fit_later(self, section: int, _before: int, _now: int) -> None:
        if section != Column.NAME:
            self.fit()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.fit()
        return super().eventFilter(watched, event)
