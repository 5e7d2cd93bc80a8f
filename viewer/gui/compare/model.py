"""The item model of an aligned tree: what is shown of the entries of a comparison. Indexes carry a position."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from PySide6.QtCore import QModelIndex, QObject, Qt

from viewer.gui.compare.cells import FIGURES, TITLES, Column, bar_share, cell, exact_cell
from viewer.gui.compare.rollups import RollUps
from viewer.gui.compare.shown import NOTHING_SHOWN, Shown
from viewer.gui.compare.table import CompareTable
from viewer.gui.compare.verdicts import TOKENS
from viewer.gui.details.tips import plain_tip
from viewer.gui.override import override
from viewer.gui.placed_model import Index, PlacedModel
from viewer.gui.theme import Theme

_Role: TypeAlias = Qt.ItemDataRole
_RIGHT: Final = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT: Final = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_N_COLUMNS: Final = len(Column)
BAR_ROLE: Final = int(_Role.UserRole)
"""How long the bar of a row is, from 0 to 1; None for no bar."""
_MONO: Final = FIGURES | {Column.LEFT, Column.RIGHT}


class CompareModel(PlacedModel):
    """Entries of a CompareTable. `data` formats what is in memory and does nothing else."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(NOTHING_SHOWN, _N_COLUMNS, parent)
        self._theme = theme
        self._table: CompareTable | None = None
        self._rollups: RollUps | None = None
        self._shown = NOTHING_SHOWN
        self._by: Column | None = None
        self._mono = theme.mono()
        theme.changed.connect(self.take_theme)

    @property
    def shown(self) -> Shown:
        return self._shown

    def take_theme(self) -> None:
        """Colours and faces are others now; the view repaints by itself."""
        self._mono = self._theme.mono()

    def show(self, table: CompareTable, rollups: RollUps, shown: Shown) -> None:
        """Show other entries; all indexes become invalid."""
        self.beginResetModel()
        self._table, self._rollups, self._shown = table, rollups, shown
        self._place(shown)
        self.endResetModel()

    def set_sorted_by(self, by: Column | None) -> None:
        """Mark a column in the header; None for none. Qt's own arrow would lie on the title."""
        self._by = by
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, _N_COLUMNS - 1)

    def verdicts_changed(self) -> None:
        """Results came: any row may say something else."""
        self._top_changed(0, _N_COLUMNS - 1)

    def entry_of(self, index: Index) -> int:
        """The entry at an index; 0 for an invalid one."""
        return self._shown.entries[index.internalId()] if index.isValid() else 0

    def index_of(self, entry: int) -> QModelIndex:
        """The index of an entry; invalid where it is not shown."""
        position = self._shown.position_of(entry)
        return self.index_at(position) if position else QModelIndex()

    @override
    def data(self, index: Index, role: int = _Role.DisplayRole) -> Any:
        table, rollups = self._table, self._rollups
        if table is None or rollups is None or not index.isValid():
            return None
        column = index.column()
        if role == _Role.DisplayRole:
            return cell(table, rollups, self.entry_of(index), column)
        if role == _Role.ForegroundRole:
            return self._color(rollups, index)
        if role == _Role.FontRole:
            return self._mono if column in _MONO else None
        if role == _Role.TextAlignmentRole:
            return _RIGHT if column in FIGURES else _LEFT
        if role == _Role.ToolTipRole:
            return plain_tip(exact_cell(table, rollups, self.entry_of(index), column)) or None
        if role == BAR_ROLE and column == Column.REL_NORM:
            share = bar_share(rollups, self.entry_of(index))
            return share if share >= 0 else None
        return None

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _Role.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and 0 <= section < _N_COLUMNS:
            if role == _Role.DisplayRole:
                return f"▾ {TITLES[Column(section)]}" if section == self._by else TITLES[Column(section)]
            if role == _Role.TextAlignmentRole:
                return _RIGHT if section in FIGURES else _LEFT
        return None

    def _color(self, rollups: RollUps, index: Index) -> Any:
        column = index.column()
        if column == Column.LEFT:
            return self._theme.color("left")
        if column == Column.RIGHT:
            return self._theme.color("right")
        if column == Column.VERDICT:
            return self._theme.color(TOKENS[rollups.worst(self.entry_of(index))])
        return None
