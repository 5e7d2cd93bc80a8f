"""The aligned tree with its chips, filter and order: laid out in slices, and filled as results come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QLabel, QStackedWidget, QVBoxLayout, QWidget

from viewer.compare.comparison import Comparison
from viewer.compare.results import Status
from viewer.gui.compare.cells import Column
from viewer.gui.compare.filter_bar import FilterBar
from viewer.gui.compare.model import CompareModel
from viewer.gui.compare.rollups import RollUps
from viewer.gui.compare.shown import Shown, Wanted, shown_task, texts_task, tree_order
from viewer.gui.compare.table import GROUP, WHOLE, CompareTable, build_task
from viewer.gui.compare.verdicts import DIFFERENCES
from viewer.gui.compare.view import CompareView
from viewer.gui.format import format_count
from viewer.gui.slices import SliceRunner
from viewer.gui.theme import Theme
from viewer.gui.tree.display import DisplayOptions
from viewer.task import Task

_REFRESH_MS: Final = 200
"""Between two looks at the results that came in."""


class CompareTree(QWidget):
    """
    Signals
    -------
    entry_changed
        Carries the entry that is current now.
    laid_out
        The entries of a new comparison are on screen.
    refreshed
        Results were taken in.
    said
        Carries a sentence for the message bar.
    """

    entry_changed = Signal(object)
    laid_out = Signal()
    refreshed = Signal()
    said = Signal(object)

    def __init__(self, theme: Theme, display: DisplayOptions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._display = display
        self._comparison: Comparison | None = None
        self._by: Column | None = None
        self._texts: Sequence[str] | None = None
        self._waiting: list[int] = []
        self._reshape_again = False
        self.table: CompareTable | None = None
        self.rollups: RollUps | None = None
        self.filters = FilterBar(self)
        self.model = CompareModel(theme, self)
        self.view = CompareView(theme, self.model, self)
        self._nothing = QLabel("No row is left.\nEsc clears the filter.", self)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing.setProperty("role", "muted")
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.view)
        self._stack.addWidget(self._nothing)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.filters)
        column.addWidget(self._stack, 1)
        self._runner = SliceRunner(self)
        self._refresh = QTimer(self, singleShot=True, interval=_REFRESH_MS)
        self._refresh.timeout.connect(self.refresh)
        context = Qt.ShortcutContext
        for keys, on_keys, where in (
            # From wherever the keys go, as long as this tree is on screen.
            (QKeySequence(QKeySequence.StandardKey.Find), self.filters.focus_text, context.WindowShortcut),
            (QKeySequence(Qt.Key.Key_Escape), self.filters.clear, context.WidgetWithChildrenShortcut),
        ):
            shortcut = QShortcut(keys, self)
            shortcut.setContext(where)
            shortcut.activated.connect(on_keys)
        self.filters.changed.connect(self._reshape)
        self.filters.entered.connect(self._enter)
        self.filters.next.clicked.connect(self.next_difference)
        self.filters.previous.clicked.connect(self.previous_difference)
        self.view.sort_wanted.connect(self.sort)
        self.view.entry_changed.connect(self.entry_changed)

    @property
    def current_row(self) -> int:
        """The row of the comparison that is current; GROUP for a group of ours, or for none."""
        entry = self.view.current_entry
        return GROUP if self.table is None or not entry else self.table.row[entry]

    def set_comparison(self, comparison: Comparison) -> None:
        """Show another comparison; where it is of the same names, what is current stays so."""
        self._comparison = comparison
        self._build()

    def set_display(self, display: DisplayOptions) -> None:
        """Show the entries another way."""
        if display != self._display:
            self._display = display
            if self._comparison is not None:
                self._build()

    def take_rows(self, rows: list[int]) -> None:
        """Results of these rows came."""
        self._waiting += rows
        if not self._refresh.isActive():
            self._refresh.start()

    @Slot()
    def refresh(self) -> None:
        """Show all results that came."""
        table, rollups = self.table, self.rollups
        if table is None or rollups is None or table.comparison is not self._comparison:
            return  # still being laid out, which takes the rows in
        rollups.take(self._waiting)
        self._waiting = []
        self.filters.show_totals(table.comparison.totals())
        if self.filters.statuses is not None or self._by is not None:
            self._reshape()
        else:
            self.model.verdicts_changed()
        self.refreshed.emit()

    def release(self) -> None:
        """The tab is about to go."""
        self._refresh.stop()
        self._runner.stop()

    @Slot(object)
    def sort(self, by: Column | None) -> None:
        """Siblings by a column, the largest first; None for natural order."""
        self._by = by
        self.view.set_sorted_by(by)
        self._reshape()

    @Slot()
    def toggle_sorting(self) -> None:
        """Siblings by how much they changed, or back in natural order."""
        self.sort(None if self._by is not None else Column.REL_NORM)

    @Slot()
    def next_difference(self) -> None:
        """Go to the next shown row that differs."""
        self._step(forward=True)

    @Slot()
    def previous_difference(self) -> None:
        self._step(forward=False)

    def go_to_row(self, row: int) -> None:
        """Make a row of the comparison current; chips and a filter that hide it are cleared."""
        table = self.table
        if table is None:
            return
        entry = table.entry_of_row[row]
        if self.model.shown.position_of(entry) is None:
            self.filters.clear()
            self.filters.choose_all()
        if self.model.shown.position_of(entry) is not None:
            self.view.go_to(entry)

    def _build(self) -> None:
        assert self._comparison is not None
        self._texts = None
        self._waiting = []
        self._runner.start(self._build_task(self._comparison), self._show_table)

    def _build_task(self, comparison: Comparison) -> Task[tuple[CompareTable, RollUps, Shown]]:
        table = yield from build_task(comparison, self._display)
        rollups = yield from RollUps(table).fill_task()
        return table, rollups, (yield from self._shown_task(table, rollups))

    def _show_table(self, found: tuple[CompareTable, RollUps, Shown]) -> None:
        table, rollups, shown = found
        current = self._same_entry(table)
        self.table, self.rollups = table, rollups
        rollups.take(self._waiting)
        self._waiting = []
        self.view.show_table(table, rollups, shown, current)
        self._stack.setCurrentWidget(self.view if len(shown.entries) > 1 else self._nothing)
        self.filters.show_totals(table.comparison.totals())
        self.laid_out.emit()

    def _same_entry(self, table: CompareTable) -> int:
        """Where the current row is in another table: by its number in the same comparison, else by its path."""
        before, entry = self.table, self.view.current_entry
        if before is None or not entry or before.row[entry] == GROUP:
            return WHOLE
        row = before.row[entry]
        if before.comparison is table.comparison:
            return table.entry_of_row[row]
        path = before.comparison.path_a(row) or before.comparison.path_b(row)
        if not row or path is None:
            return WHOLE
        here = table.comparison
        return next(
            (table.entry_of_row[at] for at in range(1, len(here.rows)) if path in (here.path_a(at), here.path_b(at))),
            WHOLE,
        )

    @Slot()
    def _reshape(self) -> None:
        table, rollups = self.table, self.rollups
        if table is None or rollups is None:
            return
        if table.comparison is not self._comparison:
            return  # the entries that are being laid out are filtered in the end
        self._runner.start(self._shown_task(table, rollups), self._show_shown)

    def _shown_task(self, table: CompareTable, rollups: RollUps) -> Task[Shown]:
        wanted = Wanted(self.filters.statuses, self.filters.spec, self._by)
        texts = self._texts
        if texts is None and wanted.filters:
            texts = self._texts = yield from texts_task(table)
        return (yield from shown_task(table, rollups, wanted, texts or ()))

    def _show_shown(self, shown: Shown) -> None:
        table, rollups, now = self.table, self.rollups, self.model.shown
        assert table is not None
        assert rollups is not None
        if shown.n_matches == now.n_matches and list(shown.entries) == list(now.entries):
            self.model.verdicts_changed()
        else:
            self.view.show_shown(table, rollups, shown)
        self._stack.setCurrentWidget(self.view if len(shown.entries) > 1 else self._nothing)

    def _step(self, *, forward: bool) -> None:
        table = self.table
        if table is None:
            return
        rows = table.comparison.rows
        order = list(tree_order(self.model.shown))
        current = self.view.current_entry
        here = order.index(current) if current in order else 0
        for entry in order[here + 1 :] if forward else order[:here][::-1]:
            row = table.row[entry]
            if entry and row != GROUP and rows.counted[row] and Status(rows.status[row]) in DIFFERENCES:
                self.view.go_to(entry)
                return
        where = "below" if forward else "above"
        unread, more = table.comparison.totals()[Status.UNREAD], ""
        if unread and table.comparison.overview is None:
            more = " so far: not everything has been compared"
        elif unread:
            more = f", but {format_count(unread)} {'entries' if unread > 1 else 'entry'} cannot be compared"
        self.said.emit(f"No difference {where} the current row{more}")

    @Slot()
    def _enter(self) -> None:
        self.view.setFocus()
        if not self.view.currentIndex().isValid() and self.model.rowCount():
            self.view.setCurrentIndex(self.model.index(0, 0))
