"""The Distribution page: histogram and figures of one tensor, from the engine's summary of it."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from viewer.checkpoint.tensors import TensorRef
from viewer.errors import Cancelled, ViewerError
from viewer.gui.details.distribution_bar import DistributionBar
from viewer.gui.details.distribution_options import TYPED
from viewer.gui.details.facts import tensor_problem
from viewer.gui.details.figure_grid import FigureGrid
from viewer.gui.details.figures import Figure, figures, pending_figures, unknown_figures
from viewer.gui.details.histogram_pane import HistogramPane
from viewer.gui.details.inner_range import inner_range
from viewer.gui.details.picture_export import Exportable, ExportMenu
from viewer.gui.details.range_row import RangeRow
from viewer.gui.details.refine import Question
from viewer.gui.details.scan_line import ScanLine
from viewer.gui.details.summaries import SummaryKey, SummaryStore
from viewer.gui.details.wording import empty_sentence, left_out, unread_words
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.task import Progress
from viewer.tensors.histogram_results import BinRule
from viewer.tensors.results import Histogram, Statistics, TensorSummary

_SCAN: Final = "distribution"
_REFINE: Final = "refinement"
_FIGURES_SHARE: Final = 0.45
"""The most of the page's height that the figures take before they scroll."""
_MOST_NARROWINGS: Final = 4
"""Times that finer bins may narrow a chosen range: the outermost bins of few outliers hold nearly all values."""
_WHOLE_KINDS: Final = frozenset({"int", "bool", "bits"})
_MARGINS: Final = (16, 6, 16, 10)


