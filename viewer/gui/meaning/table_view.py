"""The look and the keys that the tables of this room share."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from viewer.gui.theme import Theme

_ROW_HEIGHT: Final = 24
_SIDE: Final = 10
"""Pixels beside the text of a cell."""


class PlainTable(QTableView):
    """A read-only table of rows, with a scroll bar of its own. The model may have any number of rows."""

    def __init__(self, theme: Theme, model: QAbstractItemModel, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setModel(model)
        self.setAccessibleName(name)
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
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setMinimumSectionSize(36)
        header.setStyleSheet("QHeaderView::section { padding: 4px 3px; }")
        theme.changed.connect(self._take_theme)
        self._take_theme()

    @property
    def row_height(self) -> int:
        return max(_ROW_HEIGHT, QFontMetrics(self._theme.mono()).height() + 8)

    def fit_columns(self, widest: dict[int, int], samples: int = 40) -> None:
        """Make columns as wide as the first rows need, and no wider than `widest` (in pixels, by column)."""
        model = self.model()
        mono = QFontMetrics(self._theme.mono())
        words = QFontMetrics(self.font())
        for column in range(model.columnCount()):
            head = str(model.headerData(column, Qt.Orientation.Horizontal) or "")
            width = words.horizontalAdvance(head) + 12  # and the arrow of the order
            for row in range(min(samples, model.rowCount())):
                width = max(width, mono.horizontalAdvance(str(model.index(row, column).data() or "")))
            self.setColumnWidth(column, min(width + 2 * _SIDE, widest.get(column, 320)))

    def _take_theme(self) -> None:
        self.verticalHeader().setDefaultSectionSize(self.row_height)
