"""The legend of several curves is the table of their statistics: a row each, with its stroke before the name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from PySide6.QtCore import QLineF, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QPainter
from PySide6.QtWidgets import QAbstractItemView, QSizePolicy, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from viewer.gui.details.cell import Cell
from viewer.gui.details.cell_table import CellTable
from viewer.gui.details.series import series_pen
from viewer.gui.override import override
from viewer.gui.theme import Theme

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_STROKE: Final = 18
_LEAST_NAME: Final = 150
_LEAST_HEIGHT: Final = 120


class LegendTable(CellTable):
    """Rows to compare; the chosen one is stressed in the plot.

    Signals
    -------
    row_stressed
        Carries the number of the row that is chosen, or None.
    node_requested
        Carries the number of the node that the person wants to see alone.
    """

    row_stressed = Signal(object)
    node_requested = Signal(object)

    def __init__(self, theme: Theme, name: str, parent: QWidget) -> None:
        super().__init__(theme, name, parent)
        self._nodes: Sequence[int] = ()
        self.setItemDelegate(_StrokeDelegate(theme, self))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        go = QAction("Show alone", self)
        go.setShortcuts([QKeySequence(Qt.Key.Key_Return), QKeySequence(Qt.Key.Key_Enter)])
        go.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        go.triggered.connect(self._go)
        self.insertAction(self.actions()[0], go)
        self.doubleClicked.connect(self._go)
        self.selectionModel().selectionChanged.connect(self._tell)

    def show_series(self, rows: Sequence[tuple[Cell, ...]], nodes: Sequence[int], heads: tuple[str, ...]) -> None:
        """Show a row for each curve, in their order, and the nodes that they are of."""
        self._nodes = nodes
        self.show_rows(rows, heads)

    @override
    def sizeHint(self) -> QSize:
        return super().sizeHint() + QSize(0, self.horizontalScrollBar().sizeHint().height() + 2)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(120, min(self.sizeHint().height(), _LEAST_HEIGHT))

    @override
    def _fit_columns(self) -> None:
        super()._fit_columns()
        if not self.cells.rows:
            return
        wanted = self.columnWidth(0) + _STROKE + 6
        others = sum(self.columnWidth(column) for column in range(1, self.cells.columnCount()))
        self.setColumnWidth(0, max(min(wanted, _LEAST_NAME), min(wanted, self.viewport().width() - others)))

    def _tell(self) -> None:
        rows = {index.row() for index in self.selectedIndexes()}
        self.row_stressed.emit(rows.pop() if len(rows) == 1 else None)

    def _go(self) -> None:
        if (index := self.currentIndex()).isValid() and index.row() < len(self._nodes):
            self.node_requested.emit(self._nodes[index.row()])


class _StrokeDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, table: LegendTable) -> None:
        super().__init__(table)
        self._theme = theme

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        if index.column():
            super().paint(painter, option, index)
            return
        inner = QStyleOptionViewItem(option)
        inner.rect = option.rect.adjusted(_STROKE + 6, 0, 0, 0)
        super().paint(painter, inner, index)
        middle = option.rect.center().y() + 0.5
        painter.save()
        painter.setPen(series_pen(self._theme, index.row(), 3))
        painter.drawLine(QLineF(option.rect.left() + 4, middle, option.rect.left() + 4 + _STROKE, middle))
        painter.restore()
