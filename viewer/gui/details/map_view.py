"""Which part of a map is in view, and where it lies on the canvas: zooming and moving as arithmetic. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_NARROWEST: Final = 4.0
"""Elements across which one zooms in no further."""
_SQUARE_UP_TO: Final = 3.0
"""Elements are drawn as squares unless that would leave more than two thirds of the canvas empty."""


@dataclass(frozen=True, slots=True)
class Part:
    """From `top` to `bottom` and from `left` to `right`, in rows and columns; element i reaches from i to i + 1."""

    top: float
    bottom: float
    left: float
    right: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def width(self) -> float:
        return self.right - self.left

    def zoomed(self, factor: float, row: float, column: float) -> Part:
        """So many times as high and wide, with one place staying where it is."""
        return Part(
            row + (self.top - row) * factor,
            row + (self.bottom - row) * factor,
            column + (self.left - column) * factor,
            column + (self.right - column) * factor,
        )

    def moved(self, rows: float, columns: float) -> Part:
        return Part(self.top + rows, self.bottom + rows, self.left + columns, self.right + columns)

    def within(self, rows: int, columns: int) -> Part:
        """The same, or the nearest part that a map of this size has."""
        top, bottom = _inside(self.top, self.bottom, rows)
        left, right = _inside(self.left, self.right, columns)
        return Part(top, bottom, left, right)


def whole(rows: int, columns: int) -> Part:
    return Part(0.0, float(rows), 0.0, float(columns))


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the part in view is drawn, in pixels of the canvas."""

    x: int
    y: int
    width: int
    height: int

    def row_at(self, part: Part, y: float) -> float:
        return part.top + (y - self.y) / max(self.height, 1) * part.height

    def column_at(self, part: Part, x: float) -> float:
        return part.left + (x - self.x) / max(self.width, 1) * part.width

    def y_of(self, part: Part, row: float) -> float:
        return self.y + (row - part.top) / part.height * self.height

    def x_of(self, part: Part, column: float) -> float:
        return self.x + (column - part.left) / part.width * self.width

    def holds(self, x: float, y: float) -> bool:
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height


def fitted(part: Part, x: int, y: int, width: int, height: int) -> Frame:
    """The frame within a rectangle: with square elements where that makes good use of it, else all of it.

    Elements larger than a pixel take a whole number of pixels where that costs little, so that they are all alike.
    """
    width, height = max(width, 1), max(height, 1)
    across, down = width / part.width, height / part.height
    if max(across, down) <= _SQUARE_UP_TO * min(across, down):
        across = down = min(across, down)
    framed_width = _rounded(part.width, across)
    framed_height = _rounded(part.height, down)
    return Frame(x, y, min(framed_width, width), min(framed_height, height))


def _rounded(extent: float, scale: float) -> int:
    if scale >= 8:
        scale = float(int(scale))
    return max(1, int(extent * scale))


def _inside(low: float, high: float, extent: int) -> tuple[float, float]:
    size = min(max(high - low, min(_NARROWEST, float(extent))), float(extent))
    middle = (low + high) / 2
    low = min(max(middle - size / 2, 0.0), extent - size)
    return low, low + size
