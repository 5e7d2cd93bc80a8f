"""The table of a slice as a model: rows and columns of the slice, as many as a view can lay out, "…" until known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from viewer.gui.details.tips import plain_tip
from viewer.gui.details.value_blocks import ValueBlocks
from viewer.gui.details.value_text import NumberStyle, exact_lines
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.tensors.results import Scalar
from viewer.tensors.slice_results import ValueBlock

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
MOST_ROWS: Final = 1_000_000
MOST_COLUMNS: Final = 20_000
"""A view measures its content in 32-bit pixels and keeps some bytes for each row; more are seen through a window."""
WAITING: Final = "…"


class ValueModel(QAbstractTableModel):
    """Rows and columns of the slice from `first_row` and `first_column` on. It asks for nothing; the view does."""

    def __init__(self, blocks: ValueBlocks, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._blocks = blocks
        self._theme = theme
        self._extent = (0, 0)
        self._first = (0, 0)
        self._style = NumberStyle()
        self._shade: Callable[[Scalar], QColor | None] | None = None
        self.titles = ("", "")  # what rows and columns are called: "axis 0"
        blocks.arrived.connect(self._take)

    @property
    def first_row(self) -> int:
        return self._first[0]

    @property
    def first_column(self) -> int:
        return self._first[1]

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns of the slice."""
        return self._extent

    @property
    def style(self) -> NumberStyle:
        return self._style

    def set_extent(self, rows: int, columns: int, first: tuple[int, int] = (0, 0)) -> None:
        """Another slice, or another part of it."""
        self.beginResetModel()
        self._extent = (rows, columns)
        self._first = (
            max(0, min(first[0], rows - MOST_ROWS)),
            max(0, min(first[1], columns - MOST_COLUMNS)),
        )
        self.endResetModel()

    def set_style(self, style: NumberStyle) -> None:
        """Write numbers another way."""
        self._style = style
        self.tell_all()

    def set_shade(self, shade: Callable[[Scalar], QColor | None] | None) -> None:
        """Colours behind the elements by their values; None for none."""
        self._shade = shade
        self.tell_all()

    def tell_all(self) -> None:
        """Everything may look different."""
        if self.rowCount() and self.columnCount():
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1))

    def element(self, index: _Index) -> tuple[int, int]:
        """Row and column in the slice."""
        return self._first[0] + index.row(), self._first[1] + index.column()

    def at(self, row: int, column: int) -> QModelIndex:
        """The cell of an element; invalid where it is outside the part that is shown."""
        return self.index(row - self._first[0], column - self._first[1])

    @override
    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else min(self._extent[0], MOST_ROWS)

    @override
    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else min(self._extent[1], MOST_COLUMNS)

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role not in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.ToolTipRole,
            Qt.ItemDataRole.BackgroundRole,
            Qt.ItemDataRole.ForegroundRole,
        ):
            return None
        row, column = self.element(index)
        block = self._blocks.block_at(row, column)
        if block is None:
            if role == Qt.ItemDataRole.ForegroundRole:
                return self._theme.color("faint")
            return WAITING if role == Qt.ItemDataRole.DisplayRole else None
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip("\n".join(exact_lines(block, row, column)))
        value = block.value(row, column)
        if role == Qt.ItemDataRole.DisplayRole:
            return self._style.write(value)
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._theme.color("error") if value != value else None
        return None if self._shade is None else self._shade(value)

    @override
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        across = orientation == Qt.Orientation.Horizontal
        if role == Qt.ItemDataRole.DisplayRole:
            return str(self._first[across] + section)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.ToolTipRole:
            return (
                f"index {self._first[across] + section:,} along {self.titles[across]}"
                if self.titles[across]
                else None
            )
        return None

    def _take(self, block: ValueBlock) -> None:
        top = max(block.first_row - self._first[0], 0)
        left = max(block.first_column - self._first[1], 0)
        bottom = min(block.first_row + block.n_rows - self._first[0], self.rowCount()) - 1
        right = min(block.first_column + block.n_columns - self._first[1], self.columnCount()) - 1
        if top <= bottom and left <= right:
            self.dataChanged.emit(self.index(top, left), self.index(bottom, right))
