"""Several tensors together: their histograms over one another, and their statistics side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.engine.values_requests import SummariseMany
from viewer.errors import Cancelled, ViewerError
from viewer.gui.details.legend import LegendTable
from viewer.gui.details.notice import Notice
from viewer.gui.details.overlay_plot import Curve, OverlayPlot
from viewer.gui.details.overlay_rows import HEADS, short_names, statistics_row
from viewer.gui.details.page import WordsLabel
from viewer.gui.details.tips import cut_middle
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.format import format_count
from viewer.gui.theme import Theme
from viewer.report.wording import printable
from viewer.tensors.histogram_results import BinRule, SharedHistograms
from viewer.tensors.results import TensorSummary

MAX_SERIES: Final = 12
"""As many as the engine takes: more curves cannot be told apart."""
_DEBOUNCE_MS: Final = 200
"""Between the last change of the selection and the question: Shift and arrow keys are faster."""
_LONGEST_NAME: Final = 32
"""Characters of a name in the tip."""
_BINS: Final = 128
_CHOICES: Final = (
    ("full range", BinRule(_BINS)),
    ("middle 98 % of the largest tensor", BinRule(_BINS, percentiles=(0.01, 0.99))),
    ("signed logarithm", BinRule(_BINS, axis="signed log")),
)
"""Ranges and axes to choose from."""


class OverlayPage(QWidget):
    """The page of a selection of several rows.

    Signals
    -------
    node_requested
        Carries the number of a node that the person wants to see alone.
    """

    node_requested = Signal(object)

    def __init__(self, bridge: EngineBridge, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._document = -1
        self._device = "cpu"
        self._checkpoint: Checkpoint | None = None
        self._nodes: list[int] = []
        self._asked: tuple[int, tuple[int, ...], str, BinRule] | None = None
        self._job: int | None = None
        self._selection_words = ""
        self._divided = False  # the person has moved the line between plot and table

        self.words = WordsLabel(theme, "muted", self)
        self.words.setContentsMargins(16, 4, 16, 0)
        self.range_box = QComboBox(self)
        self.range_box.setAccessibleName("Range of the axis of values")
        for text, choice in _CHOICES:
            self.range_box.addItem(text, choice)
        self.log_box = QCheckBox("log shares", self)
        self.plot = OverlayPlot(theme, self)
        self.notice = Notice(self)
        self.legend = LegendTable(theme, "Statistics of the selected tensors", self)
        self._later = QTimer(self, singleShot=True, interval=_DEBOUNCE_MS)
        self._later.timeout.connect(self._ask)

        top = QHBoxLayout()
        top.setContentsMargins(16, 2, 16, 0)
        top.setSpacing(12)
        top.addWidget(self.range_box)
        top.addWidget(self.log_box)
        top.addStretch(1)
        lower = QWidget(self)
        table = QVBoxLayout(lower)
        table.setContentsMargins(13, 4, 16, 8)
        table.addWidget(self.legend)
        table.addStretch(0)
        upper = QWidget(self)
        drawn = QVBoxLayout(upper)
        drawn.setContentsMargins(8, 0, 8, 0)
        drawn.addWidget(self.plot, 1)
        drawn.addWidget(self.notice, 1)
        self._splitter = QSplitter(Qt.Orientation.Vertical, self)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(upper)
        self._splitter.addWidget(lower)
        self._splitter.setStretchFactor(0, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.words)
        column.addLayout(top)
        column.addWidget(self._splitter, 1)

        self.range_box.currentIndexChanged.connect(self._ask)
        self._splitter.splitterMoved.connect(self._keep_division)
        self.log_box.toggled.connect(self.plot.set_log)
        self.legend.row_stressed.connect(self.plot.stress)
        self.legend.node_requested.connect(self.node_requested)
        self.notice.acted.connect(self._ask)

    def set_device(self, name: str) -> None:
        """Compute on another device from now on."""
        self._device = name

    def show_tensors(self, document: int, checkpoint: Checkpoint, nodes: Sequence[int], n_selected: int) -> None:
        """Lay the tensors of these nodes over one another, the first MAX_SERIES of them.

        Parameters
        ----------
        n_selected
            How many rows are selected, tensors or not.
        """
        self._document, self._checkpoint = document, checkpoint
        self._nodes = list(nodes[:MAX_SERIES])
        parts = []
        if len(nodes) < n_selected:
            parts.append(f"{format_count(len(nodes))} of {format_count(n_selected)} selected rows are tensors")
        if len(nodes) > MAX_SERIES:
            parts.append(f"more than {MAX_SERIES} cannot be told apart: the first {MAX_SERIES} are shown")
        self._selection_words = "; ".join(parts)
        self._show_words("")
        self._later.start()

    def clear(self) -> None:
        """Stop what runs."""
        self._later.stop()
        if self._job is not None:
            self._bridge.cancel(self._job)
            self._job = None
            self._asked = None

    @Slot()
    def _ask(self) -> None:
        checkpoint = self._checkpoint
        if checkpoint is None or not self._nodes:
            return
        numbers = tuple(dict.fromkeys(self._number(node) for node in self._nodes))
        rule = self.range_box.currentData()
        asked = (self._document, numbers, self._device, rule)
        if asked == self._asked:
            return
        self._asked = asked
        if not self.plot.curves:
            self._say("computing …")
        self._job = self._bridge.submit(
            SummariseMany(self._document, numbers, rule, self._device),
            owner=self,
            on_result=self._take,
            on_failure=self._fail,
            title=f"laying {len(numbers)} tensors over one another",
            supersede="overlay",
        )

    def _number(self, node: int) -> int:
        assert self._checkpoint is not None
        number = self._checkpoint.nodes.value[node]
        assert isinstance(number, int)
        return number

    def _take(self, found: object) -> None:
        assert isinstance(found, SharedHistograms)
        assert self._checkpoint is not None
        self._job = None
        by_number = {summary.number: summary for summary in found.summaries}
        nodes = [
            node for node in self._nodes if self._number(node) in by_number or self._number(node) in found.problems
        ]
        paths = [self._checkpoint.path_of(node) or printable(self._checkpoint.path.name) for node in nodes]
        names = short_names(paths)
        rows, curves = [], []
        n_outside = sum(summary.histogram.underflow + summary.histogram.overflow for summary in found.summaries)
        outside = f"{format_count(n_outside)} elements lie outside the range that is drawn" if n_outside else ""
        self._show_words(outside)
        for node, path, name in zip(nodes, paths, names, strict=True):
            summary = by_number.get(self._number(node))
            rows.append(statistics_row(name, path, summary, found.problems.get(self._number(node), "")))
            curves.append(Curve(cut_middle(name, _LONGEST_NAME), _shares(summary, len(found.edges) - 1)))
        self.legend.show_series(rows, nodes, HEADS)
        self._divide()
        if found.edges:
            self.plot.show_curves(found.edges, curves, found.threshold)
            self.plot.show()
            self.notice.hide()
        else:
            self._say("None of these tensors has a finite value to draw.")

    def _fail(self, error: ViewerError) -> None:
        self._job = None
        self._asked = None
        self._say("Stopped." if isinstance(error, Cancelled) else str(error), "Try again")

    def _divide(self) -> None:
        """Give the table what it needs, up to not quite half; what the person chose stays."""
        if not self._divided:
            total = sum(self._splitter.sizes())
            lower = min(self.legend.sizeHint().height() + 14, total * 9 // 20)
            self._splitter.setSizes([total - lower, lower])

    @Slot()
    def _keep_division(self) -> None:
        self._divided = True

    def _show_words(self, outside: str) -> None:
        words = "; ".join(part for part in (self._selection_words, outside) if part)
        self.words.show_words(words[:1].upper() + words[1:])

    def _say(self, words: str, action: str = "") -> None:
        self.plot.show_curves((), ())
        self.plot.hide()
        self.notice.show_notice(words, action)
        self.notice.show()


def _shares(summary: TensorSummary | None, n_bins: int) -> list[float]:
    """Percent of the finite elements in each bin."""
    if summary is None or not summary.histogram.counts or not summary.statistics.finite:
        return [0.0] * n_bins
    return [100 * count / summary.statistics.finite for count in summary.histogram.counts]
