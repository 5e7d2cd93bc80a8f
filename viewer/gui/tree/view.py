"""The tree view: rows of one height, spare width for the names, expansion and selection that outlive a filter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from PySide6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QHoverEvent, QKeyEvent, QKeySequence, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyleOptionViewItem, QTreeView, QWidget

from viewer.checkpoint.nodes import Kind
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.gui.tree.delegate import TreeDelegate
from viewer.gui.tree.display import DisplayTable
from viewer.gui.tree.filter import Shape
from viewer.gui.tree.header import TreeHeader
from viewer.gui.tree.model import TreeModel
from viewer.gui.tree.order import Order
from viewer.gui.tree.selection import BoundedSelection

MAX_EXPANDED: Final = 12_000
"""Rows that "expand all" may open: laying them out takes about 40 ms."""
MAX_FILTERED: Final = 2_000
"""Rows that a filter opens by itself."""
_INDENT: Final = 16
MAX_CHOSEN: Final = 200
"""Selected rows that are looked at: among the first of them are as many tensors as can be shown together."""


class TreeView(QTreeView):
    """Signals: `row_changed` carries the display row that is current, 0 for none, whenever the person moves.
    `rows_chosen` carries a list of display rows, where several are selected. `copy_requested` comes with Ctrl+C."""

    row_changed = Signal(object)
    rows_chosen = Signal(object)
    copy_requested = Signal()

    def __init__(self, theme: Theme, model: TreeModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._model = model
        self._current_row = 0
        self._expanded: set[int] = set()  # display rows, while nothing is filtered
        self._restoring = False
        self._several = False  # several rows are selected
        self._hovered = 0  # position under the pointer
        # Before setModel: set on a view that was laid out, it gives rows of height -1.
        self.setUniformRowHeights(True)
        self.setModel(model)
        self.setSelectionModel(BoundedSelection(model, self))
        self._delegate = TreeDelegate(theme, model, self)
        self.setItemDelegate(self._delegate)
        self.setIndentation(_INDENT)
        self.setAnimated(False)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setExpandsOnDoubleClick(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setAccessibleName("Contents of the checkpoint")
        self.columns = TreeHeader(self)
        self.columns.set_digit_width(self._delegate.digit_width)
        self.expanded.connect(self._remember_expanded)
        self.collapsed.connect(self._remember_collapsed)
        self.activated.connect(self._follow_link)
        theme.changed.connect(self._take_theme)

    @property
    def current_row(self) -> int:
        """The display row that the person chose last, also while a filter hides it; 0 for none."""
        return self._current_row

    @property
    def expanded_rows(self) -> frozenset[int]:
        """The display rows that are open when nothing is filtered."""
        return frozenset(self._expanded)

    def show_table(self, table: DisplayTable, expanded: Iterable[int], current: int) -> None:
        """Show other rows, with these open and this one current."""
        self._model.set_table(table)
        self._expanded = set(expanded)
        self._current_row = current
        self._restore(self._expanded)

    def show_shape(self, shape: Shape, order: Order | None = None) -> None:
        """Show what a filter left, tensors in an order, or everything again, as it was open before."""
        self._hovered = 0
        self._model.set_shape(shape, order)
        self.setRootIsDecorated(not shape.is_flat)
        self.columns.expect_paths(shape.is_flat)
        self._restore(self._expanded if shape.n_matches is None else _rows_to_open(shape))

    def go_to_row(self, row: int) -> bool:
        """Make a display row current, open what it stands in, and show it; False where a filter hides it."""
        index = self._model.index_of(row)
        if not index.isValid():
            return False
        for above in list(self._model.table.ancestors(row)):
            self.setExpanded(self._model.index_of(above), True)
        # Not setCurrentIndex: with Ctrl held, as for a shortcut, that adds the row to those that are selected.
        chosen = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.selectionModel().setCurrentIndex(index, chosen)
        self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)
        return True

    def expand_below(self, row: int) -> bool:
        """Open a display row and what is inside (0: everything), level by level; False where the limit stopped it."""
        shape = self._model.shape
        start = shape.position_of(row)
        level = [] if start is None else [start]
        opened: list[int] = []
        shown = 0
        while level:
            inside: list[int] = []
            for position in level:
                count = shape.n_children[position]
                if count:
                    shown += count
                    if shown > MAX_EXPANDED:
                        self._open(opened)
                        return False
                    opened.append(shape.rows[position])
                    inside += range(shape.first_child[position], shape.first_child[position] + count)
            level = inside
        self._open(opened)
        return True

    def collapse_below(self, row: int) -> None:
        """Close a display row and everything inside (0: everything)."""
        if not row:
            self.collapseAll()
            self._expanded.clear()
            return
        for other in list(self._expanded):
            if other == row or row in self._model.table.ancestors(other):
                self.collapse(self._model.index_of(other))

    def leave_row(self) -> None:
        """Have no row current; nothing is told."""
        self._current_row = 0
        self.selectionModel().clear()

    def _open(self, rows: Iterable[int]) -> None:
        # With a layout pending, setExpanded takes a note; without, each call lays out the rows below again.
        self.scheduleDelayedItemsLayout()
        for row in rows:
            index = self._model.index_of(row)
            if index.isValid():
                self.setExpanded(index, True)
        self.executeDelayedItemsLayout()

    def _restore(self, expanded: Iterable[int]) -> None:
        self._restoring = True
        try:
            self._open(sorted(expanded))
        finally:
            self._restoring = False
        index = self._model.index_of(self._current_row)
        if index.isValid():
            chosen = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.selectionModel().setCurrentIndex(index, chosen)
            self.scrollTo(index)

    def _remember_expanded(self, index: QModelIndex) -> None:
        if not self._restoring and self._model.shape.n_matches is None:
            self._expanded.add(self._model.row_of(index))

    def _remember_collapsed(self, index: QModelIndex) -> None:
        if not self._restoring and self._model.shape.n_matches is None:
            self._expanded.discard(self._model.row_of(index))

    def follow_current_link(self) -> None:
        """Go to the container that the current row links to; does nothing on other rows."""
        if self._current_row:
            self._follow_link(self._model.index_of(self._current_row))

    def _follow_link(self, index: QModelIndex) -> None:
        table, row = self._model.table, self._model.row_of(index)
        if table.kind(row) == Kind.LINK:
            target = table.checkpoint.nodes.value[table.node[row]]
            assert isinstance(target, int)
            if (target_row := table.row_of_node[target]) > 0:
                self.go_to_row(target_row)

    def _take_theme(self) -> None:
        self._delegate.take_theme()
        self.columns.set_digit_width(self._delegate.digit_width)
        self.scheduleDelayedItemsLayout()

    def chosen_rows(self) -> list[int]:
        """The display rows that are selected, from top to bottom; some of them where they are very many."""
        found: list[tuple[tuple[int, ...], int]] = []
        shape = self._model.shape
        selection = self.selectionModel().selection()
        for number in range(selection.count()):
            part = selection.at(number)
            parent = part.parent()
            for row in range(part.top(), part.bottom() + 1):
                if len(found) > MAX_CHOSEN:
                    break
                index = self._model.index(row, 0, parent)
                place = position = index.internalId()
                way = [place]
                while (position := shape.parent[position]) > 0:
                    way.append(position)
                found.append((tuple(reversed(way)), shape.rows[place]))
        return [row for _, row in sorted(found)]

    @override
    def selectionChanged(self, selected: QItemSelection, deselected: QItemSelection) -> None:
        super().selectionChanged(selected, deselected)
        # Not currentChanged: Qt makes the first row current, unselected, when an untouched view gets the focus.
        chosen = self.chosen_rows()
        several, self._several = self._several, len(chosen) > 1
        if self._restoring or not chosen:
            return
        current = self._model.row_of(self.currentIndex())
        row = current if current in chosen else chosen[-1]
        if len(chosen) > 1:
            self._current_row = row
            self.rows_chosen.emit(chosen)
        elif row != self._current_row or several:
            self._current_row = row
            self.row_changed.emit(row)

    @override
    def dataChanged(self, *_changed: object) -> None:
        # Qt's own looks for the place of every row by going through all that are laid out: with 12,000 of them a
        # batch of a scan took half a second. Rows of one height without editors need a new picture and no more.
        self.viewport().update()

    @override
    def selectAll(self) -> None:
        """Select the current row and all beside it, not the whole tree: see `BoundedSelection`."""
        parent = self.currentIndex().parent()
        last = self._model.index(self._model.rowCount(parent) - 1, 0, parent)
        if last.isValid():
            beside = QItemSelection(self._model.index(0, 0, parent), last)
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.selectionModel().select(beside, flags)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_requested.emit()
        elif event.key() == Qt.Key.Key_Asterisk:  # Qt's own has no limit
            self.expand_below(self._current_row)
        else:
            super().keyPressEvent(event)

    @override
    def drawRow(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        rect: QRect = option.rect
        if self.selectionModel().isSelected(index):
            painter.fillRect(rect, self._theme.color("selected"))
            super().drawRow(painter, option, index)
            if self.hasFocus():
                painter.fillRect(0, rect.top(), 3, rect.height(), self._theme.color("accent"))
            return
        if index.internalId() == self._hovered:
            painter.fillRect(rect, self._theme.color("hovered"))
        super().drawRow(painter, option, index)

    @override
    def drawBranches(self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex) -> None:
        if not self._model.hasChildren(index):
            return
        draw_chevron(painter, rect, self._theme.color("muted"), is_open=self.isExpanded(index))

    @override
    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHoverEvent):
            leaves = event.type() == QEvent.Type.HoverLeave
            index = QModelIndex() if leaves else self.indexAt(event.position().toPoint())
            hovered = index.internalId() if index.isValid() else 0
            if hovered != self._hovered:
                for position in (self._hovered, hovered):
                    if 0 < position < len(self._model.shape):
                        rect = self.visualRect(self._model.index_at(position))
                        self.viewport().update(0, rect.top(), self.viewport().width(), rect.height())
                self._hovered = hovered
        return super().viewportEvent(event)


def draw_chevron(painter: QPainter, rect: QRect, color: QColor, *, is_open: bool) -> None:
    """The mark before a row that has rows inside; `rect` is that of its branch."""
    middle = QPointF(rect.right() - _INDENT / 2 + 1.5, rect.center().y() + 0.5)
    arm = 3.0
    if is_open:
        points = [QPointF(-arm - 0.5, -arm / 2), QPointF(0, arm / 2 + 0.5), QPointF(arm + 0.5, -arm / 2)]
    else:
        points = [QPointF(-arm / 2, -arm - 0.5), QPointF(arm / 2 + 0.5, 0), QPointF(-arm / 2, arm + 0.5)]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(color, 1.4, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
    painter.drawPolyline([middle + point for point in points])
    painter.restore()


def _rows_to_open(shape: Shape) -> list[int]:
    """The display rows to open in a filtered tree: whole levels, while at most MAX_FILTERED rows show."""
    level, shown = [0], 0
    opened: list[int] = []
    while level:
        inside: list[int] = []
        for position in level:
            count = shape.n_children[position]
            shown += count
            inside += range(shape.first_child[position], shape.first_child[position] + count)
            if shown > MAX_FILTERED:
                return opened
        opened += [shape.rows[position] for position in level if position and shape.n_children[position]]
        level = inside
    return opened
