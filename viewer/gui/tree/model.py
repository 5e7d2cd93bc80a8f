"""The item model: a shape over a display table. Indexes carry a position, so no Python object is made per row."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from viewer.checkpoint.document import Checkpoint
from viewer.gui.override import override
from viewer.gui.tree.cells import TITLES, Column, cell, name_beside, problem_of, tooltip
from viewer.gui.tree.display import DisplayTable
from viewer.gui.tree.filter import Shape, whole

_Index: TypeAlias = QModelIndex | QPersistentModelIndex

_DISPLAY: Final = Qt.ItemDataRole.DisplayRole
_TOOLTIP: Final = Qt.ItemDataRole.ToolTipRole
_ALIGNMENT: Final = Qt.ItemDataRole.TextAlignmentRole
_ACCESSIBLE: Final = Qt.ItemDataRole.AccessibleTextRole
_RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_N_COLUMNS: Final = len(Column)
_TOP: Final = QModelIndex()


class TreeModel(QAbstractItemModel):
    """Rows of a DisplayTable in a Shape. `data` formats what is in memory and does nothing else."""

    def __init__(self, checkpoint: Checkpoint, parent: QObject | None = None) -> None:
        super().__init__(parent)
        # One invisible row, until the real ones are laid out.
        self._table = DisplayTable(checkpoint)
        self._shape = Shape((0,), (-1,), (0,), (0,))

    @property
    def table(self) -> DisplayTable:
        return self._table

    @property
    def shape(self) -> Shape:
        return self._shape

    def set_table(self, table: DisplayTable, shape: Shape | None = None) -> None:
        """Show other rows; all indexes become invalid."""
        self.beginResetModel()
        self._table = table
        self._shape = whole(table) if shape is None else shape
        self.endResetModel()

    def set_shape(self, shape: Shape) -> None:
        """Show another part of the same rows; all indexes become invalid."""
        self.set_table(self._table, shape)

    def row_of(self, index: _Index) -> int:
        """The display row of an index; 0 for an invalid one."""
        return self._shape.rows[index.internalId()] if index.isValid() else 0

    def index_of(self, row: int, column: int = Column.NAME) -> QModelIndex:
        """The index of a display row; invalid where a filter hides it."""
        position = self._shape.position_of(row)
        return self.index_at(position, column) if position else QModelIndex()

    def index_at(self, position: int, column: int = Column.NAME) -> QModelIndex:
        """The index of a position of the shape, which is above 0."""
        return self.createIndex(position - self._shape.first_child[self._shape.parent[position]], column, position)

    @override
    def index(self, row: int, column: int, parent: _Index = _TOP) -> QModelIndex:
        position = parent.internalId() if parent.isValid() else 0
        if 0 <= row < self._shape.n_children[position] and 0 <= column < _N_COLUMNS:
            return self.createIndex(row, column, self._shape.first_child[position] + row)
        return QModelIndex()

    @override
    def parent(self, index: _Index) -> QModelIndex:  # type: ignore[override]  # QObject.parent() is another method
        above = self._shape.parent[index.internalId()] if index.isValid() else 0
        return self.index_at(above) if above > 0 else QModelIndex()

    @override
    def rowCount(self, parent: _Index = _TOP) -> int:
        if not parent.isValid():
            return self._shape.n_children[0]
        return 0 if parent.column() else self._shape.n_children[parent.internalId()]

    @override
    def hasChildren(self, parent: _Index = _TOP) -> bool:
        return self.rowCount(parent) > 0

    @override
    def columnCount(self, parent: _Index = _TOP) -> int:  # noqa: ARG002
        return _N_COLUMNS

    @override
    def data(self, index: _Index, role: int = _DISPLAY) -> Any:
        if role == _DISPLAY:
            return cell(self._table, self.row_of(index), index.column()) if index.isValid() else None
        if role == _ALIGNMENT:
            return _RIGHT if index.column() else _LEFT
        if role == _TOOLTIP and index.isValid():
            return tooltip(self._table, self.row_of(index), index.column())
        if role == _ACCESSIBLE and index.isValid() and not index.column():
            row = self.row_of(index)
            parts = (self._table.label[row], name_beside(self._table, row), problem_of(self._table, row))
            return ", ".join(part for part in parts if part)
        return None

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> Any:
        if orientation == Qt.Orientation.Horizontal:
            if role == _DISPLAY:
                return TITLES[Column(section)]
            if role == _ALIGNMENT:
                return _RIGHT if section else _LEFT
        return None
