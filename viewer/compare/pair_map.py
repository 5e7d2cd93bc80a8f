"""Two tensors and their difference as three images of one grid, reduced while they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from viewer.checkpoint.document import Checkpoint
from viewer.compare.details import pieces
from viewer.compare.pair import PairComparer, Rooms
from viewer.compare.pair_details import PairMaps, grid_of
from viewer.compare.values import tensor_at_node
from viewer.errors import ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task

if TYPE_CHECKING:
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]

MAX_PIXELS: Final = 1024
"""Of one side of an image."""


def pair_map_task(
    a: Checkpoint,
    node_a: int,
    b: Checkpoint,
    node_b: int,
    *,
    height: int,
    width: int,
    row_range: tuple[int, int] | None = None,
    column_range: tuple[int, int] | None = None,
) -> Task[PairMaps]:
    """Reduce a part of the grid to at most `height` × `width` pixels; progress in elements.

    A pixel of a side is the element of largest magnitude in its block, with its sign (of complex ones the
    magnitude), and one of the difference the largest |b−a|. NaN where the block holds a value that is not finite.

    Raises
    ------
    ViewerError
        When one of them is no tensor, the shapes differ, or values cannot be read.
    """
    import numpy as np

    left, right = tensor_at_node(a, node_a), tensor_at_node(b, node_b)
    if left is None or right is None:
        raise ViewerError("only tensors can be drawn side by side", path=a.path if left is None else b.path)
    if left.shape != right.shape:
        raise ViewerError(f"tensors of shapes {left.shape} and {right.shape} have no common map")
    rows, columns = grid_of(left.shape)
    with StorageReader(a) as reader_a, StorageReader(b) as reader_b:
        comparer = PairComparer((a, left, reader_a), (b, right, reader_b), None, logical=True)
        walk = comparer.walk
        if left.shape and walk.count != rows * columns:  # packed types hold several values in an element
            columns = walk.count // rows if rows else 0
        first_row, end_row = _clipped(row_range, rows)
        first_column, end_column = _clipped(column_range, columns)
        high = min(height, MAX_PIXELS, end_row - first_row)
        wide = min(width, MAX_PIXELS, end_column - first_column)
        image = _Image(high, wide, (first_row, end_row), (first_column, end_column), columns)
        rooms = Rooms()
        begin, end = first_row * columns, end_row * columns
        for start in range(begin, end, walk.step) if high and wide else ():
            for piece in pieces(comparer, start, rooms):
                if piece.at >= end:
                    break
                image.add(piece.at, piece.a, piece.b, piece.distance, end)
            yield Progress(min(start + walk.step, end) - begin, end - begin, "elements")
        a_pixels, b_pixels, difference = image.pixels()
        finite = [np.abs(side[np.isfinite(side)]) for side in (a_pixels, b_pixels, difference)]
        largest = [float(part.max()) if part.size else 0.0 for part in finite]
        return PairMaps(
            rows,
            columns,
            (first_row, end_row),
            (first_column, end_column),
            high,
            wide,
            a_pixels.tobytes(),
            b_pixels.tobytes(),
            difference.tobytes(),
            max(largest[0], largest[1]),
            largest[2],
        )


def _clipped(wanted: tuple[int, int] | None, extent: int) -> tuple[int, int]:
    if wanted is None:
        return 0, extent
    first = max(0, min(wanted[0], extent))
    return first, max(first, min(wanted[1], extent))


class _Image:
    """The pixels as they grow. Block i of n pixels over m elements begins at i·m/n, rounded up."""

    def __init__(self, height: int, width: int, rows: tuple[int, int], columns: tuple[int, int], extent: int) -> None:
        import numpy as np

        self._shape = height, width
        self._rows, self._columns, self._extent = rows, columns, extent
        size = height * width
        self._high = np.full((2, size), -np.inf)
        self._low = np.full((2, size), np.inf)
        self._distance = np.zeros(size)
        self._broken = np.zeros((3, size), "?")

    def add(self, at: int, a: Array, b: Array, distance: Array, end: int) -> None:
        """Take in elements that begin at the flat index `at`; those from `end` on are not of the part."""
        import numpy as np

        height, width = self._shape
        count = min(a.size, end - at)
        row, column = np.divmod(np.arange(at, at + count), self._extent)
        inside: Array | slice = slice(0, count)
        if self._columns != (0, self._extent):
            inside = np.flatnonzero((column >= self._columns[0]) & (column < self._columns[1]))
            row, column = row[inside], column[inside]
        down = (row - self._rows[0]) * height // (self._rows[1] - self._rows[0])
        right = (column - self._columns[0]) * width // (self._columns[1] - self._columns[0])
        pixel = down * width + right
        for side, values in enumerate((a[inside], b[inside])):
            finite = np.isfinite(values)
            if not finite.all():
                self._broken[side, pixel[~finite]] = True
            np.maximum.at(self._high[side], pixel, np.where(finite, values, -np.inf))
            np.minimum.at(self._low[side], pixel, np.where(finite, values, np.inf))
        apart = distance[inside]
        finite = np.isfinite(apart)
        if not finite.all():
            self._broken[2, pixel[~finite]] = True
        np.maximum.at(self._distance, pixel, np.where(finite, apart, 0.0))

    def pixels(self) -> tuple[Array, Array, Array]:
        """Of a, of b and of the difference, as float64."""
        import numpy as np

        sides = []
        for side in range(2):
            high, low = self._high[side], self._low[side]
            values = np.where(np.abs(low) > np.abs(high), low, high)
            values[self._broken[side] | ~np.isfinite(values)] = np.nan
            sides.append(values)
        distance = self._distance.copy()
        distance[self._broken[2]] = np.nan
        return sides[0], sides[1], distance
