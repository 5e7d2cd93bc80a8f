"""The item model of a part of the node table: names and values. Nodes are numbered breadth first, so a node is an
index."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.parts import short_text
from viewer.checkpoint.nodes import Kind
from viewer.gui.details.tips import cut_middle, plain_tip
from viewer.gui.format import format_count, format_shape
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.gui.tree.display import label_of

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_Role: TypeAlias = Qt.ItemDataRole
_TOP: Final = QModelIndex()
_LONGEST: Final = 200
_CONTAINERS: Final = frozenset({Kind.MAPPING, Kind.SEQUENCE, Kind.SET, Kind.OBJECT, Kind.GROUP})


class ValueModel(QAbstractItemModel):
    """What is inside one node."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._look: Look | None = None
        self._root = 0

    def show(self, checkpoint: Checkpoint | None, node: int) -> None:
        """Show the inside of another node."""
        self.beginResetModel()
        self._look = None if checkpoint is None else Look(checkpoint)
        self._root = node
        self.endResetModel()

    def node_of(self, index: _Index) -> int | None:
        return index.internalId() if index.isValid() else None

    def value(self, node: int) -> str:
        """What the value column says."""
        look = self._look
        assert look is not None
        node = look.real(node)
        kind = Kind(look.nodes.kind[node])
        if kind == Kind.SCALAR:
            value = look.nodes.value[node]
            text = (
                value
                if isinstance(value, str)
                else repr(value)
                if isinstance(value, float)
                else short_text(look, node)
            )
            return " ".join(text[: _LONGEST + 1].split())
        if kind == Kind.TENSOR:
            number = look.numbers[node]
            tensors = look.tensors
            return f"{DTYPES[tensors.dtype[number]].short} {format_shape(tensors.shape[number])}"
        if kind in _CONTAINERS:
            name = look.nodes.type_name(node).rpartition(".")[2]
            return f"{name} · {format_count(look.nodes.n_children[node])}"
        return str(look.nodes.value[node] or "")

    @override
    def index(self, row: int, column: int, parent: _Index = _TOP) -> QModelIndex:
        if self._look is None or not 0 <= column < 2:
            return QModelIndex()
        children = self._look.nodes.children(self._node(parent))
        return self.createIndex(row, column, children[row]) if 0 <= row < len(children) else QModelIndex()

    @override
    def parent(self, index: _Index) -> QModelIndex:  # type: ignore[override]  # QObject.parent() is another method
        if self._look is None or not index.isValid():
            return QModelIndex()
        nodes = self._look.nodes
        above = nodes.parent[index.internalId()]
        return QModelIndex() if above in (self._root, -1) else self.createIndex(nodes.row(above), 0, above)

    @override
    def rowCount(self, parent: _Index = _TOP) -> int:
        if self._look is None or (parent.isValid() and parent.column()):
            return 0
        return self._look.nodes.n_children[self._node(parent)]

    @override
    def hasChildren(self, parent: _Index = _TOP) -> bool:
        return self.rowCount(parent) > 0

    @override
    def columnCount(self, parent: _Index = _TOP) -> int:  # noqa: ARG002
        return 2

    @override
    def data(self, index: _Index, role: int = _Role.DisplayRole) -> Any:
        if self._look is None or not index.isValid():
            return None
        node = index.internalId()
        if role in (_Role.DisplayRole, _Role.ToolTipRole):
            text = self.value(node) if index.column() else label_of(self._look.nodes.key[node])
            return cut_middle(text, 500) if role == _Role.DisplayRole else plain_tip(text) or None
        if role == _Role.FontRole:
            return self._theme.mono() if index.column() else None
        if role == _Role.ForegroundRole and index.column() and self._look.nodes.kind[node] in _CONTAINERS:
            return self._theme.color("muted")
        return None

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _Role.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == _Role.DisplayRole:
            return "Value" if section else "Name"
        return None

    def _node(self, parent: _Index) -> int:
        return parent.internalId() if parent.isValid() else self._root
