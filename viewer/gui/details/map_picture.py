"""A map of values as the canvas draws it: where each pixel lies, what it holds, and its place in a colour table."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from viewer.gui.details.map_colours import N_COLOURS, NAN, NEGINF, NOTHING, POSINF
from viewer.gui.format import format_number
from viewer.tensors.slice_results import GAP, HAS_NAN, HAS_NEGINF, HAS_POSINF, NO_FINITE, MapImage

REDUCE_WORDS: Final = {
    "absmax": "the largest magnitude",
    "max": "the largest",
    "min": "the smallest",
    "mean": "the mean",
}
_KINDS: Final = ((HAS_NAN, "NaN"), (HAS_POSINF, "+inf"), (HAS_NEGINF, "−inf"))
_DIGITS: Final = {"f": 9, "d": 17}
"""Digits that tell neighbouring numbers of a pixel's format apart."""


class Picture:
    """One MapImage over the coordinates of its slice.

    A grid of kernels has coordinates of its own: each kernel takes its height and width and one more for the gap.
    """

    def __init__(self, image: MapImage) -> None:
        self.image = image
        tiles = image.tiles
        self.row_edges: Sequence[int]
        self.column_edges: Sequence[int]
        if tiles is None:
            self.row_edges, self.column_edges = image.row_edges, image.column_edges
        else:
            top = tiles.first_row * (tiles.height + 1)
            left = tiles.first_column * (tiles.width + 1)
            self.row_edges = range(top, top + image.height + 1)
            self.column_edges = range(left, left + image.width + 1)

    @property
    def extent(self) -> tuple[int, int]:
        """Rows and columns of the whole, of which this may show a part."""
        tiles = self.image.tiles
        if tiles is None:
            return self.image.rows, self.image.columns
        return tiles.rows * (tiles.height + 1) - 1, tiles.columns * (tiles.width + 1) - 1

    @property
    def part(self) -> tuple[int, int, int, int]:
        """First row, end of the rows, first column, end of the columns."""
        if not self.image.height or not self.image.width:
            return 0, 0, 0, 0
        return self.row_edges[0], self.row_edges[-1], self.column_edges[0], self.column_edges[-1]

    @property
    def kinds(self) -> list[str]:
        """Which sorts of non-finite values are in it."""
        present = 0
        for code in set(self.image.codes):
            present |= code
        return [name for flag, name in _KINDS if present & flag]

    def covers(self, top: float, bottom: float, left: float, right: float) -> bool:
        first_row, end_row, first_column, end_column = self.part
        return first_row <= top and bottom <= end_row and first_column <= left and right <= end_column

    def pixel_at(self, row: float, column: float) -> tuple[int, int] | None:
        """The pixel of a place; None outside, and between kernels."""
        first_row, end_row, first_column, end_column = self.part
        if not (first_row <= row < end_row and first_column <= column < end_column):
            return None
        y, x = bisect_right(self.row_edges, row) - 1, bisect_right(self.column_edges, column) - 1
        return None if self.image.codes[y * self.image.width + x] & GAP else (y, x)

    def value(self, y: int, x: int) -> float:
        """What a pixel shows; NaN where none of its elements is finite."""
        size = struct.calcsize(self.image.format)
        (value,) = struct.unpack_from(f"<{self.image.format}", self.image.pixels, (y * self.image.width + x) * size)
        return float(value)

    def words(self, y: int, x: int) -> str:
        """Which elements a pixel shows, and their value: "[12, 5] 0.031", "[0…3, 8…11] the largest magnitude …"."""
        image, code = self.image, self.image.codes[y * self.image.width + x]
        if image.tiles is not None:
            place = image.tiles.at(y, x)
            assert place is not None
            tile_row, tile_column, row, column = place
            lead = (tile_column,) if image.tiles.row_axis is None else (tile_row, tile_column)
            rest = image.axes.fixed[len(lead) :]
            index = ", ".join(str(i) for i in (*lead, *rest, row, column))
            return f"[{index}]  {self._value_words(code, y, x)}"
        rows = range(self.row_edges[y], self.row_edges[y + 1])
        columns = range(self.column_edges[x], self.column_edges[x + 1])
        if len(rows) == len(columns) == 1:
            index = ", ".join(str(i) for i in image.axes.index(rows.start, columns.start))
            return f"[{index}]  {self._value_words(code, y, x)}"
        parts = _ranges(image, rows, columns)
        also = [name for flag, name in _KINDS if code & flag]
        held = f", among them {' and '.join(also)}" if also else ""
        what = "no finite value" if code & NO_FINITE else f"{REDUCE_WORDS[image.reduce]} {self._number(y, x)}"
        return f"[{parts}]  {what} of {len(rows) * len(columns):,} elements{held}"

    def colour_indexes(self, low: float, high: float) -> bytes:
        """A byte for each pixel: its place in a `colour_table`, of which the ends stand for `low` and `high`."""
        import numpy as np

        values = np.frombuffer(self.image.pixels, "<f4" if self.image.format == "f" else "<f8")
        codes = np.frombuffer(self.image.codes, np.uint8)
        scale = (N_COLOURS - 1) / (high / 2 - low / 2)
        with np.errstate(all="ignore"):  # what is not finite is given its colour below
            places = values * np.float64(0.5)  # halves, since a span may exceed the largest float64
            places -= low / 2
            places *= scale
            np.rint(places, out=places)
            np.clip(places, 0, N_COLOURS - 1, out=places)
            indexes = np.nan_to_num(places, copy=False).astype(np.uint8)
        if codes.any():
            for flag, index in ((HAS_NEGINF, NEGINF), (HAS_POSINF, POSINF), (HAS_NAN, NAN), (GAP, NOTHING)):
                indexes[(codes & flag) != 0] = index
        return indexes.tobytes()

    def _value_words(self, code: int, y: int, x: int) -> str:
        for flag, name in _KINDS:
            if code & flag:
                return name
        return self._number(y, x)

    def _number(self, y: int, x: int) -> str:
        return format_number(self.value(y, x), _DIGITS[self.image.format])


def _ranges(image: MapImage, rows: range, columns: range) -> str:
    rest = iter(image.axes.fixed)
    count = len(image.axes.fixed) + (image.axes.row_axis is not None) + (image.axes.column_axis is not None)
    parts = []
    for axis in range(count):
        if axis in (image.axes.row_axis, image.axes.column_axis):
            span = rows if axis == image.axes.row_axis else columns
            parts.append(str(span.start) if len(span) == 1 else f"{span.start}…{span.stop - 1}")
        else:
            parts.append(str(next(rest)))
    return ", ".join(parts)
