"""The item model: a shape over a display table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import QModelIndex, QObject, Qt

from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.tips import plain_tip
from viewer.gui.override import override
from viewer.gui.placed_model import Index, PlacedModel
from viewer.gui.tree.cells import cell, name_beside, problem_of, tooltip
from viewer.gui.tree.columns import EXPLAINED, SCANNED, TITLES, Column
from viewer.gui.tree.display import DisplayTable
from viewer.gui.tree.filter import Shape, whole
from viewer.gui.tree.order import Order
from viewer.tensors.scan_results import ScanRow

_DISPLAY: Final = Qt.ItemDataRole.DisplayRole
_TOOLTIP: Final = Qt.ItemDataRole.ToolTipRole
_ALIGNMENT: Final = Qt.ItemDataRole.TextAlignmentRole
_ACCESSIBLE: Final = Qt.ItemDataRole.AccessibleTextRole
_RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_N_COLUMNS: Final = len(Column)


class TreeModel(PlacedModel):
    """Rows of a DisplayTable in a Shape. `data` formats what is in memory and does nothing else."""

    def __init__(self, checkpoint: Checkpoint, parent: QObject | None = None) -> None:
        # One invisible row, until the real ones are laid out.
        self._table = DisplayTable(checkpoint)
        self._shape = Shape((0,), (-1,), (0,), (0,))
        super().__init__(self._shape, _N_COLUMNS, parent)
        self._order: Order | None = None

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
        self._place(self._shape)
        self.endResetModel()

    def set_shape(self, shape: Shape, order: Order | None = None) -> None:
        """Show another part of the same rows, or the same in an order; all indexes become invalid."""
        changed, self._order = order != self._order, order
        self.set_table(self._table, shape)
        if changed:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, _N_COLUMNS - 1)

    def name(self, row: int) -> str:
        """What the name column says of a display row: its label, or its path in a list without the tree."""
        node = self._table.node[row]
        if self._shape.is_flat and node >= 0:
            return self._table.checkpoint.path_of(node) or self._table.label[row]
        return self._table.label[row]

    def take_scan(self, scan: Mapping[int, ScanRow]) -> None:
        """Show what a scan found, and finds from now on; tell by `scan_came` what came."""
        self._table.scan = scan
        self._table.nan_inside.clear()
        self._count_nan(scan)
        self._top_changed(SCANNED[0], SCANNED[-1])

    def scan_came(self, numbers: Sequence[int]) -> None:
        """The rows of these tensors have their figures now."""
        touched = self._count_nan(numbers)
        rows = [row for number in numbers for row in self._table.rows_of_tensor(number)]
        positions = sorted(
            position for row in (*rows, *touched) if (position := self._shape.position_of(row)) is not None
        )
        start = 0
        parent = self._shape.parent
        for end in range(1, len(positions) + 1):
            before = positions[end - 1]
            if end == len(positions) or positions[end] > before + 1 or parent[positions[end]] != parent[before]:
                first = self.index_at(positions[start], SCANNED[0])
                self.dataChanged.emit(first, self.index_at(before, SCANNED[-1]))
                start = end

    def _count_nan(self, numbers: Iterable[int]) -> set[int]:
        """Add the NaN of tensors to the rows that they stand in; those rows."""
        table = self._table
        touched: set[int] = set()
        for number in numbers:
            found = table.scan.get(number)
            if found is None or not found.nan:
                continue
            above = {other for row in table.rows_of_tensor(number) for other in table.ancestors(row)}
            for row in above:
                table.nan_inside[row] = table.nan_inside.get(row, 0) + found.nan
            touched |= above
        return touched

    def row_of(self, index: Index) -> int:
        """The display row of an index; 0 for an invalid one."""
        return self._shape.rows[index.internalId()] if index.isValid() else 0

    def index_of(self, row: int, column: int = Column.NAME) -> QModelIndex:
        """The index of a display row; invalid where a filter hides it."""
        position = self._shape.position_of(row)
        return self.index_at(position, column) if position else QModelIndex()

    @override
    def data(self, index: Index, role: int = _DISPLAY) -> Any:
        if role == _DISPLAY:
            if not index.isValid():
                return None
            if not index.column():
                return self.name(self.row_of(index))
            return cell(self._table, self.row_of(index), index.column())
        if role == _ALIGNMENT:
            return _RIGHT if index.column() else _LEFT
        if role == _TOOLTIP and index.isValid():
            return plain_tip(tooltip(self._table, self.row_of(index), index.column()))
        if role == _ACCESSIBLE and index.isValid() and not index.column():
            row = self.row_of(index)
            parts = (self._table.label[row], name_beside(self._table, row), problem_of(self._table, row))
            return ", ".join(part for part in parts if part)
        return None

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY) -> Any:
        if orientation == Qt.Orientation.Horizontal:
            if role == _DISPLAY:
                order = self._order
                sign = "" if order is None or order.column != section else " ↓" if order.descending else " ↑"
                return TITLES[Column(section)] + sign
            if role == _TOOLTIP:
                return _head_tip(Column(section))
            if role == _ALIGNMENT:
                return _RIGHT if section else _LEFT
        return None


def _head_tip(column: Column) -> str:
    if column == Column.NAME:
        return "Click: the tree again, where tensors are listed in an order"
    sort = "Click: list the tensors in this order; again: the other way round; again: the tree"
    sort = "" if column == Column.HISTOGRAM else sort
    return "\n".join(part for part in (EXPLAINED.get(column, ""), sort, "Right click: choose columns") if part)
