"""The Optimizer page: its groups, and its entries by parameter name."""

from __future__ import annotations

from array import array
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QPushButton, QSplitter, QVBoxLayout, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import OptimizerFacts, Recognition
from viewer.errors import ViewerError
from viewer.gui.details.page import Page, WordsLabel
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.format import format_count
from viewer.gui.meaning.chips import ChipRow
from viewer.gui.meaning.entry_cells import EntryColumn
from viewer.gui.meaning.entry_details import EntryDetails
from viewer.gui.meaning.entry_order import CHOICES, counts_task, order_task
from viewer.gui.meaning.entry_rows import EntryRows, rows_task
from viewer.gui.meaning.entry_view import EntryView
from viewer.gui.meaning.groups import GroupView
from viewer.gui.meaning.norms import NormStore
from viewer.gui.meaning.optimizer_words import head_words, naming_words, note_words
from viewer.gui.meaning.table_view import inset
from viewer.gui.override import override
from viewer.gui.slices import SliceRunner
from viewer.gui.theme import Theme

if TYPE_CHECKING:
    from viewer.gui.meaning.tabs import Meaning

_SETTLES_MS: Final = 120
_TOP_SHARE: Final = 0.34
_DETAILS_SHARE: Final = 0.26
_DETAILS_HEIGHT: Final = 168


