"""A map of values to look at, zoom into and point at: image, rulers, colour bar and cross-hair, painted by itself.

Not pyqtgraph's ImageItem: an image with one NaN takes that some 300 ms for each paint, where a byte for each pixel
and a table of colours take a few.
"""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetrics,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from viewer.gui.details.map_colours import ColourName, colour_table
from viewer.gui.details.map_picture import Picture
from viewer.gui.details.map_rulers import paint_colour_bar, paint_rulers
from viewer.gui.details.map_view import Frame, Part, fitted, whole
from viewer.gui.details.zoom_canvas import ZOOM_STEP, ZoomCanvas
from viewer.gui.override import override
from viewer.gui.theme import Theme

_TOP: Final = 10
_DRAG_FROM: Final = 4
"""Pixels below which a drag is a click."""

MOUSE_AND_KEYS: Final = (
    "Wheel: zoom · drag: zoom to a part · Shift or middle button and drag: move · double click: all\n"
    "Keys: arrows move the cross-hair · Shift and arrows move the part · + − zoom · Home all"
)


class MapCanvas(ZoomCanvas):
    """Draws a picture of the whole slice, and over it a finer one of what is in view.

    Signals
    -------
    looked_at
        Carries the Part in view, and how many pixels high and wide it is drawn: finer pixels are welcome.
    """

    looked_at = Signal(object, int, int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "Map of values", parent)
        self._pictures: list[Picture] = []  # the whole, then finer ones over it
        self._images: dict[int, QImage] = {}
        self._extent = (1, 1)
        self._pitch = (1, 1)
        self._part: Part | None = None
        self._colours: ColourName = "sequential"
        self._levels = (0.0, 1.0)
        self._cross: tuple[float, float] | None = None
        self._press: QPoint | None = None
        self._band: QRect | None = None
        self._moving = False
        theme.changed.connect(self._recolor)

    # What is shown

    @property
    def part(self) -> Part:
        """The part in view."""
        return whole(*self._extent) if self._part is None else self._part

    @property
    def shows_all(self) -> bool:
        return self._part is None

    @property
    def levels(self) -> tuple[float, float]:
        """The values of the first and the last colour."""
        return self._levels

    @property
    def frame(self) -> Frame:
        """Where the part in view is drawn."""
        left, right, bottom = self._margins()
        return fitted(self.part, left, _TOP, self.width() - left - right, self.height() - _TOP - bottom)

    def picture_at(self, row: float, column: float) -> tuple[Picture, int, int] | None:
        """The finest picture with a place, and the pixel there."""
        for picture in reversed(self._pictures):
            if (pixel := picture.pixel_at(row, column)) is not None:
                return picture, *pixel
        return None

    def set_extent(self, rows: int, columns: int, pitch: tuple[int, int] = (1, 1)) -> None:
        """Another slice, of which nothing is known yet; all of it is in view.

        Parameters
        ----------
        pitch
            Rows and columns that one kernel takes with its gap: the rulers count kernels.
        """
        self._extent = (rows, columns)
        self._pitch = pitch
        self._pictures = []
        self._images.clear()
        self._part = None
        self._point(None)
        self.zoomed.emit(False)
        self._rest.start()
        self.update()

    def show_picture(self, picture: Picture) -> None:
        """Draw a picture: of the whole, which takes the place of all others, or of a part over the whole."""
        rows, columns = self._extent
        is_whole = picture.part == (0, rows, 0, columns)
        kept = [] if is_whole else [p for p in self._pictures[:1] if p.part == (0, rows, 0, columns)]
        self._pictures = [*kept, picture]
        self._images.clear()
        self.update()
        self._tell()

    def forget_whole(self) -> None:
        """What is known of the whole is of another index by now; a finer picture stays until the next one comes."""
        rows, columns = self._extent
        if self._part is not None:
            self._pictures = [p for p in self._pictures if p.part != (0, rows, 0, columns)]

    def set_colours(self, colours: ColourName, levels: tuple[float, float]) -> None:
        if (colours, levels) != (self._colours, self._levels):
            self._colours, self._levels = colours, levels
            self._images.clear()
            self.update()

    @override
    def tell_looked_at(self) -> None:
        self._rest.stop()
        frame, ratio = self.frame, self.devicePixelRatioF()
        self.looked_at.emit(self.part, max(1, round(frame.height * ratio)), max(1, round(frame.width * ratio)))

    # Moving about

    def set_part(self, part: Part) -> None:
        """Bring a part into view."""
        part = part.within(*self._extent)
        was_all = self._part is None
        self._part = None if part == whole(*self._extent) else part
        self._part_changed(was_all=was_all, is_all=self._part is None)

    @override
    def reset(self) -> None:
        self.set_part(whole(*self._extent))

    def zoom(self, factor: float) -> None:
        """Make the part in view so many times as large, about the cross-hair or the middle."""
        part = self.part
        row, column = self._cross or (part.top + part.height / 2, part.left + part.width / 2)
        self.set_part(part.zoomed(factor, row, column))

    # Pointing

    @override
    def leave(self) -> None:
        self._point(None)

    def _point(self, place: tuple[float, float] | None) -> None:
        self._cross = place
        self._tell()
        self.update()

    def _tell(self) -> None:
        found = None if self._cross is None else self.picture_at(*self._cross)
        self._say("" if found is None else found[0].words(*found[1:]))

    def _step(self, rows: int, columns: int) -> None:
        """Move the cross-hair by pixels of the picture, which are elements where it is exact."""
        part = self.part
        if self._cross is None:
            self._cross = (part.top + part.height / 2, part.left + part.width / 2)
        else:
            frame = self.frame
            down = max(1.0, part.height / frame.height)
            across = max(1.0, part.width / frame.width)
            self._cross = (
                min(max(self._cross[0] + rows * down, 0.0), self._extent[0] - 0.5),
                min(max(self._cross[1] + columns * across, 0.0), self._extent[1] - 0.5),
            )
        # The middle of the element, so that rounding does not move it to the next.
        self._cross = (int(self._cross[0]) + 0.5, int(self._cross[1]) + 0.5)
        if self._part is not None:
            row, column = self._cross
            up = min(row - part.top, 0) or max(row - part.bottom, 0)
            aside = min(column - part.left, 0) or max(column - part.right, 0)
            if up or aside:
                self.set_part(part.moved(up, aside))
        self._point(self._cross)

    # Qt

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        left = event.button() == Qt.MouseButton.LeftButton
        if left or event.button() == Qt.MouseButton.MiddleButton:
            self._press = event.position().toPoint()
            self._moving = shift or not left

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        frame, part = self.frame, self.part
        if self._press is not None and self._moving:
            step = at - self._press
            self._press = at
            if self._part is not None:
                rows, columns = step.y() / frame.height * part.height, step.x() / frame.width * part.width
                self.set_part(part.moved(-rows, -columns))
        elif self._press is not None and (at - self._press).manhattanLength() >= _DRAG_FROM:
            area = QRect(frame.x, frame.y, frame.width, frame.height)
            self._band = QRect(self._press, at).normalized().intersected(area)
            self.update()
        inside = frame.holds(at.x(), at.y())
        self._point((frame.row_at(part, at.y()), frame.column_at(part, at.x())) if inside else None)

    @override
    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: ARG002
        band, self._band, self._press, self._moving = self._band, None, None, False
        if band is not None and band.width() > 1 and band.height() > 1:
            frame, part = self.frame, self.part
            self.set_part(
                Part(
                    frame.row_at(part, band.top()),
                    frame.row_at(part, band.bottom() + 1),
                    frame.column_at(part, band.left()),
                    frame.column_at(part, band.right() + 1),
                )
            )
        self.update()

    @override
    def wheelEvent(self, event: QWheelEvent) -> None:
        at, frame, part = event.position(), self.frame, self.part
        notches = event.angleDelta().y() / 120
        if notches and frame.holds(at.x(), at.y()):
            self.set_part(part.zoomed(ZOOM_STEP**notches, frame.row_at(part, at.y()), frame.column_at(part, at.x())))
        event.accept()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_Left: (0, -1),
            Qt.Key.Key_Right: (0, 1),
            Qt.Key.Key_Up: (-1, 0),
            Qt.Key.Key_Down: (1, 0),
        }
        key = Qt.Key(event.key())
        if key in steps:
            rows, columns = steps[key]
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self.set_part(self.part.moved(rows * self.part.height / 10, columns * self.part.width / 10))
            else:
                self._step(rows, columns)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(ZOOM_STEP)
        elif key == Qt.Key.Key_Minus:
            self.zoom(1 / ZOOM_STEP)
        elif key == Qt.Key.Key_Home:
            self.reset()
        elif key == Qt.Key.Key_Escape and self._cross is not None:
            self._point(None)
        else:
            super().keyPressEvent(event)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("base"))
        frame, part = self.frame, self.part
        painter.save()
        painter.setClipRect(frame.x, frame.y, frame.width, frame.height)
        for picture in self._pictures:
            top, bottom, left, right = picture.part
            if bottom > top and right > left:
                corner = QPointF(frame.x_of(part, left), frame.y_of(part, top))
                end = QPointF(frame.x_of(part, right), frame.y_of(part, bottom))
                painter.drawImage(QRectF(corner, end), self._image(picture))
        painter.restore()
        face = self._theme.mono(-1)
        painter.setFont(face)
        paint_rulers(painter, self._theme, frame, part, self._pitch)
        if self._pictures and any(picture.image.min is not None for picture in self._pictures):
            right = frame.x + frame.width + 16
            paint_colour_bar(
                painter, self._theme, QRect(right, frame.y, 14, max(frame.height, 80)), self._levels, self._table()
            )
        self._paint_cross(painter, frame, part)

    def _paint_cross(self, painter: QPainter, frame: Frame, part: Part) -> None:
        if self._cross is not None and self._pictures:
            x, y = frame.x_of(part, self._cross[1]), frame.y_of(part, self._cross[0])
            # Twice, dark on light: no colour of the map hides both.
            for colour, style in (("base", Qt.PenStyle.SolidLine), ("text", Qt.PenStyle.DashLine)):
                painter.setPen(QPen(self._theme.color(colour), 1, style))
                painter.drawLine(QPointF(x, frame.y), QPointF(x, frame.y + frame.height))
                painter.drawLine(QPointF(frame.x, y), QPointF(frame.x + frame.width, y))
        if self._band is not None:
            painter.setPen(QPen(self._theme.color("accent"), 1))
            painter.setBrush(self._theme.color("plot_fill"))
            painter.drawRect(self._band)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(self._theme.color("accent"), 1))
            painter.drawRect(QRectF(frame.x - 0.5, frame.y - 0.5, frame.width + 1, frame.height + 1))

    def _image(self, picture: Picture) -> QImage:
        image = self._images.get(id(picture))
        if image is None:
            width, height = picture.image.width, picture.image.height
            indexes = picture.colour_indexes(*self._levels)  # QImage does not own them: they must outlive it
            indexed = QImage(indexes, width, height, width, QImage.Format.Format_Indexed8)
            indexed.setColorTable(self._table())
            image = self._images[id(picture)] = indexed.convertToFormat(QImage.Format.Format_RGB32)
        return image

    def _table(self) -> tuple[int, ...]:
        return colour_table(self._colours, self._theme.tokens)

    def _margins(self) -> tuple[int, int, int]:
        """Left for the rows' indexes, right for the colour bar, bottom for the columns' indexes."""
        metrics = QFontMetrics(self._theme.mono(-1))
        digit = metrics.horizontalAdvance("0")
        return digit * len(f"{self._extent[0]:,}") + 26, digit * 9 + 44, metrics.height() + 12

    @override
    def sizeHint(self) -> QSize:
        return QSize(640, 480)

    def _recolor(self) -> None:
        self._images.clear()
        self.update()
