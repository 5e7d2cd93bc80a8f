"""The item model of an aligned tree: a shape over the rows of a comparison. Indexes carry a position."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from viewer.compare.comparison import Comparison
from viewer.gui.compare.cells import FIGURES, TITLES, Column, cell, exact_cell
from viewer.gui.compare.shown import NO_ROWS
from viewer.gui.compare.verdicts import TOKENS, shown_status
from viewer.gui.details.tips import plain_tip
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.gui.tree.filter import Shape

_Index: TypeAlias = QModelIndex | QPersistentModelIndex

_Role: TypeAlias = Qt.ItemDataRole
_RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_N_COLUMNS: Final = len(Column)
_TOP: Final = QModelIndex()
_MONO: Final = FIGURES | {Column.LEFT, Column.RIGHT}


class CompareModel(QAbstractItemModel):
    """Rows of a Comparison in a Shape. `data` formats what is in memory and does nothing else."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._comparison: Comparison | None = None
        self._shape = NO_ROWS
        self._mono = theme.mono()
        theme.changed.connect(self.take_theme)

    @property
    def shape(self) -> Shape:
        return self._shape

    def take_theme(self) -> None:
        """Colours and faces are others now; the view repaints by itself."""
        self._mono = self._theme.mono()

    def show(self, comparison: Comparison | None, shape: Shape) -> None:
        """Show other rows; all indexes become invalid."""
        self.beginResetModel()
        self._comparison = comparison
        self._shape = shape
        self.endResetModel()

    def verdicts_changed(self) -> None:
        """Results came: any row may say something else."""
        if count := self.rowCount():
            self.dataChanged.emit(self.index(0, 0), self.index(count - 1, _N_COLUMNS - 1))

    def row_of(self, index: _Index) -> int:
        """The row of the comparison at an index; 0 for an invalid one."""
        return self._shape.rows[index.internalId()] if index.isValid() else 0

    def index_of(self, row: int) -> QModelIndex:
        """The index of a row of the comparison; invalid where it is not shown."""
        position = self._shape.position_of(row)
        return self.index_at(position) if position else QModelIndex()

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
    def data(self, index: _Index, role: int = _Role.DisplayRole) -> Any:
        if self._comparison is None or not index.isValid():
            return None
        column = index.column()
        if role == _Role.DisplayRole:
            return cell(self._comparison, self.row_of(index), column)
        if role == _Role.ForegroundRole:
            return self._color(self._comparison, index)
        if role == _Role.FontRole:
            return self._mono if column in _MONO else None
        if role == _Role.TextAlignmentRole:
            return _RIGHT if column in FIGURES else _LEFT
        if role == _Role.ToolTipRole:
            return plain_tip(exact_cell(self._comparison, self.row_of(index), column)) or None
        return None

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _Role.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and 0 <= section < _N_COLUMNS:
            if role == _Role.DisplayRole:
                return TITLES[Column(section)]
            if role == _Role.TextAlignmentRole:
                return _RIGHT if section in FIGURES else _LEFT
        return None

    def _color(self, comparison: Comparison, index: _Index) -> Any:
        column = index.column()
        if column == Column.LEFT:
            return self._theme.color("left")
        if column == Column.RIGHT:
            return self._theme.color("right")
        if column == Column.VERDICT:
            return self._theme.color(TOKENS[shown_status(comparison, self.row_of(index))])
        return None
