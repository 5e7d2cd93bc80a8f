"""The item model of an optimizer's table: an order over its rows; cells are made when they are painted."""

from __future__ import annotations

from array import array
from typing import Any, Final, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from viewer.gui.details.tips import cut_middle, plain_tip
from viewer.gui.meaning.entry_cells import NOT_COMPUTED, EntryColumn, What, cell, columns_of, exact_cell, tip
from viewer.gui.meaning.entry_rows import EntryRows
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.task import Progress, Task

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_Role: TypeAlias = Qt.ItemDataRole
_RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_LONGEST: Final = 500
_LINES: Final = 50
"""Lines of text between two yields."""
_NO_PARENT: Final = QModelIndex()
TOKENS: Final = {"✓": "ok", "✕": "error", "⚠": "warning", "?": "warning", "○": "muted"}
"""The colour of a cell by its glyph."""


class EntryModel(QAbstractTableModel):
    """Rows of an EntryRows in an order.

    Signals
    -------
    sort_asked
        Carries the column and whether it descends: the order is another's to make.
    """

    sort_asked = Signal(object, object)

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._mono = theme.mono()
        self._rows: EntryRows | None = None
        self._columns: tuple[EntryColumn, ...] = ()
        self._order: array[int] = array("q")
        theme.changed.connect(self._take_theme)

    @property
    def rows(self) -> EntryRows | None:
        return self._rows

    @property
    def columns(self) -> tuple[EntryColumn, ...]:
        return self._columns

    @property
    def order(self) -> array[int]:
        """The rows that show, in their order."""
        return self._order

    def show(self, rows: EntryRows | None, order: array[int]) -> None:
        """Show other rows."""
        self.beginResetModel()
        self._rows = rows
        self._columns = () if rows is None else columns_of(rows)
        self._order = order
        self.endResetModel()

    def reorder(self, order: array[int]) -> None:
        """Show the same rows in another order, or others of them."""
        self.beginResetModel()
        self._order = order
        self.endResetModel()

    def values_came(self) -> None:
        """Further values are known: any cell may say something else."""
        if self._order:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._order) - 1, len(self._columns) - 1))

    def row_of(self, index: _Index) -> int | None:
        return self._order[index.row()] if index.isValid() else None

    def index_of(self, row: int) -> QModelIndex:
        """Where a row is shown; invalid where it is not."""
        try:
            return self.index(self._order.index(row), 0)
        except ValueError:
            return QModelIndex()

    def tsv_task(self) -> Task[str]:
        """Heads and rows as lines, exact."""
        lines = ["\t".join(column.title for column in self._columns)]
        for done, row in enumerate(self._order if self._rows is not None else ()):
            lines.append(self.line(row))
            if done % _LINES == 0:
                yield Progress(done, len(self._order), "rows")
        return "".join(f"{line}\n" for line in lines)

    def line(self, row: int) -> str:
        """One row, exact, cells between tabs."""
        assert self._rows is not None
        return "\t".join(_one_line(exact_cell(self._rows, row, column)) for column in self._columns)

    @override
    def rowCount(self, parent: _Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._order)

    @override
    def columnCount(self, parent: _Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._columns)

    @override
    def data(self, index: _Index, role: int = _Role.DisplayRole) -> Any:
        rows = self._rows
        if rows is None or not index.isValid():
            return None
        column = self._columns[index.column()]
        if role == _Role.DisplayRole:
            return cut_middle(cell(rows, self._order[index.row()], column), _LONGEST)
        if role == _Role.FontRole:
            return self._mono if column.is_mono else None
        if role == _Role.TextAlignmentRole:
            return _RIGHT if column.is_figure else _LEFT
        if role == _Role.ForegroundRole:
            return self._color(rows, self._order[index.row()], column)
        if role == _Role.ToolTipRole:
            return plain_tip(tip(rows, self._order[index.row()], column)) or None
        return None

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _Role.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self._columns):
            return None
        column = self._columns[section]
        if role == _Role.DisplayRole:
            return cut_middle(column.title, 40)
        if role == _Role.ToolTipRole:
            return plain_tip(column.tip)
        if role == _Role.TextAlignmentRole:
            return _RIGHT if column.is_figure else _LEFT
        return None

    @override
    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        found = self._columns[column] if 0 <= column < len(self._columns) else None
        self.sort_asked.emit(found, order == Qt.SortOrder.DescendingOrder)

    def _color(self, rows: EntryRows, row: int, column: EntryColumn) -> Any:
        text = cell(rows, row, column) if column.what != What.NAME or not rows.sure[row] else ""
        if column.what in (What.NAME, What.FITS, What.NORM, What.MEMBER) and (token := TOKENS.get(text[:1])):
            return self._theme.color(token)
        if column.what in (What.ID, What.GROUP, What.MEMBER) or text.endswith(NOT_COMPUTED):
            return self._theme.color("muted")
        return None

    def _take_theme(self) -> None:
        self._mono = self._theme.mono()


def _one_line(text: str) -> str:
    return text.replace("\t", " ").replace("\n", " ")
