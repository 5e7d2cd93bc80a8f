"""A small read-only table of facts: as high as its rows, copied by cell or as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from typing import Final, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QAction, QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QSizePolicy, QTableView, QWidget

from viewer.gui.details.cell import Cell
from viewer.gui.details.facts import Fact
from viewer.gui.details.tips import cut_middle, plain_tip
from viewer.gui.override import override
from viewer.gui.theme import Theme

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_ROW_HEIGHT: Final = 24
_PADDING: Final = 24
_MEASURED: Final = 16
_LONGEST: Final = 500
"""Characters of a cell to lay out; all are there to copy."""


class CellModel(QAbstractTableModel):
    """Rows of cells of one length, with or without heads."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: Sequence[tuple[Cell, ...]] = ()
        self._heads: tuple[str, ...] = ()

    def set_rows(self, rows: Sequence[tuple[Cell, ...]], heads: tuple[str, ...] = ()) -> None:
        self.beginResetModel()
        self._rows = rows
        self._heads = heads
        self.endResetModel()

    @property
    def rows(self) -> Sequence[tuple[Cell, ...]]:
        return self._rows

    @override
    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    @override
    def columnCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or not self._rows else len(self._rows[0])

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        cell = self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return cut_middle(cell.shown, _LONGEST)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(cell.exact) or None
        if role == Qt.ItemDataRole.FontRole:
            return None if cell.plain or cell.muted else self._theme.mono()
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._theme.color("muted") if cell.muted else None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if cell.right else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    @override
    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal or section >= len(self._heads):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._heads[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            right = bool(self._rows) and self._rows[0][section].right
            side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None


class CellTable(QTableView):
    """Shows a CellModel without scroll bars of its own: the page scrolls."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.cells = CellModel(theme, self)
        self.setModel(self.cells)
        self.setAccessibleName(name)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectItems)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setSectionsClickable(False)
        # As far from the edge as the cells' text, which Qt sets in by 3 pixels.
        self.horizontalHeader().setStyleSheet("QHeaderView::section { padding: 4px 3px; }")
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        copy = QAction("Copy", self)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy_selected)
        copy_all = QAction("Copy all as TSV", self)
        copy_all.setShortcut(QKeySequence("Ctrl+Shift+C"))
        copy_all.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy_all.triggered.connect(self.copy_all)
        self.addActions([copy, copy_all])
        theme.changed.connect(self._fit)

    def show_facts(self, facts: Sequence[Fact]) -> None:
        """Labels and values."""
        self.show_rows(
            [(Cell(fact.label, muted=True), Cell(fact.shown, fact.exact, plain=fact.plain)) for fact in facts]
        )

    def show_rows(self, rows: Sequence[tuple[Cell, ...]], heads: tuple[str, ...] = ()) -> None:
        self.cells.set_rows(rows, heads)
        self.horizontalHeader().setVisible(bool(heads))
        self._fit()

    def texts(self) -> list[tuple[str, ...]]:
        """All cells as they are shown."""
        return [tuple(cell.shown for cell in row) for row in self.cells.rows]

    def copy_selected(self) -> None:
        """Put the exact values of the selected cells on the clipboard, rows as lines."""
        by_row: dict[int, list[tuple[int, str]]] = {}
        for index in self.selectedIndexes():
            cell = self.cells.rows[index.row()][index.column()]
            by_row.setdefault(index.row(), []).append((index.column(), cell.copied))
        lines = ("\t".join(text for _, text in sorted(cells)) for _, cells in sorted(by_row.items()))
        if text := "\n".join(lines):
            QGuiApplication.clipboard().setText(text)

    def copy_all(self) -> None:
        """Put everything on the clipboard, exact, one row a line."""
        QGuiApplication.clipboard().setText(
            "".join("\t".join(cell.copied for cell in row) + "\n" for row in self.cells.rows)
        )

    @override
    def sizeHint(self) -> QSize:
        head = self.horizontalHeader().sizeHint().height() if not self.horizontalHeader().isHidden() else 0
        return QSize(320, head + len(self.cells.rows) * self._row_height())

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.sizeHint().height())

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.clearSelection()
        super().keyPressEvent(event)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _row_height(self) -> int:
        return max(_ROW_HEIGHT, QFontMetrics(self._theme.mono()).height() + 8)

    def _fit(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self._row_height())
        self._fit_columns()
        self.updateGeometry()

    def _fit_columns(self) -> None:
        """Columns as wide as their cells; the last one of a table of facts takes the rest."""
        rows = self.cells.rows
        if not rows:
            return
        mono, words = QFontMetrics(self._theme.mono()), QFontMetrics(self.font())
        heads = not self.horizontalHeader().isHidden()
        last = len(rows[0]) - 1
        left = self.viewport().width()
        for column in range(last + 1):
            # The widest is among those with the most characters; measuring all of a long table takes too long.
            longest = nlargest(_MEASURED, (row[column] for row in rows), key=_length)
            wanted = max(
                (words if cell.plain or cell.muted else mono).horizontalAdvance(cut_middle(cell.shown, _LONGEST))
                for cell in longest
            )
            if heads:
                head = str(self.cells.headerData(column, Qt.Orientation.Horizontal) or "")
                wanted = max(wanted, words.horizontalAdvance(head))
            width = wanted + _PADDING
            if column == last and not heads:
                width = max(left, 40)
            self.setColumnWidth(column, width)
            left -= width


def _length(cell: Cell) -> int:
    return len(cell.shown)
