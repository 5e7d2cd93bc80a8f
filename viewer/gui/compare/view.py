"""The tree view of a comparison: what is open and what is current outlives a change of chip, filter or verdicts."""

from __future__ import annotations

from typing import Final, TypeAlias

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from viewer.compare.comparison import Comparison
from viewer.gui.compare.cells import Column
from viewer.gui.compare.model import CompareModel
from viewer.gui.compare.shown import first_expanded
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.gui.tree.delegate import ROW_HEIGHT
from viewer.gui.tree.filter import Shape

_Index: TypeAlias = QModelIndex | QPersistentModelIndex

_OPENED: Final = 300
"""Rows that are open at the start."""
_OPENED_FILTERED: Final = 2_000
"""Rows that a chip or filter opens by itself."""
_WIDTHS: Final = {
    Column.LEFT: 20,
    Column.RIGHT: 20,
    Column.VERDICT: 28,
    Column.MAX_ABS: 13,
    Column.REL_NORM: 13,
    Column.SHARE: 19,
}
"""In digits of the face for numbers, margins included."""


class _RowDelegate(QStyledItemDelegate):
    """Rows as high as those of a document's tree, whose cells keep their colours when they are selected."""

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        hint = super().sizeHint(option, index)
        return QSize(hint.width(), max(ROW_HEIGHT, hint.height()))

    @override
    def initStyleOption(self, option: QStyleOptionViewItem, index: _Index) -> None:
        super().initStyleOption(option, index)
        palette: QPalette = option.palette
        palette.setBrush(QPalette.ColorRole.HighlightedText, palette.brush(QPalette.ColorRole.Text))


class CompareView(QTreeView):
    """Signals: `row_changed` carries the row of the comparison that is current, 0 for none."""

    row_changed = Signal(object)

    def __init__(self, theme: Theme, model: CompareModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._model = model
        self._current = 0
        self._expanded: set[int] = set()  # rows, while nothing is filtered
        self._restoring = False
        self.setUniformRowHeights(True)  # before setModel: set later, it gives rows of height -1
        self.setModel(model)
        self.setItemDelegate(_RowDelegate(self))
        self.setIndentation(16)
        self.setAnimated(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setAccessibleName("Both checkpoints, aligned")
        header = self.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.setSectionResizeMode(Column.NAME, QHeaderView.ResizeMode.Stretch)
        self._fit_columns()
        self.expanded.connect(self._remember_expanded)
        self.collapsed.connect(self._remember_collapsed)
        theme.changed.connect(self._fit_columns)

    @property
    def current_row(self) -> int:
        """The row that was chosen last, also while it is not shown; 0 for none."""
        return self._current

    def show_first(self, comparison: Comparison, shape: Shape) -> None:
        """Show a new comparison, its first levels open."""
        self._current = 0
        self._expanded = {shape.rows[position] for position in first_expanded(shape, _OPENED)}
        self.show_shape(comparison, shape)

    def show_shape(self, comparison: Comparison, shape: Shape) -> None:
        """Show other rows of the same comparison."""
        scrolled = self.verticalScrollBar().value()
        self._restoring = True
        self._model.show(comparison, shape)
        if shape.n_matches is None:
            positions = [position for row in self._expanded if (position := shape.position_of(row))]
        else:
            positions = first_expanded(shape, _OPENED_FILTERED)
        for position in positions:
            self.setExpanded(self._model.index_at(position), True)
        if (index := self._model.index_of(self._current)).isValid():
            self._make_current(index)
        self._restoring = False
        self.verticalScrollBar().setValue(scrolled)

    def go_to(self, row: int) -> None:
        """Make a row current that is shown, opening what it stands in."""
        if (index := self._model.index_of(row)).isValid():
            self.scrollTo(index)
            self._make_current(index)

    @override
    def currentChanged(self, current: _Index, previous: _Index) -> None:
        super().currentChanged(current, previous)
        if not self._restoring:
            self._current = self._model.row_of(current)
            self.row_changed.emit(self._current)

    def _make_current(self, index: QModelIndex) -> None:
        flag = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flag.ClearAndSelect | flag.Rows)

    def _remember_expanded(self, index: QModelIndex) -> None:
        if not self._restoring and self._model.shape.n_matches is None:
            self._expanded.add(self._model.row_of(index))

    def _remember_collapsed(self, index: QModelIndex) -> None:
        if not self._restoring and self._model.shape.n_matches is None:
            self._expanded.discard(self._model.row_of(index))

    def _fit_columns(self) -> None:
        digit = QFontMetrics(self._theme.mono()).horizontalAdvance("0")
        for column, digits in _WIDTHS.items():
            self.header().resizeSection(column, digits * digit)
