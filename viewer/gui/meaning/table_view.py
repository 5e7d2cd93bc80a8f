"""The look and the keys that the tables and trees of this room share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QTreeView,
    QWidget,
)

from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.gui.tree.view import draw_chevron

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_ROW_HEIGHT: Final = 24
PADDING: Final = 7
"""Pixels on either side of the text of a cell."""
_TEXT_MARGIN: Final = 3
"""What Qt's style adds to the padding of a cell, and not to that of a head."""
_SLACK: Final = 8
_SHEET: Final = f"""
QTableView::item, QTreeView::item {{ padding: 0 {PADDING}px; }}
QHeaderView::section {{ padding: 4px {PADDING + _TEXT_MARGIN}px; }}
"""
_INDENT: Final = 16


def row_height(theme: Theme) -> int:
    return max(_ROW_HEIGHT, QFontMetrics(theme.mono()).height() + 8)


def inset(view: QWidget, parent: QWidget) -> QWidget:
    """A table or tree whose text begins where that of its page does."""
    frame = QWidget(parent)
    layout = QHBoxLayout(frame)
    layout.setContentsMargins(16 - PADDING - _TEXT_MARGIN, 0, 0, 0)
    layout.addWidget(view)
    return frame


class PlainTable(QTableView):
    """A read-only table of rows, with a scroll bar of its own. The model may have any number of rows."""

    def __init__(self, theme: Theme, model: QAbstractItemModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setModel(model)
        self.setAccessibleName(name)
        self.setStyleSheet(_SHEET)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setMinimumSectionSize(16)
        self.horizontalHeader().setHighlightSections(False)
        self.horizontalHeader().setMinimumSectionSize(36)
        theme.changed.connect(self._take_theme)
        self._take_theme()

    @property
    def row_height(self) -> int:
        return row_height(self._theme)

    def fit_columns(self, widest: dict[int, int], rows: Iterable[int]) -> None:
        """Make columns as wide as some rows need, and no wider than `widest` (in pixels, by column)."""
        sampled = list(rows)
        model = self.model()
        mono = QFontMetrics(self._theme.mono())
        words = QFontMetrics(self.font())
        for column in range(model.columnCount()):
            head = str(model.headerData(column, Qt.Orientation.Horizontal) or "")
            width = words.horizontalAdvance(head) + 12  # and the arrow of the order
            for row in sampled:
                width = max(width, mono.horizontalAdvance(str(model.index(row, column).data() or "")))
            self.setColumnWidth(column, min(width + 2 * (PADDING + _TEXT_MARGIN) + _SLACK, widest.get(column, 320)))

    def _take_theme(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self.row_height)


class PlainTree(QTreeView):
    """A read-only tree in the look of the one on the left."""

    def __init__(self, theme: Theme, model: QAbstractItemModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setUniformRowHeights(True)  # before setModel: else rows get no height
        self.setModel(model)
        self.setStyleSheet(_SHEET)
        self.setItemDelegate(_RowDelegate(theme, self))
        self.setAccessibleName(name)
        self.setAnimated(False)
        self.setIndentation(_INDENT)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.header().setHighlightSections(False)
        self.header().setMinimumSectionSize(40)
        theme.changed.connect(self.scheduleDelayedItemsLayout)

    @override
    def drawBranches(self, painter: QPainter, rect: QRect, index: _Index) -> None:
        if self.model().hasChildren(index):
            draw_chevron(painter, rect, self._theme.color("muted"), is_open=self.isExpanded(index))


class _RowDelegate(QStyledItemDelegate):
    """Rows of the height that tables have."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(super().sizeHint(option, index).width(), row_height(self._theme))
