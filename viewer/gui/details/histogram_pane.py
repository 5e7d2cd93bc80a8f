"""Where the histogram is: the plot with the bins that suit what is visible, or a sentence in its place."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from viewer.gui.details.bins import Bins, constant_bins
from viewer.gui.details.histogram_plot import HistogramPlot
from viewer.gui.details.notice import Notice
from viewer.gui.details.refine import Question, aligned_question, refined_question
from viewer.gui.details.wording import info_words, nothing_finite
from viewer.gui.theme import Theme
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

    def show_histogram(self, histogram: Histogram, statistics: Statistics, *, integral: bool, wanted: int) -> None:
        """Draw a histogram over the full range.

        Parameters
        ----------
        histogram
            Without bins while the engine still counts: then what is shown stays.
        integral
            True where the values are whole numbers.
        wanted
            Bins to see at a time.
        """
        self._integral, self._wanted = integral, wanted
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
        self._area.setCurrentWidget(plot)
        self._draw()
        question = aligned_question(self._bins, statistics, wanted) if integral else None
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

    def show_all(self) -> None:
        """Back to the full range."""
        if self._plot is not None:
            self._plot.reset()

    def copy_bins(self) -> None:
        """Put the drawn bins on the clipboard: left edge, right edge and count, one bin a line."""
        if self._plot is not None and (bins := self._plot.bins) is not None:
            lines = ("\t".join(bins.exact_row(index)) for index in range(len(bins.counts)))
            QGuiApplication.clipboard().setText("".join(f"{line}\n" for line in ("left\tright\tcount", *lines)))

    def _bins_of(self, histogram: Histogram, statistics: Statistics) -> Bins:
        return Bins(histogram.edges, histogram.counts, statistics.count, integral=self._integral)

    def _ready_plot(self) -> HistogramPlot:
        if self._plot is None:
            self._plot = HistogramPlot(self._theme, self)
            self._plot.range_changed.connect(self._range_changed)
            self._plot.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
            self._plot.addAction("Show all", self.show_all)
            self._plot.addAction("Copy bins as TSV", self.copy_bins)
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
        question: Question | None = refined_question(plot.bins, plot.visible_range(), self._full, self._wanted)
        if question is not None:
            self.finer_wanted.emit(question)
