"""The current row in detail: everything in short, a pair of tensors, two texts, or two plain values."""

from __future__ import annotations

import math
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSplitter, QStackedWidget, QTextBrowser, QVBoxLayout, QWidget

from viewer.checkpoint.nodes import Kind
from viewer.compare.comparison import NOTHING, Comparison
from viewer.compare.pair_details import PairDetails, PairMaps
from viewer.compare.results import Tolerance
from viewer.engine.compare_requests import MapPair
from viewer.engine.protocol import ComparePair
from viewer.errors import Cancelled, ViewerError
from viewer.gui.compare.measures import SIDES, difference_facts, side_rows, sum_facts
from viewer.gui.compare.overview_page import OverviewPage, scrolled
from viewer.gui.compare.pair_tabs import PairTabs
from viewer.gui.compare.rollups import RollUps
from viewer.gui.compare.table import GROUP, WHOLE, CompareTable
from viewer.gui.compare.word_diff import diff_html
from viewer.gui.details.cell_table import CellTable
from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.theme import Theme

_SETTLES_MS: Final = 120
"""Walking through rows with the keyboard asks only for the one where it stops."""
_MAP_PIXELS: Final = 320
_BINS: Final = ((2_000, 64), (50_000, 128), (math.inf, 256))
"""Bins of a histogram of at most so many elements."""


