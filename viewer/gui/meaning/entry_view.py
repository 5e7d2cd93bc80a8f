"""The table of an optimizer's entries: sorting by its heads, jumps by double-click, keys and menu, copying."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QMenu, QWidget

from viewer.gui.meaning.entry_cells import What
from viewer.gui.meaning.entry_model import EntryModel
from viewer.gui.meaning.table_view import PlainTable
from viewer.gui.override import override
from viewer.gui.slices import SliceRunner
from viewer.gui.theme import Theme

_SETTLES_MS: Final = 150
_ENOUGH: Final = 4
_SAMPLED: Final = 40


class EntryView(PlainTable):
    """
    Signals
    -------
    row_changed
        Carries the row that is current now; None for none.
    node_requested
        Carries the node that the person wants to see.
    in_sight
        Carries the rows on screen, when scrolling has come to rest.
    """

    row_changed = Signal(object)
    node_requested = Signal(object)
    in_sight = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self.entries = EntryModel(theme)
        super().__init__(theme, self.entries, "Entries of the optimizer", parent)
        self.entries.setParent(self)
        self._settle = QTimer(self, singleShot=True, interval=_SETTLES_MS)
        self._settle.timeout.connect(self._tell_sight)
        self._copier = SliceRunner(self)
        self.entries.modelReset.connect(self._copier.stop)
        self._centre = QTimer(self, singleShot=True, interval=0)
        self._centre.timeout.connect(self._show_current)
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicatorClearable(True)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.setSortingEnabled(True)
        self.verticalScrollBar().valueChanged.connect(self._settle.start)
        self.entries.modelReset.connect(self._settle.start)
        self.doubleClicked.connect(self._go_by_double_click)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._open_menu)
        for text, keys, slot in (
            ("Copy row", QKeySequence(QKeySequence.StandardKey.Copy), self.copy_row),
            ("Copy all as TSV", QKeySequence("Ctrl+Shift+C"), self.copy_all),
        ):
            action = QAction(text, self)
            action.setShortcut(keys)
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(slot)
            self.addAction(action)

    @property
    def current_row(self) -> int | None:
        """The row that is selected."""
        found = self.selectionModel().selectedRows()
        return self.entries.row_of(found[0]) if found else None

    def choose_row(self, row: int) -> bool:
        """Select a row and show it; False where it does not show."""
        index = self.entries.index_of(row)
        if not index.isValid():
            return False
        self.setCurrentIndex(index)
        self.scrollTo(index, self.ScrollHint.PositionAtCenter)
        self._centre.start()  # and again, once the parts of the page have their heights
        return True

    def tell_sight_soon(self) -> None:
        """Emit `in_sight` once it has come to rest."""
        self._settle.start()

    def fit(self) -> None:
        """Columns as wide as the cells in sight need."""
        room = max(220, self.viewport().width() * 2 // 5)
        name = next((nth for nth, column in enumerate(self.entries.columns) if column.what == What.NAME), 1)
        positions = self._positions_in_sight()
        if len(positions) < _ENOUGH:  # before it is laid out, next to nothing is in sight
            positions = range(min(len(self.entries.order), _SAMPLED))
        self.fit_columns({0: 160, name: max(room, 260)}, positions)

    def go_to_parameter(self) -> None:
        """Ask for the current row's parameter."""
        rows, row = self.entries.rows, self.current_row
        if rows is not None and row is not None and rows.parameter[row] >= 0:
            self.node_requested.emit(rows.parameter[row])

    def go_to_state(self) -> None:
        """Ask for the current row's state."""
        rows, row = self.entries.rows, self.current_row
        if rows is not None and row is not None and rows.state(row) >= 0:
            self.node_requested.emit(rows.state(row))

    def copy_name(self) -> None:
        """Put the current row's name, or its candidates, on the clipboard."""
        rows, row = self.entries.rows, self.current_row
        if rows is not None and row is not None:
            text = rows.names[row] if rows.sure[row] else "\n".join(rows.optimizer.entries.candidates[row])
            QGuiApplication.clipboard().setText(text)

    def copy_row(self) -> None:
        """Put the current row on the clipboard, exact."""
        if (row := self.current_row) is not None:
            QGuiApplication.clipboard().setText(self.entries.line(row))

    def copy_all(self) -> None:
        """Put heads and all rows that show on the clipboard, exact, as tab-separated lines."""
        self._copier.start(self.entries.tsv_task(), QGuiApplication.clipboard().setText)

    def make_menu(self) -> QMenu:
        """What can be done with the current row."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        rows, row = self.entries.rows, self.current_row
        if rows is not None and row is not None:
            menu.addAction("Go to parameter\tReturn", self.go_to_parameter).setEnabled(rows.parameter[row] >= 0)
            menu.addAction("Go to optimizer state\tCtrl+Return", self.go_to_state).setEnabled(rows.state(row) >= 0)
            menu.addSeparator()
            menu.addAction("Copy name" if rows.sure[row] else "Copy candidates", self.copy_name)
            menu.addAction("Copy row\tCtrl+C", self.copy_row)
        menu.addAction("Copy all as TSV\tCtrl+Shift+C", self.copy_all)
        return menu

    @override
    def selectionChanged(self, selected: object, deselected: object) -> None:
        super().selectionChanged(selected, deselected)  # type: ignore[arg-type]
        self.row_changed.emit(self.current_row)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self.go_to_state()
            else:
                self._go()
        else:
            super().keyPressEvent(event)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._settle.start()

    def _go_by_double_click(self, _index: QModelIndex) -> None:
        self._go()

    def _go(self) -> None:
        """To the parameter where it is certain and there, else to the state."""
        rows, row = self.entries.rows, self.current_row
        if rows is not None and row is not None:
            if rows.parameter[row] >= 0:
                self.go_to_parameter()
            else:
                self.go_to_state()

    def _open_menu(self, at: QPoint) -> None:
        if self.entries.rows is not None:
            self.make_menu().popup(self.viewport().mapToGlobal(at))

    def _tell_sight(self) -> None:
        if not self.isVisible() or not self.entries.order:
            return
        self.in_sight.emit(self.rows_in_sight())

    def rows_in_sight(self) -> list[int]:
        """The rows on screen."""
        shown = self._positions_in_sight()
        return list(self.entries.order[shown.start : shown.stop])

    def _positions_in_sight(self) -> range:
        first = max(0, self.rowAt(0))
        last = self.rowAt(self.viewport().height() - 1)
        return range(first, len(self.entries.order) if last < 0 else last + 1)

    def _show_current(self) -> None:
        found = self.selectionModel().selectedRows()
        if found:
            self.scrollTo(found[0], self.ScrollHint.PositionAtCenter)
