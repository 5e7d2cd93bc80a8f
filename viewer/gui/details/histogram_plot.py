"""A histogram to look at, zoom into and point at. Needs pyqtgraph once it is built."""

from __future__ import annotations

import math
from typing import Final

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from viewer.gui.details.bins import LOG_FLOOR, Bins, log_count
from viewer.gui.details.hover_tip import HoverTip
from viewer.gui.details.scale import Scale
from viewer.gui.override import override
from viewer.gui.theme import Theme

_MARGIN: Final = 0.01
"""Empty part of the range at either end, so that the outermost bins do not stick to the frame."""
_KEY_STEP: Final = 0.8
_HEADROOM: Final = 1.06

MOUSE_AND_KEYS: Final = (
    "Wheel: zoom · drag: zoom to a span · Shift or middle button and drag: pan · double click: all\n"
    "Keys: ← → from bin to bin · Shift ← → pan · + − zoom · Home all"
)


class HistogramPlot(QWidget):
    """Knows the bins, the visible range of values and the bin pointed at; the canvas draws them.

    Signals
    -------
    range_changed
        Carries the visible range of values (low, high) after the person changed it, or None when it is all.
    pointed
        Carries the number of the bin pointed at, or None.
    """

    range_changed = Signal(object)
    pointed = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        # Here and not above: it brings pyqtgraph and numpy.
        from viewer.gui.plots import HistogramCanvas

        self._theme = theme
        self._bins: Bins | None = None
        self._full = (0.0, 1.0)
        self._range: tuple[float, float] | None = None
        self._log_counts = False
        self._cumulative = False
        self._pointed: int | None = None
        self._ring = False

        self.canvas = HistogramCanvas(self)
        self._tip = HoverTip(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.addWidget(self.canvas)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Histogram")

        self.canvas.spanned.connect(self._zoom_to_span)
        self.canvas.shifted.connect(self._shift)
        self.canvas.zoomed.connect(self._zoom_about)
        self.canvas.reset_wanted.connect(self.reset)
        self.canvas.hovered.connect(self._hover)
        theme.changed.connect(self._recolor)
        self._recolor()

    # What is shown

    @property
    def bins(self) -> Bins | None:
        return self._bins

    @property
    def log_counts(self) -> bool:
        return self._log_counts

    @property
    def shows_all(self) -> bool:
        return self._range is None

    @property
    def tip_text(self) -> str:
        """What the tip at the pointed bin says; "" while none is pointed at."""
        return "" if self._pointed is None else self._tip.text

    def visible_range(self) -> tuple[float, float]:
        """The values between the left and the right end of the plot."""
        return self._all() if self._range is None else self._range

    def show_bins(self, bins: Bins, full: tuple[float, float]) -> None:
        """Draw `bins`. The visible range stays what it is.

        Parameters
        ----------
        bins
            May cover a part of `full` only, and finer.
        full
            The range of values that counts as all.
        """
        assert bins.low < bins.high
        self._bins = bins
        self._full = full
        self._redraw()

    def clear(self) -> None:
        """Show nothing, and all of what is drawn next: another tensor begins."""
        self._bins = None
        self._range = None
        self.point_at(None)
        self.canvas.clear()

    def set_log_counts(self, on: bool) -> None:
        self._log_counts = on
        self._redraw()

    def set_cumulative(self, on: bool) -> None:
        """Let each bin be as high as it and all before it hold."""
        self._cumulative = on
        self._redraw()

    # Moving about

    def reset(self) -> None:
        """Show all of it."""
        if self._range is not None:
            self._range = None
            self._move()
            self.range_changed.emit(None)

    def set_range(self, low: float, high: float) -> None:
        """Show the values from low to high: within all of it, and no nearer than float64 has values to tell apart."""
        least, most = self._all()
        narrowest = 16 * math.ulp(max(abs(low), abs(high)))
        if high - low < narrowest:
            middle = low / 2 + high / 2
            low, high = middle - narrowest / 2, middle + narrowest / 2
        if high / 2 - low / 2 >= most / 2 - least / 2 or (low <= least and high >= most):
            self.reset()
            return
        if self._bins is not None and self._bins.threshold is not None:
            low, high = max(low, least), min(high, most)  # a shift would change the width on a logarithm
            if not low < high:
                return
        elif low < least:
            low, high = least, least + (high - low)
        elif high > most:
            low, high = most - (high - low), most
        if (low, high) != self._range:
            self._range = (low, high)
            self._move()
            self.range_changed.emit(self._range)

    def zoom(self, factor: float) -> None:
        """Make the visible range `factor` times as wide, about the pointed bin or the middle."""
        if self._bins is None:
            return
        low, high = self.canvas.view()
        self._zoom_about(factor, (low + high) / 2 if self._pointed is None else self._middle_unit(self._pointed))

    def pan(self, part: float) -> None:
        """Move by a part of the visible range; to the right where it is positive."""
        low, high = self.canvas.view()
        self._shift(part * (high - low))

    def _zoom_to_span(self, low: float, high: float) -> None:
        seen_low, seen_high = self.canvas.view()
        low, high = max(low, seen_low), min(high, seen_high)
        if high > low:
            self._set_units(low, high)

    def _zoom_about(self, factor: float, about: float) -> None:
        low, high = self.canvas.view()
        about = max(low, min(about, high))
        self._set_units(about + (low - about) * factor, about + (high - about) * factor)

    def _shift(self, units: float) -> None:
        if self._range is not None:
            low, high = self.canvas.view()
            self._set_units(low + units, high + units)

    def _set_units(self, low: float, high: float) -> None:
        if self._bins is not None:
            scale = self._bins.scale
            self.set_range(scale.to_value(low), scale.to_value(high))

    def _all(self) -> tuple[float, float]:
        scale = Scale(*self._full, None if self._bins is None else self._bins.threshold)
        return scale.to_value(-_MARGIN), scale.to_value(1 + _MARGIN)

    def _redraw(self) -> None:
        if self._bins is None:
            return
        self.canvas.draw(self._bins, log_counts=self._log_counts, cumulative=self._cumulative)
        self._move()

    def _move(self) -> None:
        if self._bins is None:
            return
        low, high = self.visible_range()
        scale = self._bins.scale
        seen = self._bins.visible(low, high)
        if self._cumulative and len(seen):
            highest = self._bins.reached(seen.stop - 1)
        else:
            highest = self._bins.tallest(low, high)
        if self._log_counts:
            top = LOG_FLOOR + (max(log_count(highest), math.log10(2)) - LOG_FLOOR) * _HEADROOM
        else:
            top = max(1.0, float(highest)) * _HEADROOM
        self.canvas.set_view(scale.to_unit(low), scale.to_unit(high), top)
        in_reach = self._pointed is not None and self._pointed in self._bins.visible(low, high)
        self.point_at(self._pointed if in_reach else None)

    # Pointing

    def point_at(self, index: int | None) -> None:
        """Mark a bin and tell what it holds; None takes the mark away."""
        before, self._pointed = self._pointed, index
        self.canvas.mark(index)
        if self._bins is None or index is None:
            self._tip.hide()
        else:
            if self._cumulative:
                tip = "\n".join(self._bins.reached_words(index))
            else:
                tip = f"{self._bins.interval(index)}\n{self._bins.share(index)}"
            place = self.canvas.mapTo(self, self.canvas.place(self._middle_unit(index)))
            self._tip.show_beside(place.x(), place.y(), tip)
            self.setAccessibleDescription(tip.replace("\n", ": "))
        if before != index:
            self.pointed.emit(index)

    def _point_at_next(self, direction: int) -> None:
        if self._bins is None:
            return
        low, high = self.visible_range()
        seen = self._bins.visible(low, high)
        if self._pointed is None:
            index = (seen.start + seen.stop) // 2
        else:
            index = max(0, min(self._pointed + direction, len(self._bins.counts) - 1))
        self.point_at(index)
        if index not in seen:
            self.pan(0.5 * direction)

    def _middle_unit(self, index: int) -> float:
        assert self._bins is not None
        scale = self._bins.scale
        return (scale.to_unit(self._bins.edges[index]) + scale.to_unit(self._bins.edges[index + 1])) / 2

    def _hover(self, unit: float | None) -> None:
        if self._bins is not None:
            scale = self._bins.scale
            self.point_at(None if unit is None else self._bins.index_at(scale.to_value(unit)))

    # Qt

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self.point_at(None)
        super().leaveEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._ring = True
        key, shift = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            direction = 1 if key == Qt.Key.Key_Right else -1
            if shift:
                self.pan(0.1 * direction)
            else:
                self._point_at_next(direction)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Up):
            self.zoom(_KEY_STEP)
        elif key in (Qt.Key.Key_Minus, Qt.Key.Key_Down):
            self.zoom(1 / _KEY_STEP)
        elif key == Qt.Key.Key_Home:
            self.reset()
        elif key == Qt.Key.Key_Escape and self._pointed is not None:
            self.point_at(None)
        else:
            super().keyPressEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._ring = event.reason() != Qt.FocusReason.MouseFocusReason  # a click shows itself where it was
        self.update()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus() and self._ring:
            painter = QPainter(self)
            painter.setPen(QPen(self._theme.color("accent"), 1))
            painter.drawRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(240, 140)

    @override
    def sizeHint(self) -> QSize:
        return QSize(640, 400)

    def _recolor(self) -> None:
        self.canvas.recolor(self._theme)
        self._tip.set_look(self._theme)
        self.update()