class PairPanel(QWidget):
    """Shows the current entry; asks the engine for a pair of tensors when one is chosen.

    Signals
    -------
    row_wanted
        Carries the row of the comparison that the person wants to see.
    """

    row_wanted = Signal(object)

    def __init__(self, bridge: EngineBridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._table: CompareTable | None = None
        self._rollups: RollUps | None = None
        self._documents = (0, 0)
        self._tolerance: Tolerance | None = None
        self._entry = 0
        self._details: PairDetails | None = None
        self._message = QLabel(self)
        self._message.setTextFormat(Qt.TextFormat.PlainText)
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.setWordWrap(True)
        self._message.setProperty("role", "muted")
        self.overview = OverviewPage(theme, self)
        self.tabs = PairTabs(theme, self)
        self.text = QTextBrowser(self)
        self.text.setOpenLinks(False)
        self.text.setAccessibleName("Both texts as one, with what changed")
        self._inner = QStackedWidget(self)
        for widget in (self._message, self.tabs, self.text):
            self._inner.addWidget(widget)
        self.path = ElidedLabel(Qt.TextElideMode.ElideMiddle, self)
        self.path.setProperty("role", "muted")
        self.sides = CellTable(theme, "Both sides", self)
        self.measures = CellTable(theme, "How far they are apart", self)
        figures = QWidget(self)
        column = QVBoxLayout(figures)
        column.setContentsMargins(8, 8, 8, 8)
        column.addWidget(self.path)
        column.addWidget(self.sides)
        column.addWidget(self.measures)
        column.addStretch(1)
        splitter = QSplitter(Qt.Orientation.Horizontal, self)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self._inner)
        splitter.addWidget(scrolled(figures))
        splitter.setStretchFactor(0, 1)
        splitter.setSizes([820, 440])
        self._pair = splitter
        self._outer = QStackedWidget(self)
        self._outer.addWidget(splitter)
        self._outer.addWidget(self.overview)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self._outer)
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._settle = QTimer(self, singleShot=True, interval=_SETTLES_MS)
        self._settle.timeout.connect(self._ask)
        self.overview.row_wanted.connect(self.row_wanted)
        self.tabs.maps_wanted.connect(self._ask_maps)
        theme.changed.connect(self._show_text)
        self._say("Choose a row to see both sides")

    @property
    def message(self) -> str:
        """What stands in the place of the plots; "" while they are shown."""
        return self._message.text() if self._inner.currentWidget() is self._message else ""

    @property
    def shows_pair(self) -> bool:
        """Whether the plots of a pair are in front."""
        return self._outer.currentWidget() is self._pair and self._inner.currentWidget() is self.tabs

    def set_table(
        self, table: CompareTable, rollups: RollUps, documents: tuple[int, int], tolerance: Tolerance | None
    ) -> None:
        """Entries are of this table from now on."""
        self._table, self._rollups = table, rollups
        self._documents, self._tolerance = documents, tolerance
        self.overview.show_table(table, rollups)

    def show_entry(self, entry: int) -> None:
        """Show an entry; 0 for none."""
        self._settle.stop()
        self._bridge.release(self)
        self._entry = entry
        self._details = None
        table, rollups = self._table, self._rollups
        if table is None or rollups is None or entry >= len(table):
            return
        whole = entry == WHOLE and rollups.is_sum(entry)
        self._outer.setCurrentWidget(self.overview if whole else self._pair)
        if whole:
            return
        self.refresh()
        row = table.row[entry]
        if not entry:
            self._say("Choose a row to see both sides")
        elif row != GROUP and self._texts() is not None:
            self._show_text()
            self._inner.setCurrentWidget(self.text)
        elif (reason := _reason_without_values(table.comparison, row)) is not None:
            self._say(reason)
        else:
            if not self.shows_pair:
                self._say("Reading both tensors …")
            self._settle.start()

    def refresh(self) -> None:
        """The verdict of the entry may be another now."""
        table, rollups, entry = self._table, self._rollups, self._entry
        if table is None or rollups is None or not entry or entry >= len(table):
            return
        row, comparison = table.row[entry], table.comparison
        if self._outer.currentWidget() is self.overview:
            self.overview.refresh()
            return
        self.path.set_text(table.name_of(entry))
        if row == GROUP:
            self.sides.show_rows([])
            self.measures.show_facts(sum_facts(rollups, entry))
            return
        details = self._details
        measures = details.measures if details is not None else comparison.measures(row)
        self.sides.show_rows(side_rows(comparison, row, measures, details), SIDES)
        facts = sum_facts(rollups, entry) if rollups.is_sum(entry) else difference_facts(comparison, row, measures)
        self.measures.show_facts(facts)

    def release(self) -> None:
        """The tab is about to go."""
        self._settle.stop()
        self.overview.release()
        self._bridge.release(self)

    def _nodes(self) -> tuple[int, int]:
        assert self._table is not None
        row, rows = self._table.row[self._entry], self._table.comparison.rows
        return rows.node_a[row], rows.node_b[row]

    def _bins(self, node_a: int) -> int:
        """As many bins as the elements of a pair fill: more would be noise."""
        assert self._table is not None
        tensor = self._table.comparison.a.tensor_of_node(node_a)
        count = 0 if tensor is None else tensor.numel
        return next(bins for most, bins in _BINS if count <= most)

    def _ask(self) -> None:
        node_a, node_b = self._nodes()
        document_a, document_b = self._documents
        self._bridge.submit(
            ComparePair(document_a, node_a, document_b, node_b, self._bins(node_a), tolerance=self._tolerance),
            owner=self,
            on_result=self._take,
            on_failure=self._fail,
            title="comparing two tensors",
            supersede="pair",
        )

    def _take(self, details: PairDetails) -> None:
        assert self._table is not None
        self._details = details
        tensor = self._table.comparison.a.tensor_of_node(details.node_a)
        self.tabs.begin()
        self.tabs.show_details(details, (details.measures.count,) if tensor is None else tensor.shape)
        self.refresh()
        self._inner.setCurrentWidget(self.tabs)

    def _ask_maps(self, part: tuple[tuple[int, int], tuple[int, int], int, int] | None) -> None:
        if self._details is None:
            return
        rows, columns, height, width = part or (None, None, _MAP_PIXELS, _MAP_PIXELS)
        document_a, document_b = self._documents
        nodes = self._details.node_a, self._details.node_b
        self._bridge.submit(
            MapPair(document_a, document_b, *nodes, height, width, rows, columns),
            owner=self,
            on_result=self._take_maps,
            on_failure=self._fail_maps,
            title="drawing two tensors",
            supersede="maps",
        )

    def _take_maps(self, maps: PairMaps) -> None:
        self.tabs.show_maps(maps)

    def _fail_maps(self, error: ViewerError) -> None:
        self.tabs.maps.say("Cancelled" if isinstance(error, Cancelled) else str(error))

    def _fail(self, error: ViewerError) -> None:
        self._say("Cancelled" if isinstance(error, Cancelled) else str(error))

    def _say(self, text: str) -> None:
        self._message.setText(text)
        self._inner.setCurrentWidget(self._message)

    def _texts(self) -> tuple[str, str] | None:
        """Both texts of the current row; None where it is not two texts that differ."""
        table = self._table
        if table is None or self._entry >= len(table) or table.row[self._entry] == GROUP:
            return None
        values = []
        for side, node in zip((table.comparison.a, table.comparison.b), self._nodes(), strict=True):
            value = None if node == NOTHING else side.nodes.value[node]
            if not isinstance(value, str) or side.nodes.kind[node] not in (Kind.SCALAR, Kind.TEXT):
                return None
            values.append(value)
        return (values[0], values[1]) if values[0] != values[1] else None

    def _show_text(self) -> None:
        if (texts := self._texts()) is not None:
            self.text.setFont(self._theme.mono())
            self.text.setHtml(diff_html(*texts, self._theme))


def _reason_without_values(comparison: Comparison, row: int) -> str | None:
    """Why there are no two tensors to draw; None where there are."""
    if row == GROUP:
        return "Inside are the rows that are compared"
    rows = comparison.rows
    sides = ((comparison.a, rows.node_a[row]), (comparison.b, rows.node_b[row]))
    if NOTHING in (rows.node_a[row], rows.node_b[row]):
        return "Only one of the files has this"
    if any(side.nodes.kind[node] != Kind.TENSOR for side, node in sides):
        return "Inside are the rows that are compared" if rows.n_children[row] else "Two plain values: see the right"
    tensors = [side.tensor_of_node(node) for side, node in sides]
    if tensors[0] is None or tensors[1] is None or tensors[0].shape != tensors[1].shape:
        return "Tensors of two shapes have no elements to put beside each other"
    return None
