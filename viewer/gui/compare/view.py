"""The tree view of a comparison: what is open and what is current outlives a change of chip, filter or verdicts."""

from __future__ import annotations

from typing import Final, TypeAlias

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from viewer.gui.compare.cells import Column
from viewer.gui.compare.model import BAR_ROLE, CompareModel
from viewer.gui.compare.rollups import RollUps
from viewer.gui.compare.shown import SORTED_BY, Shown, first_expanded
from viewer.gui.compare.table import CompareTable
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.gui.tree.delegate import ROW_HEIGHT
from viewer.gui.tree.view import MAX_EXPANDED

_Index: TypeAlias = QModelIndex | QPersistentModelIndex

_OPENED: Final = 60
"""Entries that are open at the start: two screens of them."""
_OPENED_FILTERED: Final = 2_000
"""Entries that a chip or filter opens by itself."""
_BAR_WIDTH: Final = 56
_BAR_HEIGHT: Final = 7
_WIDTHS: Final = {
    Column.LEFT: 19,
    Column.RIGHT: 19,
    Column.VERDICT: 27,
    Column.MAX_ABS: 12,
    Column.REL_NORM: 21,
    Column.SHARE: 10,
}
"""In digits of the face for numbers, margins included."""


class _RowDelegate(QStyledItemDelegate):
    """Rows as high as those of a document's tree, whose cells keep their colours when they are selected; and the bar
    that shows how much a row changed, against the one that changed most."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        hint = super().sizeHint(option, index)
        return QSize(hint.width(), max(ROW_HEIGHT, hint.height()))

    @override
    def initStyleOption(self, option: QStyleOptionViewItem, index: _Index) -> None:
        super().initStyleOption(option, index)
        palette: QPalette = option.palette
        palette.setBrush(QPalette.ColorRole.HighlightedText, palette.brush(QPalette.ColorRole.Text))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        if index.column() != Column.REL_NORM:
            super().paint(painter, option, index)
            return
        style = option.widget.style()
        style.drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, option.widget)
        narrow = QStyleOptionViewItem(option)
        narrow.rect = option.rect.adjusted(0, 0, -_BAR_WIDTH - 8, 0)
        super().paint(painter, narrow, index)
        share = index.data(BAR_ROLE)
        if share is None:
            return
        left, top = option.rect.right() - _BAR_WIDTH - 6, option.rect.center().y() - _BAR_HEIGHT // 2
        painter.fillRect(left, top, _BAR_WIDTH, _BAR_HEIGHT, self._theme.color("raised"))
        if share > 0:
            painter.fillRect(left, top, max(1, round(share * _BAR_WIDTH)), _BAR_HEIGHT, self._theme.color("changed"))


class CompareView(QTreeView):
    """
    Signals
    -------
    entry_changed
        Carries the entry that is current now, 0 for none.
    sort_wanted
        Carries the Column to sort siblings by, None for natural order.
    """

    entry_changed = Signal(object)
    sort_wanted = Signal(object)

    def __init__(self, theme: Theme, model: CompareModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._model = model
        self._table: CompareTable | None = None
        self._current = 0
        self._expanded: set[int] = set()  # entries, while nothing is filtered
        self._restoring = False
        self._by: Column | None = None
        self.setUniformRowHeights(True)  # before setModel: set later, it gives rows of height -1
        self.setModel(model)
        self.setItemDelegate(_RowDelegate(theme, self))
        self.setIndentation(16)
        self.setAnimated(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setAccessibleName("Both checkpoints, aligned")
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._open_menu)
        header = self.header()
        header.setSectionsMovable(False)
        header.setStretchLastSection(False)
        header.setSectionResizeMode(Column.NAME, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(48)
        header.setSectionsClickable(True)
        header.setToolTip("Click on a figure or the verdict: the largest first; on Name: natural order")
        header.sectionClicked.connect(self._header_clicked)
        self._fit_columns()
        self.expanded.connect(self._remember_expanded)
        self.collapsed.connect(self._remember_collapsed)
        theme.changed.connect(self._fit_columns)

    @property
    def current_entry(self) -> int:
        """The entry that was chosen last, also while it is not shown; 0 for none."""
        return self._current

    def show_table(self, table: CompareTable, rollups: RollUps, shown: Shown, current: int) -> None:
        """Show other entries, the first levels open.

        Parameters
        ----------
        current
            The entry to begin at.
        """
        self._table = table
        self._current = current
        self._expanded = {shown.entries[position] for position in first_expanded(shown, _OPENED)}
        self.show_shown(table, rollups, shown)
        self.entry_changed.emit(self._current)

    def show_shown(self, table: CompareTable, rollups: RollUps, shown: Shown) -> None:
        """Show other entries of the same table, or others in front."""
        scrolled = self.verticalScrollBar().value()
        self._restoring = True
        self._model.show(table, rollups, shown)
        if shown.n_matches is None:
            positions = [place for entry in self._expanded if (place := shown.position_of(entry))]
        else:
            positions = first_expanded(shown, _OPENED_FILTERED)
        for position in positions:
            self.setExpanded(self._model.index_at(position), True)
        if (index := self._model.index_of(self._current)).isValid():
            self._make_current(index)
        self._restoring = False
        self.verticalScrollBar().setValue(scrolled)

    def set_sorted_by(self, by: Column | None) -> None:
        """Say in the header what siblings are sorted by."""
        self._by = by
        self._model.set_sorted_by(by)

    def go_to(self, entry: int) -> None:
        """Make an entry current that is shown, opening what it stands in."""
        if (index := self._model.index_of(entry)).isValid():
            above = index.parent()
            while above.isValid():
                self.setExpanded(above, True)
                above = above.parent()
            seen = self.viewport().rect().contains(self.visualRect(index))
            hint = QAbstractItemView.ScrollHint
            self.scrollTo(index, hint.EnsureVisible if seen else hint.PositionAtCenter)
            self._make_current(index)

    def copy_names(self) -> None:
        """Put the path of the current row, or a group's names, on the clipboard."""
        if self._table is not None and self._current:
            QGuiApplication.clipboard().setText(self._table.name_of(self._current))

    @override
    def currentChanged(self, current: _Index, previous: _Index) -> None:
        super().currentChanged(current, previous)
        if not self._restoring:
            self._current = self._model.entry_of(current)
            self.entry_changed.emit(self._current)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_names()
        else:
            super().keyPressEvent(event)

    @Slot(QPoint)
    def _open_menu(self, at: QPoint) -> None:
        if self.indexAt(at).isValid():
            self.make_menu().popup(self.viewport().mapToGlobal(at))

    def make_menu(self) -> QMenu:
        """What can be done with the current row."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Copy path", self.copy_names)
        if self._table is not None and self._table.n_children[self._current]:
            menu.addSeparator()
            menu.addAction("Expand all inside", self._expand_current)
            menu.addAction("Collapse", self._collapse_current)
        return menu

    def _expand_current(self) -> None:
        """Open what is inside the current entry level by level, as far as a view lays out at once."""
        shown = self._model.shown
        level = [place] if (place := shown.position_of(self._current)) else []
        count = 0
        while level:
            count += sum(shown.n_children[position] for position in level)
            if count > MAX_EXPANDED:
                break
            for position in level:
                self.setExpanded(self._model.index_at(position), True)
            level = [child for position in level for child in shown.children(position) if shown.n_children[child]]

    def _collapse_current(self) -> None:
        self.collapse(self.currentIndex())

    @Slot(int)
    def _header_clicked(self, section: int) -> None:
        column = Column(section)
        self.sort_wanted.emit(column if column in SORTED_BY and column != self._by else None)

    def _make_current(self, index: QModelIndex) -> None:
        flag = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flag.ClearAndSelect | flag.Rows)

    @Slot(QModelIndex)
    def _remember_expanded(self, index: QModelIndex) -> None:
        if not self._restoring and self._model.shown.n_matches is None:
            self._expanded.add(self._model.entry_of(index))

    @Slot(QModelIndex)
    def _remember_collapsed(self, index: QModelIndex) -> None:
        if not self._restoring and self._model.shown.n_matches is None:
            self._expanded.discard(self._model.entry_of(index))

    @Slot()
    def _fit_columns(self) -> None:
        digit = QFontMetrics(self._theme.mono()).horizontalAdvance("0")
        for column, digits in _WIDTHS.items():
            self.header().resizeSection(column, digits * digit)
