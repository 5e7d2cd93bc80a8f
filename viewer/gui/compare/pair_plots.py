"""Two plots: both sides over the same edges, and the difference. Needs pyqtgraph once it is built."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from viewer.compare.pair_details import PairDetails
from viewer.gui.details.bins import Bins
from viewer.gui.format import format_count
from viewer.gui.theme import Theme
from viewer.tensors.results import Histogram

_MARGIN: Final = 0.01
_HEADROOM: Final = 1.06


class PairPlots(QWidget):
    """Draws the histograms of a PairDetails; what cannot be drawn is said in the plot's caption."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # Here and not above: it brings pyqtgraph and numpy.
        from viewer.gui.plots import HistogramCanvas, PairCanvas

        self._theme = theme
        self.both = PairCanvas(self)
        self.difference = HistogramCanvas(self)
        self.both_caption, self.difference_caption = QLabel(self), QLabel(self)
        line = QHBoxLayout(self)
        line.setContentsMargins(8, 4, 8, 8)
        for caption, canvas in ((self.both_caption, self.both), (self.difference_caption, self.difference)):
            caption.setProperty("role", "muted")
            caption.setTextFormat(Qt.TextFormat.PlainText)
            caption.setWordWrap(True)
            canvas.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)  # nothing to zoom or hover here
            column = QVBoxLayout()
            column.addWidget(caption)
            column.addWidget(canvas, 1)
            line.addLayout(column, 1)
        self.both.setAccessibleName("Histograms of both sides")
        self.difference.setAccessibleName("Histogram of right minus left")
        theme.changed.connect(self._recolor)
        self._recolor()

    def show_details(self, details: PairDetails) -> None:
        """Draw a pair. Counts of the difference are on a logarithmic scale: most of them lie about 0."""
        a, b, total = details.histogram_a, details.histogram_b, details.measures.count
        left, right = _bins(a, total), _bins(b, total)
        self.both_caption.setText(_caption(f"{details.of} · left and right", a, b))
        if left is None or right is None:
            self.both.clear()
        else:
            self.both.draw_pair(left, right)
            tallest = max(*left.counts, *right.counts, 1)
            self.both.set_view(-_MARGIN, 1 + _MARGIN, tallest * _HEADROOM)
        difference = _bins(details.difference, total)
        self.difference_caption.setText(_caption("right − left · counts on a logarithmic scale", details.difference))
        if difference is None:
            self.difference.clear()
        else:
            self.difference.draw(difference, log_counts=True)
            top = max(float(self.difference.heights().max()), 0.5)
            self.difference.set_view(-_MARGIN, 1 + _MARGIN, top * _HEADROOM)

    def _recolor(self) -> None:
        self.both.recolor(self._theme)
        self.difference.recolor(self._theme)


def _bins(histogram: Histogram, total: int) -> Bins | None:
    """What is drawn; None where there is no bin."""
    return Bins(histogram.edges, histogram.counts, total) if histogram.counts else None


def _caption(words: str, *histograms: Histogram) -> str:
    notes = dict.fromkeys(histogram.note for histogram in histograms if histogram.note)
    outside = sum(histogram.underflow + histogram.overflow for histogram in histograms)
    if outside:
        notes[f"{format_count(outside)} outside the edges"] = None
    return " · ".join([words, *notes])
