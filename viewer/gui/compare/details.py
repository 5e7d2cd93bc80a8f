"""One row of a comparison in detail: histograms, the largest differences, the measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from viewer.checkpoint.nodes import Kind
from viewer.compare.comparison import NOTHING, Comparison
from viewer.compare.pair_details import PairDetails
from viewer.engine.protocol import ComparePair
from viewer.errors import Cancelled, ViewerError
from viewer.gui.compare.measures import LARGEST, SIDES, difference_facts, largest_rows, side_rows
from viewer.gui.details.cell_table import CellTable
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.theme import Theme

if TYPE_CHECKING:
    from viewer.gui.compare.pair_plots import PairPlots

_SETTLES_MS: Final = 120
"""Walking through rows with the keyboard asks only for the one where it stops."""


class PairPanel(QWidget):
    """Shows the current row; asks the engine for a pair of tensors when one is chosen."""

    def __init__(self, bridge: EngineBridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._comparison: Comparison | None = None
        self._documents = (0, 0)
        self._row = 0
        self._job: int | None = None
        self._details: PairDetails | None = None
        self._plots: PairPlots | None = None
        self._message = QLabel(self)
        self._message.setTextFormat(Qt.TextFormat.PlainText)
        self._message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._message.setWordWrap(True)
        self._message.setProperty("role", "muted")
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self._message)
        self._tabs = QTabWidget(self)
        self._tabs.setProperty("role", "details")
        self._tabs.tabBar().setProperty("role", "details")
        self._tabs.setDocumentMode(True)
        self._tabs.tabBar().setDrawBase(False)
        self._plot_place = QWidget(self._tabs)
        QVBoxLayout(self._plot_place).setContentsMargins(0, 0, 0, 0)
        self.largest = CellTable(theme, "Elements that differ most", self)
        self._tabs.addTab(self._plot_place, "Distributions")
        self._tabs.addTab(_scrolled(self.largest), "Largest differences")
        self._stack.addWidget(self._tabs)
        self.sides = CellTable(theme, "Both sides", self)
        self.measures = CellTable(theme, "How far they are apart", self)
        figures = QWidget(self)
        column = QVBoxLayout(figures)
        column.setContentsMargins(8, 8, 8, 8)
        column.addWidget(self.sides)
        column.addWidget(self.measures)
        column.addStretch(1)
        splitter = QSplitter(Qt.Orientation.Horizontal, self)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self._stack)
        splitter.addWidget(_scrolled(figures))
        splitter.setStretchFactor(0, 1)
        splitter.setSizes([820, 460])
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(splitter)
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._settle = QTimer(self, singleShot=True, interval=_SETTLES_MS)
        self._settle.timeout.connect(self._ask)
        self._say("Choose a row to see both sides")

    @property
    def message(self) -> str:
        """What stands in the place of the plots; "" while they are shown."""
        return self._message.text() if self._stack.currentWidget() is self._message else ""

    @property
    def plots(self) -> PairPlots | None:
        """The plots; None before the first pair was drawn."""
        return self._plots

    def set_comparison(self, comparison: Comparison | None, document_a: int, document_b: int) -> None:
        """Rows are of this comparison from now on."""
        self._comparison = comparison
        self._documents = (document_a, document_b)
        self.show_row(0)

    def show_row(self, row: int) -> None:
        """Show a row; 0 for none."""
        self._settle.stop()
        if self._job is not None:
            self._bridge.cancel(self._job)
            self._job = None
        self._row = row
        self._details = None
        self.refresh()
        if self._comparison is None or not row:
            self._say("Choose a row to see both sides")
        elif (reason := _reason_without_values(self._comparison, row)) is not None:
            self._say(reason)
        else:
            self._settle.start()

    def refresh(self) -> None:
        """The verdict of the row may be another now."""
        comparison, row = self._comparison, self._row
        if comparison is None or not row:
            self.sides.show_rows([])
            self.measures.show_facts([])
            return
        measures = self._details.measures if self._details is not None else comparison.measures(row)
        self.sides.show_rows(side_rows(comparison, row, measures), SIDES)
        self.measures.show_facts(difference_facts(comparison, row, measures))

    def release(self) -> None:
        """The tab is about to go."""
        self._settle.stop()
        self._bridge.release(self)

    def _ask(self) -> None:
        comparison, row = self._comparison, self._row
        if comparison is None or not row:
            return
        self._say("Reading both tensors … (after the comparison, while that runs)")
        rows = comparison.rows
        document_a, document_b = self._documents
        self._job = self._bridge.submit(
            ComparePair(document_a, rows.node_a[row], document_b, rows.node_b[row]),
            owner=self,
            on_result=self._take,
            on_failure=self._fail,
            title="comparing two tensors",
            supersede="pair",
        )

    def _take(self, details: PairDetails) -> None:
        self._job = None
        self._details = details
        if self._plots is None:
            # Here and not above: it brings pyqtgraph and numpy.
            from viewer.gui.compare.pair_plots import PairPlots

            self._plots = PairPlots(self._theme, self._plot_place)
            layout = self._plot_place.layout()
            assert layout is not None
            layout.addWidget(self._plots)
        self._plots.show_details(details)
        self.largest.show_rows(largest_rows(details.largest), LARGEST)
        self.refresh()
        self._stack.setCurrentWidget(self._tabs)

    def _fail(self, error: ViewerError) -> None:
        self._job = None
        self._say("Cancelled" if isinstance(error, Cancelled) else str(error))

    def _say(self, text: str) -> None:
        self._message.setText(text)
        self._stack.setCurrentWidget(self._message)


def _reason_without_values(comparison: Comparison, row: int) -> str | None:
    """Why there are no two tensors to draw; None where there are."""
    rows = comparison.rows
    sides = ((comparison.a, rows.node_a[row]), (comparison.b, rows.node_b[row]))
    if NOTHING in (rows.node_a[row], rows.node_b[row]):
        return "Only one of the files has this"
    if any(side.nodes.kind[node] != Kind.TENSOR for side, node in sides):
        return "Inside are the rows that are compared" if rows.n_children[row] else "Not two tensors: see the right"
    tensors = [side.tensor_of_node(node) for side, node in sides]
    if tensors[0] is None or tensors[1] is None or tensors[0].shape != tensors[1].shape:
        return "Tensors of two shapes have no elements to put beside each other"
    return None


def _scrolled(widget: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    widget.setProperty("role", "panel")
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    area.setWidget(widget)
    return area