class OptimizerPage(QWidget):
    """One optimizer.

    Signals
    -------
    node_requested
        Carries the number of a node that the person wants to see.
    """

    node_requested = Signal(object)

    def __init__(self, meaning: Meaning, bridge: EngineBridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._meaning = meaning
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._checkpoint: Checkpoint | None = None
        self._optimizer: OptimizerFacts | None = None
        self._document = -1
        self._rows: EntryRows | None = None
        self._column: EntryColumn | None = None
        self._descending = False
        self._wanted: int | None = None  # the entry to select once the rows are laid out
        self.norms = NormStore(bridge, self)
        self._layout_runner = SliceRunner(self)
        self._order_runner = SliceRunner(self)
        self._count_runner = SliceRunner(self)
        self.splitter = QSplitter(Qt.Orientation.Vertical, self)
        self._fitted = False  # columns are as wide as values need, not the words that there are none yet
        self._moved = False  # the person gave the parts their heights
        self.top = Page(self.splitter)
        self.head = WordsLabel(theme, "text", self.top.body)
        self.naming = WordsLabel(theme, "muted", self.top.body)
        self.notes = WordsLabel(theme, "warning", self.top.body)
        self.groups = GroupView(theme, self.top.body)
        self.filter = QLineEdit(self)
        self.compute = QPushButton("Compute norms", self)
        self.copy = QPushButton("Copy as TSV", self)
        self.chips = ChipRow([(choice.text, choice.tip) for choice in CHOICES], self)
        self.count = QLabel(self)
        self.view = EntryView(theme, self)
        self.details = EntryDetails(bridge, self.norms, theme, self.splitter)
        self._settle = QTimer(self, singleShot=True, interval=_SETTLES_MS)
        self._lay_out()
        self._connect()

    @property
    def optimizer(self) -> OptimizerFacts | None:
        """What is shown."""
        return self._optimizer

    def set_device(self, name: str) -> None:
        """Compute on another device from now on."""
        self.norms.set_device(name)
        self.details.set_device(name)

    def show_node(self, document: int, checkpoint: Checkpoint, node: int) -> None:
        """Show the optimizer that a node is in, and select the entry that it belongs to."""
        places = self._meaning.places(checkpoint)
        optimizer = None if places is None else places.optimizer_around(node)
        if places is None or optimizer is None:
            return
        place = places.entry_around(node)
        self._show(document, checkpoint, places.recognition, optimizer, None if place is None else place.entry)

    def set_active(self, active: bool) -> None:
        """Being looked at or not; reading norms goes on, for it was asked for aloud."""
        if active:
            self.view.tell_sight_soon()

    def _show(
        self,
        document: int,
        checkpoint: Checkpoint,
        recognition: Recognition,
        optimizer: OptimizerFacts,
        entry: int | None,
    ) -> None:
        self._wanted = entry
        if optimizer is self._optimizer and checkpoint is self._checkpoint:
            if self._rows is not None and entry is not None:
                self._choose(entry)
            return
        self._document, self._checkpoint, self._optimizer = document, checkpoint, optimizer
        self.norms.turn_to(document, checkpoint)
        self._forget_rows()
        self.head.show_words(head_words(checkpoint, optimizer))
        self.naming.show_words(naming_words(optimizer))
        self.notes.show_words(note_words(optimizer))
        self.groups.show_groups(checkpoint, optimizer, self.norms.briefs)
        self.groups.setVisible(bool(optimizer.groups))
        self._divide()
        if numbers := self.groups.groups.tensors():
            self.norms.ask_in_sight(numbers, place="groups")
        self._layout_runner.start(rows_task(checkpoint, recognition, optimizer, self.norms.briefs), self._take_rows)
        if self._rows is None:
            self.count.setText(f"laying out {format_count(len(optimizer.entries))} entries …")

    def clear(self) -> None:
        """Show nothing, and stop what runs."""
        self._forget_rows()
        self._optimizer = self._checkpoint = None
        self.norms.release()
        self.groups.show_groups(None, None, {})

    def copy_all(self) -> None:
        """Put the rows that show on the clipboard as tab-separated lines."""
        self.view.copy_all()

    # Inside

    def _forget_rows(self) -> None:
        for runner in (self._layout_runner, self._order_runner, self._count_runner):
            runner.stop()
        self._rows = None
        self._column = None
        self._fitted = False
        self.view.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.view.entries.show(None, array("q"))
        self.details.show_row(self._document, None, None)
        self.filter.blockSignals(True)
        self.filter.clear()
        self.filter.blockSignals(False)
        self.chips.choose(0)
        self._show_compute()

    def _take_rows(self, rows: EntryRows) -> None:
        self._rows = rows
        self.view.entries.show(rows, array("q", range(len(rows))))
        self.view.fit()
        self._show_compute()
        self._tell_count()
        if self._wanted is not None:
            self._choose(self._wanted)
        self._count_runner.start(counts_task(rows), self._show_counts)

    def _show_counts(self, counts: list[int]) -> None:
        self.chips.show_counts(counts)

    def _choose(self, entry: int) -> None:
        """Select a row; a filter that hides it is cleared."""
        if self.view.choose_row(entry):
            return
        self.filter.clear()
        self.chips.choose(0)
        self._wanted = entry
        self._reorder()

    def _reorder(self) -> None:
        rows = self._rows
        if rows is not None:
            choice = CHOICES[self.chips.chosen]
            task = order_task(rows, choice, self.filter.text(), self._column, descending=self._descending)
            chosen = self.view.current_row if self._wanted is None else self._wanted
            self._wanted = None
            self._order_runner.start(task, partial(self._take_order, chosen))

    def _take_order(self, chosen: int | None, order: array[int]) -> None:
        self.view.entries.reorder(order)
        self._tell_count()
        if chosen is None or not self.view.choose_row(chosen):
            self.details.show_row(self._document, None, None)

    def _sort(self, column: EntryColumn | None, descending: bool) -> None:
        self._column, self._descending = column, descending
        self._reorder()

    def _tell_count(self) -> None:
        rows = self._rows
        if rows is None:
            self.count.setText("")
            return
        shown, whole = len(self.view.entries.order), len(rows)
        text = f"{format_count(whole)} rows" if shown == whole else f"{format_count(shown)} of {format_count(whole)}"
        self.count.setText("no row matches" if whole and not shown else text)

    def _show_row(self, row: int | None) -> None:
        was_hidden = self.details.isHidden()
        self.details.show_row(self._document, self._rows, row)
        if was_hidden != self.details.isHidden():
            self._divide()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._divide()

    def _divide(self) -> None:
        """Give the head and the selected entry what they need and no more than their share, the table the rest."""
        if self._moved or self.height() < 10:
            return
        height = self.height()
        top = min(self.top.body.sizeHint().height() + 4, int(height * _TOP_SHARE))
        wanted = self.details.body.sizeHint().height() + 4
        details = 0 if self.details.isHidden() else min(wanted, _DETAILS_HEIGHT, int(height * _DETAILS_SHARE))
        self.splitter.setSizes([top, height - top - details, details])

    def _take_heights(self, _position: int, _handle: int) -> None:
        self._moved = True

    def _ask_in_sight(self, shown: list[int]) -> None:
        rows = self._rows
        if rows is not None and not self.norms.is_running:
            self.norms.ask_in_sight([number for row in shown for number in rows.tensors(row)])

    def _compute(self) -> None:
        if self.norms.is_running:
            self.norms.stop()
            return
        rows = self._rows
        if rows is not None:
            order = self.view.entries.order
            self.norms.ask_all(map(rows.tensors, list(order)), len(order))
            self._show_compute()

    def _values_came(self) -> None:
        self.view.entries.values_came()
        self.groups.groups.values_came()
        rows = self._rows
        if self._fitted or rows is None:
            return
        shown = [number for row in self.view.rows_in_sight() for number in rows.tensors(row)]
        if shown and self.norms.briefs.keys() >= set(shown):
            self._fitted = True  # once: from then on widths are the person's
            self.view.fit()

    def _show_progress(self, done: int, total: int) -> None:
        self.compute.setText(f"Stop · {format_count(done)} of {format_count(total)}")

    def _computed(self, error: ViewerError | None) -> None:
        if error is not None:
            self.notes.show_words(f"✕ The norms could not be computed: {error.fault}")
        self._show_compute()

    def _show_compute(self) -> None:
        self.compute.setEnabled(self._rows is not None)
        self.compute.setText("Stop" if self.norms.is_running else "Compute norms")

    def _connect(self) -> None:
        self.view.row_changed.connect(self._show_row)
        self.splitter.splitterMoved.connect(self._take_heights)
        self.view.node_requested.connect(self.node_requested)
        self.view.in_sight.connect(self._ask_in_sight)
        self.view.entries.sort_asked.connect(self._sort)
        self.details.parameter_asked.connect(self.view.go_to_parameter)
        self.details.state_asked.connect(self.view.go_to_state)
        self._settle.timeout.connect(self._reorder)
        self.filter.textChanged.connect(self._settle.start)
        self.filter.returnPressed.connect(self.view.setFocus)
        self.chips.chosen_changed.connect(self._reorder)
        self.compute.clicked.connect(self._compute)
        self.copy.clicked.connect(self.copy_all)
        self.norms.found.connect(self._values_came)
        self.norms.moved.connect(self._show_progress)
        self.norms.ended.connect(self._computed)

    def _lay_out(self) -> None:
        self.filter.setPlaceholderText("Filter by name or id…")
        self.filter.setAccessibleName("Filter the entries")
        self.filter.setToolTip("All words must be in the name or the id, in any case")
        self.filter.setClearButtonEnabled(True)
        self.compute.setToolTip("Read the state of the rows that show, and compute its norms and steps")
        self.copy.setToolTip("Copy the rows that show, exact, as tab-separated lines (Ctrl+Shift+C)")
        self.count.setProperty("role", "muted")
        self.top.column.setContentsMargins(13, 2, 0, 6)
        self.top.column.setSpacing(3)
        for words in (self.head, self.naming, self.notes):
            self.top.column.addWidget(words)
        self.top.column.addWidget(self.groups)
        self.top.column.addStretch(1)
        bar = QHBoxLayout()
        bar.setContentsMargins(13, 6, 16, 0)
        bar.setSpacing(8)
        bar.addWidget(self.filter, 1)
        bar.addWidget(self.compute)
        bar.addWidget(self.copy)
        line = QHBoxLayout()
        line.setContentsMargins(13, 4, 16, 4)
        line.setSpacing(6)
        line.addWidget(self.chips)
        line.addStretch(1)
        line.addWidget(self.count)
        below = QWidget(self)
        entries = QVBoxLayout(below)
        entries.setContentsMargins(0, 0, 0, 0)
        entries.setSpacing(0)
        entries.addLayout(bar)
        entries.addLayout(line)
        entries.addWidget(inset(self.view, below), 1)
        self.splitter.setHandleWidth(1)
        self.splitter.setChildrenCollapsible(False)
        for part in (self.top, below, self.details):
            part.setMinimumHeight(48)
            self.splitter.addWidget(part)
        for nth in range(3):
            self.splitter.setStretchFactor(nth, int(nth == 1))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.splitter, 1)