class DistributionPage(QWidget):
    """Asks for a summary when it is looked at, and shows what it gets.

    Signals
    -------
    computed
        Carries the device that computed what is shown, or "" while nothing is.
    """

    computed = Signal(str)

    def __init__(self, store: SummaryStore, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._device = "cpu"
        self._document = -1
        self._tensor: TensorRef | None = None
        self._name = ""
        self._active = False
        self._asked: SummaryKey | None = None
        self._generation = 0
        self._summary: TensorSummary | None = None
        self._narrowings = 0

        self.export = ExportMenu(self._exportable, True, self)
        self.bar = DistributionBar(theme, self.export, self)
        self.range_row = RangeRow(theme, self)
        self.scan_line = ScanLine(theme, self)
        info, show_all = self.bar.for_below
        self.scan_line.add_widget(info, 1)
        self.scan_line.add_widget(show_all)
        self.pane = HistogramPane(theme, self)
        upper = QVBoxLayout()
        upper.setContentsMargins(16, 4, 16, 4)
        upper.setSpacing(6)
        upper.addWidget(self.bar)
        upper.addWidget(self.range_row)
        upper.addWidget(self.scan_line)
        upper.addWidget(self.pane, 1)

        self._figures = QScrollArea(self)
        self._figures.setWidgetResizable(True)
        self._figures.setFrameShape(QFrame.Shape.NoFrame)
        self._figures.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._figures.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        holder = QWidget(self._figures)
        holder.setProperty("role", "panel")
        holder_layout = QVBoxLayout(holder)
        holder_layout.setContentsMargins(*_MARGINS)
        self.grid = FigureGrid(theme, holder)
        holder_layout.addWidget(self.grid)
        holder_layout.addStretch(1)
        self._figures.setWidget(holder)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(upper, 1)
        layout.addWidget(self._figures)

        self.bar.log_counts_chosen.connect(self.pane.set_log_counts)
        self.bar.bins_chosen.connect(self._load)
        self.bar.part_chosen.connect(self._choose_part)
        self.bar.all_wanted.connect(self._show_all)
        self.bar.options.axis_changed.connect(self._load)
        self.bar.options.cumulative_changed.connect(self.pane.set_cumulative)
        self.bar.options.range_changed.connect(self._choose_range)
        self.range_row.entered.connect(self._go_to_range)
        self.export.said.connect(self.scan_line.show_note)
        self.pane.addActions(self.export.actions_for_menu)
        self.scan_line.cancel_wanted.connect(self._cancel)
        self.pane.retry_wanted.connect(self._load)
        self.pane.info_changed.connect(self.bar.show_info)
        self.pane.finer_wanted.connect(self._ask_for_finer)
        theme.changed.connect(self._fit_figures)

    # From outside

    def set_device(self, name: str) -> None:
        """Compute on another device from now on."""
        if name != self._device:
            self._device = name
            self._load()

    def set_active(self, active: bool) -> None:
        """Being looked at or not: nothing is asked of the engine before."""
        self._active = active
        if active:
            self._load()

    def show_tensor(self, document: int, tensor: TensorRef | None, name: str) -> None:
        """Turn to another tensor; None for none, which stops what runs."""
        self._document = document
        self._tensor = tensor
        self._name = name
        self._forget()
        if tensor is not None:
            self._load()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_figures()

    # Asking

    def _load(self) -> None:
        tensor = self._tensor
        if tensor is None or not self._active:
            return
        numel, whole = tensor.numel, tensor.dtype.kind in _WHOLE_KINDS
        rule = self.bar.rule(numel, whole=whole)
        key = SummaryKey(self._document, tensor.number, self._device, self.bar.n_bins(numel), rule=rule)
        if key == self._asked:
            return
        self._forget()
        if (problem := tensor_problem(tensor)) is not None:
            self._give_up(f"✕ {problem}")
            return
        if tensor.numel == 0:
            self.pane.say(empty_sentence(tensor.shape))
            self._show_figures(figures(Statistics(count=0, finite=0), tensor.shape))
            return
        self._asked = key
        if (kept := self._store.kept(key)) is not None:
            self._show(kept)
            return
        self.scan_line.begin()
        self._store.ask(
            key,
            _SCAN,
            f"computing {self._name}",
            on_result=partial(self._arrived, self._generation),
            on_failure=partial(self._failed, self._generation),
            on_progress=partial(self._progressed, self._generation),
        )

    def _forget(self) -> None:
        """Show nothing of the tensor before, and let nothing of it come late."""
        self._generation += 1
        self._cancel()
        self._asked = self._summary = None
        self.scan_line.end()
        self.scan_line.show_note("")
        self.pane.clear()
        self._show_figures(pending_figures())
        self.computed.emit("")

    def _cancel(self) -> None:
        self._store.cancel(_SCAN)
        self._store.cancel(_REFINE)

    def _ask_for_finer(self, question: Question | None) -> None:
        if question is None:
            self._store.cancel(_REFINE)
            return
        if self._tensor is None or self._asked is None:
            return
        threshold, bins, value_range = self.pane.threshold, question.bins, question.value_range
        key = SummaryKey(self._document, self._tensor.number, self._device, bins, value_range)
        if threshold is not None:
            rule = BinRule(bins, "signed log", threshold, integer_bins=False, value_range=value_range)
            key = SummaryKey(self._document, self._tensor.number, self._device, bins, value_range, rule)
        if (kept := self._store.kept(key)) is not None:
            self._finer_arrived(self._generation, kept)
            return
        self.scan_line.begin()
        self._store.ask(
            key,
            _REFINE,
            "",
            on_result=partial(self._finer_arrived, self._generation),
            on_failure=partial(self._finer_failed, self._generation),
            on_progress=partial(self._progressed, self._generation),
        )

    # Answers

    def _arrived(self, generation: int, summary: TensorSummary) -> None:
        if generation == self._generation:
            self.scan_line.end()
            self._show(summary)

    def _progressed(self, generation: int, progress: Progress) -> None:
        if generation != self._generation:
            return
        self.scan_line.show_progress(progress)
        if isinstance(progress.partial, TensorSummary) and (self._summary is None or not self._summary.complete):
            if self._asked is None or self._asked.rule is None:
                self._show(progress.partial)
            elif self._tensor is not None:  # its histogram is not the one that is wanted
                self._show_figures(figures(progress.partial.statistics, self._tensor.shape))

    def _failed(self, generation: int, error: ViewerError) -> None:
        if generation != self._generation:
            return
        self.scan_line.end()
        self._asked = None
        if isinstance(error, Cancelled):
            self._give_up("Stopped before all elements were read.", "Compute")
        else:
            self._give_up(*unread_words(self._tensor, error))

    def _give_up(self, text: str, action: str = "") -> None:
        self.pane.say(text, action)
        self.scan_line.show_note("")
        self._show_figures(unknown_figures())

    def _finer_arrived(self, generation: int, summary: TensorSummary) -> None:
        if generation == self._generation:
            self.scan_line.end()
            statistics, histogram = self._chosen(summary)
            self.pane.show_finer(histogram, statistics)
            self._narrow(statistics)

    def _finer_failed(self, generation: int, error: ViewerError) -> None:
        if generation != self._generation:
            return
        self.scan_line.end()
        if not isinstance(error, Cancelled):
            self.scan_line.show_note(f"⚠ Finer bins could not be computed: {error}")

    # Showing

    def _show(self, summary: TensorSummary) -> None:
        self._summary = summary
        self.bar.offer_parts([summary.of, *(part.name for part in summary.parts)])
        self.computed.emit(summary.device)
        self._show_part(summary)

    def _show_part(self, summary: TensorSummary) -> None:
        assert self._tensor is not None
        statistics, histogram = self._chosen(summary)
        self._show_figures(figures(statistics, self._tensor.shape))
        self.scan_line.show_note(left_out(statistics, histogram, complete=summary.complete))
        ruled = () if self._asked is None or not summary.complete else self._store.ruled(self._asked)
        chosen = ruled[min(self.bar.part, len(ruled) - 1)] if ruled else None
        self.bar.show_rule("" if chosen is None else chosen.rule)
        self.pane.show_histogram(
            histogram,
            statistics,
            integral=self._is_integral(summary),
            wanted=self.bar.n_bins(self._tensor.numel),
            threshold=None if chosen is None else chosen.threshold,
            aligned=chosen is not None,
        )
        if summary.complete:
            self._narrowings = 0
            self._narrow(statistics)

    def _choose_part(self) -> None:
        if self._summary is not None:
            self._store.cancel(_REFINE)
            self.pane.clear()
            self._show_part(self._summary)

    # The range to look at

    def _choose_range(self) -> None:
        is_typed = self.bar.options.range_choice == TYPED
        self.range_row.setVisible(is_typed)
        if is_typed:
            self.range_row.begin()
        elif self.bar.options.range_choice is None:
            self.pane.show_all()
        if self._summary is not None:
            self._narrowings = 0
            self._narrow(self._chosen(self._summary)[0])

    def _go_to_range(self) -> None:
        if (numbers := self.range_row.numbers) is not None:
            self.pane.set_range(*numbers)

    def _narrow(self, statistics: Statistics) -> None:
        """Bring the range that was chosen into view; finer bins may tell it better, and then it is done once more."""
        choice, bins = self.bar.options.range_choice, self.pane.bins
        if bins is None or bins.constant is not None or self._narrowings >= _MOST_NARROWINGS:
            return
        if choice == TYPED:
            self._narrowings = _MOST_NARROWINGS
            self._go_to_range()
        elif isinstance(choice, float) and (found := inner_range(statistics, bins, choice)) is not None:
            self._narrowings += 1
            self.pane.set_range(*found)

    def _show_all(self) -> None:
        self.bar.options.forget_range()
        self.range_row.hide()
        self.pane.show_all()

    def _exportable(self) -> Exportable | None:
        plot = self.pane.plot
        if plot is None or not self.pane.shows_plot:
            return None
        return Exportable(plot, f"{self._name} histogram", self.pane.numbers, plot.canvas.draw_to)

    def _chosen(self, summary: TensorSummary) -> tuple[Statistics, Histogram]:
        if 0 < self.bar.part <= len(summary.parts):
            part = summary.parts[self.bar.part - 1]
            return part.statistics, part.histogram
        return summary.statistics, summary.histogram

    def _is_integral(self, summary: TensorSummary) -> bool:
        """True where the chosen values are whole numbers, of which the extremes are ints."""
        return isinstance(self._chosen(summary)[0].min, int)

    def _show_figures(self, rows: list[Figure]) -> None:
        self.grid.show_figures(rows)
        self._fit_figures()

    def _fit_figures(self) -> None:
        """Give the figures no more height than they need: the plot takes the rest."""
        left, top, right, bottom = _MARGINS
        wanted = self.grid.heightForWidth(self.width() - left - right) + top + bottom
        most = max(80, round(self.height() * _FIGURES_SHARE))
        self._figures.setFixedHeight(min(wanted, most))
        # Said outright: a bar that comes by itself narrows the grid, which then needs more rows and keeps the bar.
        bars = Qt.ScrollBarPolicy.ScrollBarAlwaysOff if wanted <= most else Qt.ScrollBarPolicy.ScrollBarAlwaysOn
        self._figures.setVerticalScrollBarPolicy(bars)
