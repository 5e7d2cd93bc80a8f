"""The table of ways: one row each, filled as findings come."""

from __future__ import annotations

from typing import Final, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from viewer.gui.details.tips import plain_tip
from viewer.gui.override import override
from viewer.gui.roundtrip.rows import HEADS, TIPS, TOKENS, cells_of
from viewer.gui.theme import Theme
from viewer.roundtrip.results import WayFacts, WayResult

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_FINDING: Final = 1


class WayModel(QAbstractTableModel):
    """The ways that were tried, in the order in which they came."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme
        self._results: list[WayResult] = []
        theme.changed.connect(self._recolor)

    @property
    def results(self) -> list[WayResult]:
        return self._results

    def result_at(self, row: int) -> WayResult | None:
        return self._results[row] if 0 <= row < len(self._results) else None

    def clear(self) -> None:
        self.beginResetModel()
        self._results = []
        self.endResetModel()

    def add(self, result: WayResult) -> None:
        """One more way, or what became known of one that is there."""
        for row, known in enumerate(self._results):
            if known.way.name == result.way.name:
                self._results[row] = result
                self.dataChanged.emit(self.index(row, 0), self.index(row, len(HEADS) - 1))
                return
        row = len(self._results)
        self.beginInsertRows(QModelIndex(), row, row)
        self._results.append(result)
        self.endInsertRows()

    def tsv(self) -> str:
        """All rows with their heads, to paste elsewhere."""
        rows = [HEADS, *(cells_of(result.way, result) for result in self._results)]
        return "".join("\t".join(row) + "\n" for row in rows)

    @override
    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._results)

    @override
    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(HEADS)

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        result = self._results[index.row()]
        cells = cells_of(result.way, result)
        if role == Qt.ItemDataRole.DisplayRole:
            return cells[index.column()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(f"{cells[index.column()]}\n{_way_words(result.way)}")
        if role == Qt.ItemDataRole.ForegroundRole and index.column() == _FINDING:
            return self._theme.color(TOKENS[cells[_FINDING].split()[-1]])
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(cells)
        return None

    @override
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADS[section]
        if role == Qt.ItemDataRole.ToolTipRole:
            return TIPS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def _recolor(self) -> None:
        if self._results:
            last = self.index(len(self._results) - 1, _FINDING)
            self.dataChanged.emit(self.index(0, _FINDING), last, [Qt.ItemDataRole.ForegroundRole])


def _way_words(way: WayFacts) -> str:
    return f"{way.says}. {way.caveats}."
