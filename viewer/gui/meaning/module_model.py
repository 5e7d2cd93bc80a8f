"""The item model of a model's modules. Rows are numbered parents first; indexes carry the row."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final, TypeAlias

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from viewer.checkpoint.meaning.results import ROLES, ModuleTree
from viewer.gui.details.tips import cut_middle, plain_tip
from viewer.gui.format import NO_VALUE, format_bytes, format_bytes_exact, format_count, format_shape
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.task import Progress, Task

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_Role: TypeAlias = Qt.ItemDataRole
_TOP: Final = QModelIndex()
_STEP: Final = 8_000
_RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter

TITLES: Final = ("Module", "shape", "dtype", "elements", "size", "role")
NAME, SHAPE, DTYPE, ELEMENTS, SIZE, ROLE = range(6)
_TIPS: Final = (
    "Modules within modules, from the dotted names; repeated blocks are one row",
    "Of a tensor, the same in all blocks that the row stands for",
    "Of all tensors below, the one with most elements first",
    "Of all that the row stands for; a tied tensor counts once, at its first name",
    "Of the elements packed densely",
    "What the tensor is for: inferred from its name, shape and neighbours",
)
_FIGURES: Final = frozenset({SHAPE, ELEMENTS, SIZE})


@dataclass(slots=True)
class ModuleIndex:
    """Which rows are below which.

    Attributes
    ----------
    start
        By row + 1: where the rows directly below it begin in `below`; 0 is for the top.
    below
        Rows by what they are below.
    place
        Position of each row among its siblings.
    """

    start: array[int] = field(default_factory=lambda: array("q", [0, 0]))
    below: array[int] = field(default_factory=lambda: array("q"))
    place: array[int] = field(default_factory=lambda: array("q"))


def index_task(tree: ModuleTree) -> Task[ModuleIndex]:
    """Make the index of a tree that may have a million rows."""
    total = len(tree)
    counts = array("q", [0]) * (total + 1)
    place = array("q", [0]) * total
    for row, parent in enumerate(tree.parent):
        place[row] = counts[parent + 1]
        counts[parent + 1] += 1
        if row % _STEP == 0:
            yield Progress(row, 2 * total, "rows")
    start = array("q", accumulate(counts, initial=0))
    below = array("q", [0]) * total
    for row, parent in enumerate(tree.parent):
        below[start[parent + 1] + place[row]] = row
        if row % _STEP == 0:
            yield Progress(total + row, 2 * total, "rows")
    return ModuleIndex(start, below, place)


class ModuleModel(QAbstractItemModel):
    """Rows of a ModuleTree."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._mono = theme.mono()
        self._tree: ModuleTree | None = None
        self._index = ModuleIndex()
        theme.changed.connect(self._take_theme)

    @property
    def tree(self) -> ModuleTree | None:
        return self._tree

    def show(self, tree: ModuleTree | None, index: ModuleIndex) -> None:
        """Show another model, with its index from `index_task`."""
        self.beginResetModel()
        self._tree = tree
        self._index = index
        self.endResetModel()

    def row_of(self, index: _Index) -> int | None:
        return index.internalId() if index.isValid() else None

    def text(self, row: int, column: int) -> str:
        """The text of a cell."""
        tree = self._tree
        assert tree is not None
        if column == NAME:
            above = tree.parent[row]
            own = tree.copies[row] // (tree.copies[above] if above >= 0 else 1)
            return f"{tree.name[row]}  ×{format_count(own)}" if own > 1 else tree.name[row]
        if column == SHAPE:
            shape = tree.shape[row]
            return "" if shape is None else format_shape(shape)
        if column == DTYPE:
            return tree.dtypes[row]
        if column == ELEMENTS:
            return _TIED if _is_elsewhere(tree, row) else format_count(tree.numel[row])
        if column == SIZE:
            return NO_VALUE if _is_elsewhere(tree, row) else format_bytes(tree.nbytes[row])
        role = ROLES[tree.role[row]]
        return f"{role} · rank {tree.rank[row]}" if tree.rank[row] else role

    @override
    def index(self, row: int, column: int, parent: _Index = _TOP) -> QModelIndex:
        if 0 <= row < self.rowCount(parent) and 0 <= column < len(TITLES):
            start = self._index.start[parent.internalId() + 1 if parent.isValid() else 0]
            return self.createIndex(row, column, self._index.below[start + row])
        return QModelIndex()

    @override
    def parent(self, index: _Index) -> QModelIndex:  # type: ignore[override]  # QObject.parent() is another method
        if not index.isValid() or self._tree is None:
            return QModelIndex()
        above = self._tree.parent[index.internalId()]
        return QModelIndex() if above < 0 else self.createIndex(self._index.place[above], 0, above)

    @override
    def rowCount(self, parent: _Index = _TOP) -> int:
        if self._tree is None or (parent.isValid() and parent.column()):
            return 0
        start, group = self._index.start, parent.internalId() + 1 if parent.isValid() else 0
        return start[group + 1] - start[group]

    @override
    def hasChildren(self, parent: _Index = _TOP) -> bool:
        return self.rowCount(parent) > 0

    @override
    def columnCount(self, parent: _Index = _TOP) -> int:  # noqa: ARG002
        return len(TITLES)

    @override
    def data(self, index: _Index, role: int = _Role.DisplayRole) -> Any:
        if self._tree is None or not index.isValid():
            return None
        row, column = index.internalId(), index.column()
        if role == _Role.DisplayRole:
            return cut_middle(self.text(row, column), 500)
        if role == _Role.ToolTipRole:
            return plain_tip(self._tip(row, column)) or None
        if role == _Role.FontRole:
            return self._mono if column not in (NAME, ROLE) else None
        if role == _Role.TextAlignmentRole:
            return _RIGHT if column in _FIGURES else _LEFT
        if role == _Role.ForegroundRole:
            return self._theme.color("muted") if column in (DTYPE, SIZE, ROLE) else None
        return None

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _Role.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(TITLES):
            return None
        if role == _Role.DisplayRole:
            return TITLES[section]
        if role == _Role.ToolTipRole:
            return _TIPS[section]
        if role == _Role.TextAlignmentRole:
            return _RIGHT if section in _FIGURES else _LEFT
        return None

    def _tip(self, row: int, column: int) -> str:
        tree = self._tree
        assert tree is not None
        if column == NAME:
            count = tree.n_tensors[row]
            return f"{tree.full_name(row)}\n{format_count(count)} {'tensor' if count == 1 else 'tensors'}"
        if column == SHAPE:
            return "" if tree.shape[row] is None else repr(tree.shape[row])
        if column == SIZE:
            return format_bytes_exact(tree.nbytes[row])
        if column == ROLE:
            return f"{self.text(row, column)}: inferred from name, shape and neighbours" if tree.role[row] else ""
        return self.text(row, column)

    def _take_theme(self) -> None:
        self._mono = self._theme.mono()


_TIED: Final = "tied"
"""Stands for the elements of a tensor that are counted at another name."""


def _is_elsewhere(tree: ModuleTree, row: int) -> bool:
    """A row of a tensor that has elements, and none of them is counted here."""
    shape = tree.shape[row]
    return shape is not None and not tree.numel[row] and 0 not in shape
