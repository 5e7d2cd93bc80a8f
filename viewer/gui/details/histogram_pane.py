"""Where the histogram is: the plot with the bins that suit what is visible, or a sentence in its place."""

from __future__ import annotations

from array import array
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from viewer.gui.details.bins import Bins, constant_bins
from viewer.gui.details.histogram_plot import HistogramPlot
from viewer.gui.details.notice import Notice
from viewer.gui.details.refine import Question, aligned_question, refined_log_question, refined_question
from viewer.gui.details.wording import info_words, nothing_finite
from viewer.gui.theme import Theme
from viewer.report.values_text import histogram_csv
from viewer.tensors.results import Histogram, Statistics

_REFINE_AFTER_MS: Final = 200
"""Zooming has come to rest: now finer bins are worth a scan."""


class HistogramPane(QWidget):
    """Draws a histogram over its full range, and finer ones for what is visible as they come.

    Signals
    -------
    finer_wanted
        Carries the Question whose answer `show_finer` should get; None when none is wanted any more.
    info_changed
        Carries what is drawn, in words, and True where it is a part of the range.
    retry_wanted
        The button of a notice was pressed.
    """

    finer_wanted = Signal(object)
    info_changed = Signal(str, bool)
    retry_wanted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._bins: Bins | None = None
        self._fine: Bins | None = None
        self._full = (0.0, 1.0)
        self._wanted = 256
        self._integral = False
        self._log_counts = False
        self._cumulative = False
        self._threshold: float | None = None
        self._statistics: Statistics | None = None
        self.notice = Notice(self)
        self._plot: HistogramPlot | None = None
        self._area = QStackedWidget(self)
        self._area.addWidget(self.notice)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._area)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_REFINE_AFTER_MS)
        self._rest.timeout.connect(self._ask_for_finer)
        self.notice.acted.connect(self.retry_wanted)

    @property
    def plot(self) -> HistogramPlot | None:
        """The plot, once one was shown."""
        return self._plot

    @property
    def shows_plot(self) -> bool:
        return self._plot is not None and self._area.currentWidget() is self._plot

    def clear(self) -> None:
        """Show nothing: another tensor begins."""
        self._rest.stop()
        self._bins = self._fine = None
        if self._plot is not None:
            self._plot.clear()
            self._area.setCurrentWidget(self._plot)
        else:
            self.notice.show_notice("")
        self.info_changed.emit("", False)

    def say(self, text: str, action: str = "") -> None:
        """Show a sentence, and a button where something can be done."""
        self.notice.show_notice(text, action)
        self._area.setCurrentWidget(self.notice)
        self.info_changed.emit("", False)

    def show_histogram(
        self,
        histogram: Histogram,
        statistics: Statistics,
        *,
        integral: bool,
        wanted: int,
        threshold: float | None = None,
        aligned: bool = False,
    ) -> None:
        """Draw a histogram over the full range.

        Parameters
        ----------
        histogram
            Without bins while the engine still counts: then what is shown stays.
        integral
            True where the values are whole numbers.
        wanted
            Bins to see at a time.
        threshold
            Of a signed logarithm, on which the axis is then drawn.
        aligned
            True where the engine has seen to it that the edges suit whole numbers.
        """
        self._integral, self._wanted, self._threshold = integral, wanted, threshold
        self._statistics = statistics
        if statistics.finite == 0:
            self.say(nothing_finite(statistics))
            return
        if statistics.min is not None and statistics.min == statistics.max:
            self._bins, self._full = constant_bins(
                statistics.min, statistics.finite, statistics.count, integral=integral
            )
        elif histogram.counts:
            self._bins = self._bins_of(histogram, statistics)
            self._full = (self._bins.low, self._bins.high)
        else:
            return
        self._fine = None
        plot = self._ready_plot()
        plot.set_log_counts(self._log_counts)
        plot.set_cumulative(self._cumulative)
        self._area.setCurrentWidget(plot)
        self._draw()
        may_align = integral and threshold is None and not aligned
        question = aligned_question(self._bins, statistics, wanted) if may_align else None
        if question is not None:
            self.finer_wanted.emit(question)

    def show_finer(self, histogram: Histogram, statistics: Statistics) -> None:
        """Draw other bins where they suit what is visible: the answer to `finer_wanted`."""
        if self._bins is None or not histogram.counts:
            return
        fine = self._bins_of(histogram, statistics)
        if fine.covers(self._bins.low, self._bins.high):
            self._bins = fine
            self._full = (fine.low, fine.high)
        else:
            self._fine = fine
        self._draw()

    def set_log_counts(self, on: bool) -> None:
        self._log_counts = on
        if self._plot is not None:
            self._plot.set_log_counts(on)

    def set_cumulative(self, on: bool) -> None:
        self._cumulative = on
        if self._plot is not None:
            self._plot.set_cumulative(on)

    @property
    def bins(self) -> Bins | None:
        """The bins that are drawn."""
        return None if self._plot is None or not self.shows_plot else self._plot.bins

    @property
    def threshold(self) -> float | None:
        """Of the signed logarithm that the axis is; None for a linear axis."""
        return self._threshold

    def set_range(self, low: float, high: float) -> None:
        """Show a range of values, as far as there are some."""
        if self._plot is not None:
            self._plot.set_range(low, high)

    def show_all(self) -> None:
        """Back to the full range."""
        if self._plot is not None:
            self._plot.reset()

    def numbers(self, separator: str) -> str:
        """The drawn bins as lines: left edge, right edge and count of each, then what lies in none of them."""
        bins, statistics = self.bins, self._statistics
        if bins is None or statistics is None:
            return ""
        counts = array("q", bins.counts)
        above = statistics.finite - bins.below - sum(counts)
        lines = histogram_csv(Histogram(array("d", bins.edges), counts, bins.below, above), statistics)
        return "".join(line.replace(",", separator) for line in lines)

    def _bins_of(self, histogram: Histogram, statistics: Statistics) -> Bins:
        return Bins(
            histogram.edges,
            histogram.counts,
            statistics.count,
            integral=self._integral,
            threshold=self._threshold,
            below=histogram.underflow,
        )

    def _ready_plot(self) -> HistogramPlot:
        if self._plot is None:
            self._plot = HistogramPlot(self._theme, self)
            self._plot.range_changed.connect(self._range_changed)
            self._plot.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
            self._plot.addAction("Show all", self.show_all)
            self._plot.addActions(self.actions())
            self._area.addWidget(self._plot)
        return self._plot

    def _draw(self) -> None:
        """Draw the fine bins where they cover what is visible, else those of the full range."""
        plot, bins, fine = self._plot, self._bins, self._fine
        if plot is None or bins is None:
            return
        low, high = plot.visible_range()
        if fine is not None and not plot.shows_all and fine.covers(max(low, bins.low), min(high, bins.high)):
            bins = fine
        if plot.bins is not bins:
            plot.show_bins(bins, self._full)
        self.info_changed.emit(info_words(bins, None if plot.shows_all else plot.visible_range()), not plot.shows_all)

    def _range_changed(self, visible: tuple[float, float] | None) -> None:
        if visible is None:
            self._rest.stop()
            self._fine = None
            self.finer_wanted.emit(None)
        else:
            self._rest.start()
        self._draw()

    def _ask_for_finer(self) -> None:
        """Ask for bins that suit what is visible, where the drawn ones are too coarse for it."""
        plot = self._plot
        if plot is None or plot.bins is None or plot.shows_all or plot.bins.constant is not None:
            return
        refined = refined_question if self._threshold is None else refined_log_question
        question: Question | None = refined(plot.bins, plot.visible_range(), self._full, self._wanted)
        if question is not None:
            self.finer_wanted.emit(question)
