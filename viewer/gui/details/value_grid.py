"""The table of a slice: numbers below each other, as many columns as fit, and always knowing what it looks at."""

from __future__ import annotations

from typing import Final, TypeAlias

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QFontMetrics, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from viewer.gui.details.value_model import ValueModel
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.tensors.slice_results import ValueBlock

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_ROW_HEIGHT: Final = 22
_PADDING: Final = 14
_NARROWEST: Final = 7
"""Characters of the narrowest column."""


class ValueGrid(QTableView):
    """Shows a ValueModel.

    Signals
    -------
    looked_at
        Carries the ranges of rows and columns of the model that are visible.
    current_changed
        Carries the current index.
    beyond
        The person moves on past the last row (carries 1) or before the first (-1) of what the model has.
    copy_wanted
        Carries "tsv", "torch" or "numpy".
    """

    looked_at = Signal(object, object)
    current_changed = Signal(object)
    beyond = Signal(int)
    copy_wanted = Signal(str)

    def __init__(self, model: ValueModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values = model
        self._theme = theme
        self._characters = _NARROWEST
        self.setAccessibleName("Values")
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerItem)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            header.setHighlightSections(False)
        self.setModel(model)
        self._look = QTimer(self, singleShot=True, interval=0)
        self._look.timeout.connect(self.tell_looked_at)
        self.verticalScrollBar().valueChanged.connect(self._look_soon)
        self.horizontalScrollBar().valueChanged.connect(self._look_soon)
        model.modelReset.connect(self._look_soon)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        for text, kind, keys in (
            ("&Copy values", "tsv", QKeySequence(QKeySequence.StandardKey.Copy)),
            ("Copy as &torch expression", "torch", QKeySequence("Ctrl+Alt+T")),
            ("Copy as &numpy expression", "numpy", QKeySequence("Ctrl+Alt+N")),
        ):
            action = QAction(text, self)
            action.setShortcut(keys)
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.setData(kind)
            action.triggered.connect(self._copy)
            self.addAction(action)
        theme.changed.connect(self._restyle)
        self._restyle()

    def visible_part(self) -> tuple[range, range]:
        """Rows and columns of the model in view."""
        area = self.viewport().rect()
        rows, columns = self._values.rowCount(), self._values.columnCount()
        top, left = self.rowAt(0), self.columnAt(0)
        if top < 0 or left < 0 or area.isEmpty():
            return range(0), range(0)
        bottom, right = self.rowAt(area.height() - 1), self.columnAt(area.width() - 1)
        return (
            range(top, rows if bottom < 0 else bottom + 1),
            range(left, columns if right < 0 else right + 1),
        )

    def tell_looked_at(self) -> None:
        self.looked_at.emit(*self.visible_part())

    def _look_soon(self) -> None:
        # Not the timer's own start: it would take a scroll bar's value for its interval.
        self._look.start()

    def make_room(self, block: ValueBlock) -> None:
        """Columns wide enough for the numbers of a block; they never become narrower, so that nothing jumps."""
        # Of all of them: one that is cut would show its digits without its exponent.
        needed = self._values.style.widest(block.values())
        if needed > self._characters:
            self._characters = needed
            self._size_columns()

    def forget_widths(self) -> None:
        """Another dtype or way to write: columns begin narrow again."""
        self._characters = max(_NARROWEST, len(str(self._values.extent[1])))
        self._size_columns()

    def go(self, index: QModelIndex) -> None:
        """Make a cell the current one, in the middle of the view."""
        if index.isValid():
            self.setCurrentIndex(index)
            self.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)

    @override
    def currentChanged(self, current: _Index, previous: _Index) -> None:
        super().currentChanged(current, previous)
        self.current_changed.emit(current)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._look.start()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.currentIndex().row()
        if row >= 0 and not event.modifiers():
            last = self._values.rowCount() - 1
            if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_PageDown) and row == last:
                self.beyond.emit(1)
                return
            if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_PageUp) and row == 0:
                self.beyond.emit(-1)
                return
        super().keyPressEvent(event)

    def selected_part(self) -> tuple[range, range]:
        """Rows and columns of the model that are selected; those of the current cell where none is."""
        ranges = self.selectionModel().selection()
        if ranges.isEmpty():
            index = self.currentIndex()
            return range(index.row(), index.row() + 1), range(index.column(), index.column() + 1)
        parts = [ranges.at(i) for i in range(ranges.count())]
        return (
            range(min(part.top() for part in parts), max(part.bottom() for part in parts) + 1),
            range(min(part.left() for part in parts), max(part.right() for part in parts) + 1),
        )

    def _copy(self) -> None:
        action = self.sender()
        assert isinstance(action, QAction)
        self.copy_wanted.emit(action.data())

    def _size_columns(self) -> None:
        metrics = QFontMetrics(self._theme.mono())
        width = metrics.horizontalAdvance("0") * self._characters + _PADDING
        if self.horizontalHeader().defaultSectionSize() != width:
            at = self.columnAt(0)
            self.horizontalHeader().setDefaultSectionSize(width)
            if at > 0:
                self.horizontalScrollBar().setValue(at * width)
            self._look.start()

    def _restyle(self) -> None:
        face = self._theme.mono()
        self.setFont(face)
        # A border besides the colour of selected cells, which may stand among shaded ones.
        accent = self._theme.tokens.accent
        self.setStyleSheet(f"QTableView::item:selected {{ border: 1px solid {accent}; }}")
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setFont(self._theme.mono(-1))
        self.verticalHeader().setDefaultSectionSize(max(_ROW_HEIGHT, QFontMetrics(face).height() + 6))
        self._size_columns()
        self._look.start()
