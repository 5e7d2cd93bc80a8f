"""Maps of both sides and of their difference, side by side: one zoom and one cross-hair for all three."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QWheelEvent, qRgb
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.compare.pair_details import PairMaps
from viewer.gui.details.hover_tip import HoverTip
from viewer.gui.format import format_number
from viewer.gui.override import override
from viewer.gui.theme import Theme

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_ZOOM: Final = 0.8
_SETTLES_MS: Final = 200
_GAP, _CAPTION = 14, 22
_PIXELS: Final = 320
"""Pixels of an image along one side, at most."""
_LEVELS: Final = 255
_BROKEN: Final = 255
"""The level of what is not finite."""
_POSITIVE, _NEGATIVE = "#C2410C", "#1D5FBF"


class PairMapsView(QWidget):
    """
    Signals
    -------
    wanted
        Carries (row_range, column_range, height, width) of finer images for what is visible.
    pointed
        Carries (row, column) of the cross-hair.
    """

    wanted = Signal(object)
    pointed = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._maps: PairMaps | None = None
        self._values: tuple[npt.NDArray[np.float64], ...] = ()
        self._images: list[QImage] = []
        self._scale = (0.0, 0.0)
        self._grid = (0, 0)
        self._view = QRectF()  # columns and rows
        self._cross: tuple[int, int] | None = None
        self._dragged: QPointF | None = None
        self._text = ""
        self._tip = HoverTip(self)
        self._settle = QTimer(self, singleShot=True, interval=_SETTLES_MS)
        self._settle.timeout.connect(self._ask)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Maps of left, right and their difference")
        theme.changed.connect(self._take_theme)
        self._take_theme()

    @property
    def maps(self) -> PairMaps | None:
        return self._maps

    @property
    def view(self) -> QRectF:
        """The visible columns (x) and rows (y)."""
        return QRectF(self._view)

    @property
    def cross(self) -> tuple[int, int] | None:
        """Row and column of the cross-hair."""
        return self._cross

    @property
    def tip_text(self) -> str:
        return self._tip.text if self._cross is not None else ""

    def say(self, text: str) -> None:
        """Show a sentence: another pair begins."""
        self._settle.stop()
        self._maps, self._images, self._values, self._cross = None, [], (), None
        self._text = text
        self._tip.hide()
        self.update()

    def show_maps(self, maps: PairMaps) -> None:
        """Show images of the whole grid, or finer ones of a part."""
        first = self._maps is None or self._grid != (maps.rows, maps.columns)
        self._maps = maps
        if first:
            self._grid = maps.rows, maps.columns
            self._scale = maps.largest_value, maps.largest_difference
            self._view = QRectF(0, 0, maps.columns, maps.rows)
        self._render()
        if self._cross is not None:
            self.set_cross(*self._cross)
        self.update()

    def set_cross(self, row: int, column: int) -> None:
        """Put the cross-hair on an element; the view follows."""
        rows, columns = self._grid
        if not rows or not columns:
            return
        row, column = max(0, min(row, rows - 1)), max(0, min(column, columns - 1))
        self._cross = row, column
        center = QPointF(column + 0.5, row + 0.5)
        if not self._view.contains(center):
            self._view.moveCenter(center)
            self._keep_inside()
        self._show_tip()
        self.pointed.emit(self._cross)
        self.update()

    def place_cross(self, row: int, column: int) -> None:
        """As `set_cross`, also before there are images."""
        if self._maps is None:
            self._cross = row, column
        else:
            self.set_cross(row, column)

    def zoom(self, factor: float, about: QPointF | None = None) -> None:
        """Make what is visible so many times as large, about a place in columns and rows."""
        if self._maps is None:
            return
        about = self._view.center() if about is None else about
        rows, columns = self._grid
        width = min(max(self._view.width() * factor, min(4.0, columns)), columns)
        height = min(max(self._view.height() * factor, min(4.0, rows)), rows)
        left = about.x() - (about.x() - self._view.left()) * width / self._view.width()
        top = about.y() - (about.y() - self._view.top()) * height / self._view.height()
        self._view = QRectF(left, top, width, height)
        self._keep_inside()

    def reset(self) -> None:
        """Show all."""
        rows, columns = self._grid
        self._view = QRectF(0, 0, columns, rows)
        self._keep_inside()

    def _keep_inside(self) -> None:
        rows, columns = self._grid
        view = self._view
        view.moveLeft(max(0.0, min(view.left(), columns - view.width())))
        view.moveTop(max(0.0, min(view.top(), rows - view.height())))
        self._settle.start()
        self.update()

    def _ask(self) -> None:
        maps = self._maps
        if maps is None:
            return
        rows = math.floor(self._view.top()), math.ceil(self._view.bottom())
        columns = math.floor(self._view.left()), math.ceil(self._view.right())
        covered = maps.row_range[0] <= rows[0] and rows[1] <= maps.row_range[1]
        covered = covered and maps.column_range[0] <= columns[0] and columns[1] <= maps.column_range[1]
        if not covered or (not maps.is_exact and (maps.row_range, maps.column_range) != (rows, columns)):
            self.wanted.emit((rows, columns, _PIXELS, _PIXELS))

    def _render(self) -> None:
        maps = self._maps
        if maps is None:
            return
        import numpy as np

        size = maps.height, maps.width
        self._values = tuple(np.frombuffer(side, "<f8").reshape(size) for side in (maps.a, maps.b, maps.difference))
        largest, farthest = self._scale
        diverging, sequential = self._colors()
        self._images = []
        for number, values in enumerate(self._values):
            if number < 2:
                unit = values / (2 * largest) + 0.5 if largest else np.where(np.isnan(values), np.nan, 0.5)
            else:
                unit = values / farthest if farthest else values
            broken = np.isnan(unit)
            with np.errstate(invalid="ignore"):
                levels = np.clip(np.rint(unit * (_LEVELS - 1)), 0, _LEVELS - 1)
            levels[broken] = _BROKEN
            packed = np.ascontiguousarray(levels.astype(np.uint8))
            image = QImage(packed.data, maps.width, maps.height, maps.width, QImage.Format.Format_Indexed8)
            image.setColorTable(diverging if number < 2 else sequential)
            self._images.append(image.copy())

    def _colors(self) -> tuple[list[int], list[int]]:
        base, broken = self._theme.color("base"), self._theme.color("nan").rgb()
        middle = (_LEVELS - 1) / 2
        diverging = [
            _blend(base, QColor(_POSITIVE if level > middle else _NEGATIVE), abs(level - middle) / middle)
            for level in range(_LEVELS)
        ]
        strong = self._theme.color("changed")
        sequential = [_blend(base, strong, level / (_LEVELS - 1)) for level in range(_LEVELS)]
        return [*diverging, broken], [*sequential, broken]

    # Places

    def _panes(self) -> list[QRectF]:
        width = (self.width() - 2 * _GAP - 16) / 3
        height = max(self.height() - _CAPTION - 8, 1)
        return [QRectF(8 + number * (width + _GAP), _CAPTION, max(width, 1), height) for number in range(3)]

    def _place(self, pane: QRectF, column: float, row: float) -> QPointF:
        view = self._view
        x = pane.left() + (column - view.left()) / view.width() * pane.width()
        y = pane.top() + (row - view.top()) / view.height() * pane.height()
        return QPointF(x, y)

    def _element(self, at: QPointF) -> QPointF | None:
        """Column and row at a point of any pane."""
        for pane in self._panes():
            if pane.contains(at):
                view = self._view
                x = view.left() + (at.x() - pane.left()) / pane.width() * view.width()
                y = view.top() + (at.y() - pane.top()) / pane.height() * view.height()
                return QPointF(x, y)
        return None

    def _show_tip(self) -> None:
        maps, cross = self._maps, self._cross
        if maps is None or cross is None:
            return
        row, column = cross
        (first_row, end_row), (first_column, end_column) = maps.row_range, maps.column_range
        if not (first_row <= row < end_row and first_column <= column < end_column):
            self._tip.hide()
            return
        down = (row - first_row) * maps.height // (end_row - first_row)
        right = (column - first_column) * maps.width // (end_column - first_column)
        a, b, difference = (float(values[down, right]) for values in self._values)
        block = "" if maps.is_exact else "  (largest of its block)"
        text = (
            f"[{row:,}, {column:,}]{block}\nleft    {format_number(a)}\nright   {format_number(b)}\n"
            f"|b−a|   {format_number(difference)}"
        )
        place = self._place(self._panes()[0], column + 0.5, row + 0.5)
        self._tip.show_beside(round(place.x()), round(min(place.y(), self.height() - 90)), text)
        self.setAccessibleDescription(text.replace("\n", ", "))

    # Qt

    @override
    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setFont(self.font())
        maps = self._maps
        if maps is None:
            painter.setPen(self._theme.color("muted"))
            painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignCenter), self._text)
            return
        largest, farthest = (format_number(value, 3) for value in self._scale)
        captions = (f"left  ±{largest}", f"right  ±{largest}", f"|b−a|  0 … {farthest}")
        region = QRectF(
            maps.column_range[0],
            maps.row_range[0],
            maps.column_range[1] - maps.column_range[0],
            maps.row_range[1] - maps.row_range[0],
        )
        for number, (pane, words) in enumerate(zip(self._panes(), captions, strict=True)):
            painter.setPen(self._theme.color(("left", "right", "changed")[number]))
            painter.drawText(QRectF(pane.left(), 2, pane.width(), _CAPTION), int(Qt.AlignmentFlag.AlignLeft), words)
            painter.save()
            painter.setClipRect(pane)
            corner = self._place(pane, region.left(), region.top())
            painter.drawImage(
                QRectF(corner, self._place(pane, region.right(), region.bottom())), self._images[number]
            )
            if self._cross is not None:
                at = self._place(pane, self._cross[1] + 0.5, self._cross[0] + 0.5)
                painter.setPen(QPen(self._theme.color("text"), 1, Qt.PenStyle.DotLine))
                painter.drawLine(QPointF(pane.left(), at.y()), QPointF(pane.right(), at.y()))
                painter.drawLine(QPointF(at.x(), pane.top()), QPointF(at.x(), pane.bottom()))
            painter.restore()
            painter.setPen(self._theme.color("accent" if self.hasFocus() else "border"))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(pane.adjusted(-1, -1, 0, 0))

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        about = self._element(event.position())
        if self._maps is not None and about is not None and event.angleDelta().y():
            self.zoom(_ZOOM ** (event.angleDelta().y() / 120), about)
            event.accept()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._dragged = event.position()

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: ARG002
        self._dragged = None

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: ARG002
        self.reset()

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self._maps is None:
            return
        if self._dragged is not None and event.buttons() & Qt.MouseButton.LeftButton:
            pane, by = self._panes()[0], at - self._dragged
            self._view.translate(
                -by.x() / pane.width() * self._view.width(), -by.y() / pane.height() * self._view.height()
            )
            self._dragged = at
            self._keep_inside()
        elif (element := self._element(at)) is not None:
            self.set_cross(math.floor(element.y()), math.floor(element.x()))

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self._tip.hide()
        super().leaveEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps: dict[int, tuple[int, int]] = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }
        key = event.key()
        if self._maps is None:
            super().keyPressEvent(event)
        elif key in steps:
            row, column = self._cross or (math.floor(self._view.center().y()), math.floor(self._view.center().x()))
            self.set_cross(row + steps[key][0], column + steps[key][1])
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(_ZOOM)
        elif key == Qt.Key.Key_Minus:
            self.zoom(1 / _ZOOM)
        elif key == Qt.Key.Key_Home:
            self.reset()
        else:
            super().keyPressEvent(event)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(320, 120)

    def _take_theme(self) -> None:
        self.setFont(self._theme.mono(-1))
        self._tip.set_look(self._theme)
        self._render()
        self.update()


def _blend(start: QColor, end: QColor, part: float) -> int:
    parts: Any = zip(start.getRgb()[:3], end.getRgb()[:3], strict=True)  # type: ignore[index]
    return qRgb(*(round(one + (other - one) * part) for one, other in parts))
