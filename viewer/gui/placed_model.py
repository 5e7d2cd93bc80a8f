"""An item model over rows laid out in columns. Indexes carry a position, so no Python object is made per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeAlias

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex

from viewer.gui.override import override

Index: TypeAlias = QModelIndex | QPersistentModelIndex

_TOP: Final = QModelIndex()


class Placed(Protocol):
    """A tree laid out in columns. Index = position; position 0 is the invisible root, and children stand together."""

    @property
    def parent(self) -> Sequence[int]:
        """The position above each; -1 above the root."""

    @property
    def first_child(self) -> Sequence[int]:
        """The position of the first child of each."""

    @property
    def n_children(self) -> Sequence[int]:
        """How many children each has."""


class PlacedModel(QAbstractItemModel):
    """Where rows stand, for Qt; what they say is for the models that build on it.

    Parameters
    ----------
    n_columns
        The same for all rows.
    """

    def __init__(self, placed: Placed, n_columns: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._placed = placed
        self._n_columns = n_columns

    def index_at(self, position: int, column: int = 0) -> QModelIndex:
        """The index of a position, which is above 0."""
        placed = self._placed
        return self.createIndex(position - placed.first_child[placed.parent[position]], column, position)

    @override
    def index(self, row: int, column: int, parent: Index = _TOP) -> QModelIndex:
        placed = self._placed
        position = parent.internalId() if parent.isValid() else 0
        if 0 <= row < placed.n_children[position] and 0 <= column < self._n_columns:
            return self.createIndex(row, column, placed.first_child[position] + row)
        return QModelIndex()

    @override
    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]  # QObject.parent() is another method
        above = self._placed.parent[index.internalId()] if index.isValid() else 0
        return self.index_at(above) if above > 0 else QModelIndex()

    @override
    def rowCount(self, parent: Index = _TOP) -> int:
        if not parent.isValid():
            return self._placed.n_children[0]
        return 0 if parent.column() else self._placed.n_children[parent.internalId()]

    @override
    def hasChildren(self, parent: Index = _TOP) -> bool:
        return self.rowCount(parent) > 0

    @override
    def columnCount(self, parent: Index = _TOP) -> int:  # noqa: ARG002
        return self._n_columns

    def _place(self, placed: Placed) -> None:
        """Lay the rows out otherwise, between `beginResetModel` and `endResetModel`."""
        self._placed = placed

    def _top_changed(self, first_column: int, last_column: int) -> None:
        """Any row may say something else in these columns; a view repaints all that it shows."""
        if count := self.rowCount():
            self.dataChanged.emit(self.index(0, first_column), self.index(count - 1, last_column))
