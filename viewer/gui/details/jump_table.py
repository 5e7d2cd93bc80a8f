"""A table of facts whose rows lead to nodes, and may show their share of a whole as a bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QMouseEvent, QPainter
from PySide6.QtWidgets import QAbstractItemView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from viewer.gui.details.cell import Cell
from viewer.gui.details.cell_table import CellTable
from viewer.gui.override import override
from viewer.gui.theme import Theme

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_PADDING: Final = 20
_BAR_HEIGHT: Final = 6
_WIDEST_BAR: Final = 200
_NARROWEST_BAR: Final = 40
_NARROWEST_NAME: Final = 90
_NARROW_NAME: Final = 200
"""What a name gets before bars and optional columns are left out."""
_NARROWEST_WORDS: Final = 80
_NARROW_WORDS: Final = 180
"""What words at the end get before optional columns are left out."""


@dataclass(frozen=True, slots=True)
class JumpRow:
    """One row.

    Attributes
    ----------
    cells
        The first is the name, the one that gives way where room is short.
    node
        Where the row leads; None for nowhere.
    share
        Between 0 and 1, drawn as a bar after the cells; None for no bar.
    """

    cells: tuple[Cell, ...]
    node: int | None = None
    share: float | None = None


class JumpTable(CellTable):
    """Rows to read, and to go to by a click or by Return.

    Signals
    -------
    node_requested
        Carries the number of the node that a row leads to.
    """

    node_requested = Signal(object)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, name, parent)
        self._rows: Sequence[JumpRow] = ()
        self._bars = False
        self._optional: tuple[int, ...] = ()
        self._delegate = _BarDelegate(theme, self)
        self.setItemDelegate(self._delegate)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setMouseTracking(True)
        go = QAction("Go there", self)
        go.setShortcuts([QKeySequence(Qt.Key.Key_Return), QKeySequence(Qt.Key.Key_Enter)])
        go.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        go.triggered.connect(self._go_to_current)
        self.insertAction(self.actions()[0], go)
        self.clicked.connect(self._go)

    @property
    def jumps(self) -> Sequence[JumpRow]:
        """The rows as they are shown."""
        return self._rows

    def show_jumps(
        self, rows: Sequence[JumpRow], heads: tuple[str, ...] = (), optional: tuple[int, ...] = ()
    ) -> None:
        """Show rows with as many cells as there are heads.

        Parameters
        ----------
        optional
            Columns that are left out where room is short.
        """
        self._rows = rows
        self._optional = optional
        self._bars = any(row.share is not None for row in rows)
        bar = (Cell(""),) if self._bars else ()
        self.show_rows([row.cells + bar for row in rows], heads + ("",) * len(bar) if heads else ())

    def share_at(self, index: _Index) -> float | None:
        """What is drawn in a cell as a bar; None for other cells."""
        if self._bars and index.column() == self.cells.columnCount() - 1:
            return self._rows[index.row()].share
        return None

    def leads_at(self, index: _Index) -> bool:
        """True for the name of a row that leads somewhere."""
        return index.column() == 0 and self._rows[index.row()].node is not None

    def is_words(self, index: _Index) -> bool:
        """True for a cell of words, which lose their end where room is short; names lose their middle."""
        return index.column() > 0 and self.cells.rows[index.row()][index.column()].plain

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        index = self.indexAt(event.position().toPoint())
        leads = index.isValid() and self._rows[index.row()].node is not None
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if leads else Qt.CursorShape.ArrowCursor)

    @override
    def _fit_columns(self) -> None:
        """Columns as wide as their cells. Where room is short, words at the end give way, then the bars and what may
        be left out, then the name."""
        rows = self.cells.rows
        if not rows:
            return
        for column in range(len(rows[0])):
            self.setColumnHidden(column, False)  # a hidden one has no width to ask for
        super()._fit_columns()
        last = len(rows[0]) - 1
        room = self.viewport().width()
        widths = [self.columnWidth(column) for column in range(last + 1)]
        spare = room - sum(widths[:-1])
        hidden: list[int] = []
        if self._bars:
            widths[last] = min(max(spare, _NARROWEST_BAR), _WIDEST_BAR)
            for column in (last, *self._optional):
                if room - (sum(widths) - widths[0]) < min(widths[0], _NARROW_NAME):
                    hidden.append(column)
                    widths[column] = 0
        elif not rows[0][last].right:
            for column in self._optional:
                if spare < min(widths[last], _NARROW_WORDS):
                    hidden.append(column)
                    spare += widths[column]
                    widths[column] = 0
            widths[last] = max(spare, _NARROWEST_WORDS)
        widths[0] = min(widths[0], max(_NARROWEST_NAME, room - sum(widths[1:])))
        for column, width in enumerate(widths):
            self.setColumnHidden(column, column in hidden)
            if column not in hidden:
                self.setColumnWidth(column, width)

    def _go(self, index: QModelIndex) -> None:
        node = self._rows[index.row()].node
        if node is not None:
            self.node_requested.emit(node)

    def _go_to_current(self) -> None:
        if (index := self.currentIndex()).isValid():
            self._go(index)


class _BarDelegate(QStyledItemDelegate):
    """Draws the share of a row, and the name of one that leads somewhere in the accent."""

    def __init__(self, theme: Theme, table: JumpTable) -> None:
        super().__init__(table)
        self._theme = theme
        self._table = table

    @override
    def initStyleOption(self, option: QStyleOptionViewItem, index: _Index) -> None:
        super().initStyleOption(option, index)
        if self._table.is_words(index):
            option.textElideMode = Qt.TextElideMode.ElideRight
        if self._table.leads_at(index):
            option.palette.setColor(option.palette.ColorRole.Text, self._theme.color("accent"))
            option.palette.setColor(option.palette.ColorRole.HighlightedText, self._theme.color("accent"))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        super().paint(painter, option, index)
        share = self._table.share_at(index)
        if share is None:
            return
        rect = QRectF(option.rect)
        width = min(rect.width() - _PADDING, _WIDEST_BAR - _PADDING)
        trough = QRectF(rect.left() + 4, rect.center().y() - _BAR_HEIGHT / 2, width, _BAR_HEIGHT)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("raised"))
        painter.drawRoundedRect(trough, 3, 3)
        if share > 0:
            painter.setBrush(self._theme.color("accent"))
            trough.setWidth(max(2.0, trough.width() * min(share, 1.0)))
            painter.drawRoundedRect(trough, 3, 3)
        painter.restore()
