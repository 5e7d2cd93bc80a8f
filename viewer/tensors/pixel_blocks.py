"""Many elements to one pixel: extremes, means and kinds of the elements of each block of a slice."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from viewer.tensors.slice_results import HAS_NAN, HAS_NEGINF, HAS_POSINF, NO_FINITE

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[Any]


_NARROW: Final = 16
"""Columns of one block up to which they are better taken one after the other."""


def pixel_edges(first: int, end: int, pixels: int) -> list[int]:
    """Where the blocks of `first` … `end - 1` begin, and the end: as equal as whole numbers can be, none empty."""
    extent = end - first
    count = max(min(extent, pixels), 0)
    return [first + at * extent // max(count, 1) for at in range(count + 1)]


@dataclass(slots=True)
class Blocks:
    """What is known of the blocks of some pixel rows and columns.

    Attributes
    ----------
    low, high
        Of the finite elements; where there is none, the largest and the smallest number of the dtype.
    codes
        HAS_NAN, HAS_POSINF, HAS_NEGINF.
    total, count
        Sum and number of the finite elements; None where no mean is wanted.
    """

    low: Array
    high: Array
    codes: npt.NDArray[np.uint8]
    total: npt.NDArray[np.float64] | None
    count: npt.NDArray[np.int64] | None

    @classmethod
    def empty(cls, height: int, width: int, dtype: np.dtype[Any], *, mean: bool) -> Blocks:
        import numpy as np

        smallest, largest = _ends(dtype)
        shape = (height, width)
        return cls(
            np.full(shape, largest, dtype),
            np.full(shape, smallest, dtype),
            np.zeros(shape, np.uint8),
            np.zeros(shape) if mean else None,
            np.zeros(shape, np.int64) if mean else None,
        )

    def merge(self, other: Blocks, row: int, column: int) -> None:
        """Add blocks whose first pixel is at `row`, `column`."""
        import numpy as np

        height, width = other.low.shape
        here = slice(row, row + height), slice(column, column + width)
        np.minimum(self.low[here], other.low, out=self.low[here])
        np.maximum(self.high[here], other.high, out=self.high[here])
        self.codes[here] |= other.codes
        if self.total is not None and self.count is not None:
            assert other.total is not None
            assert other.count is not None
            self.total[here] += other.total
            self.count[here] += other.count

    def repeated(self, rows: int, columns: int) -> Blocks:
        """The same with every pixel `rows` times below each other and `columns` times side by side."""
        if rows == columns == 1:
            return self
        return Blocks(
            self.low.repeat(rows, 0).repeat(columns, 1),
            self.high.repeat(rows, 0).repeat(columns, 1),
            self.codes.repeat(rows, 0).repeat(columns, 1),
            None if self.total is None else self.total.repeat(rows, 0).repeat(columns, 1),
            None if self.count is None else self.count.repeat(rows, 0).repeat(columns, 1),
        )

    def coded(self) -> npt.NDArray[np.uint8]:
        """The codes with NO_FINITE where a block holds no finite element."""
        codes: npt.NDArray[np.uint8] = self.codes | (self.low > self.high).astype("u1") * NO_FINITE
        return codes

    def reduced(self, reduce: str) -> Array:
        """One number for each block (see `MapImage.reduce`); where there is no finite element, any."""
        import numpy as np

        if reduce == "max":
            return self.high
        if reduce == "min":
            return self.low
        if reduce == "mean":
            assert self.total is not None
            assert self.count is not None
            return self.total / np.maximum(self.count, 1)
        if self.high.dtype.kind == "u":
            return self.high
        # The negative of the smallest integer does not exist; ~x = -x - 1 does.
        if self.high.dtype.kind == "i":
            return np.where((self.low < 0) & (~self.low >= self.high), self.low, self.high)
        return np.where(-self.low > self.high, self.low, self.high)


def blocks_of(values: Array, row_starts: list[int], column_starts: list[int], *, mean: bool) -> Blocks:
    """The blocks of a rectangle.

    Parameters
    ----------
    values
        2-D.
    row_starts, column_starts
        Indexes at which a block begins; the first is 0.
    """
    import numpy as np

    low, high = _extremes(values, values, row_starts, column_starts)
    codes = np.zeros(high.shape, np.uint8)
    finite: npt.NDArray[np.bool_] | None = None
    if values.dtype.kind == "f" and not (np.isfinite(high).all() and np.isfinite(low).all()):
        finite = np.isfinite(values)
        for code, mask in (
            (HAS_NAN, np.isnan(values)),
            (HAS_POSINF, values == np.inf),
            (HAS_NEGINF, values == -np.inf),
        ):
            codes |= _reduced(np.logical_or, mask, row_starts, column_starts).astype("u1") * np.uint8(code)
        smallest, largest = _ends(values.dtype)
        without_high, without_low = np.where(finite, values, smallest), np.where(finite, values, largest)
        low, high = _extremes(without_low, without_high, row_starts, column_starts)
    total = count = None
    if mean:
        floats = values.astype(np.float64)
        if finite is not None:
            floats[~finite] = 0.0
        total = _reduced(np.add, floats, row_starts, column_starts)
        if finite is None:
            heights = np.diff(row_starts, append=values.shape[0])
            count = np.outer(heights, np.diff(column_starts, append=values.shape[1]))
        else:
            count = _reduced(np.add, finite.astype(np.int64), row_starts, column_starts)
    return Blocks(low, high, codes, total, count)


def _extremes(
    for_low: Array, for_high: Array, row_starts: list[int], column_starts: list[int]
) -> tuple[Array, Array]:
    """The smallest of some values and the largest of others (usually the same), block by block."""
    import numpy as np

    rows, columns = for_low.shape
    if len(row_starts) < rows:
        low_lines = np.empty((len(row_starts), columns), for_low.dtype)
        high_lines = np.empty_like(low_lines)
        # Both at a time: the rows of a block are in the cache of the core then.
        for nth, (at, end) in enumerate(zip(row_starts, [*row_starts[1:], rows], strict=True)):
            np.minimum.reduce(for_low[at:end], axis=0, out=low_lines[nth])
            np.maximum.reduce(for_high[at:end], axis=0, out=high_lines[nth])
        for_low, for_high = low_lines, high_lines
    return _columns_reduced(np.minimum, for_low, column_starts), _columns_reduced(np.maximum, for_high, column_starts)


def _reduced(ufunc: np.ufunc, values: Array, row_starts: list[int], column_starts: list[int]) -> Array:
    import numpy as np

    rows = values.shape[0]
    if len(row_starts) < rows:
        ends = [*row_starts[1:], rows]
        values = np.stack([ufunc.reduce(values[at:end], axis=0) for at, end in zip(row_starts, ends, strict=True)])
    return _columns_reduced(ufunc, values, column_starts)


def _columns_reduced(ufunc: np.ufunc, lines: Array, column_starts: list[int]) -> Array:
    import numpy as np

    columns = lines.shape[1]
    if len(column_starts) == columns:
        return lines
    starts = np.array(column_starts)
    widths = np.diff(starts, append=columns)
    widest = int(widths.max())
    if widest > _NARROW:
        reduced: Array = ufunc.reduceat(lines, starts, axis=1)
        return reduced
    # Neighbours one after the other: three times as fast as `reduceat`, which spends its time on starting anew.
    reduced = np.take(lines, starts, axis=1)
    for nth in range(1, widest):
        if ufunc is np.add:
            more = np.flatnonzero(nth < widths)
            reduced[:, more] += np.take(lines, starts[more] + nth, axis=1)
        else:
            ufunc(reduced, np.take(lines, starts + np.minimum(nth, widths - 1), axis=1), out=reduced)
    return reduced


def _ends(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """What every number of a dtype is not below, and not above."""
    import numpy as np

    if dtype.kind == "f":
        return -np.inf, np.inf
    info = np.iinfo(dtype)
    return info.min, info.max


def parts_of(edges: list[int], first: int, end: int) -> tuple[int, list[int]]:
    """The first block of a part of what the edges divide, and where in the part blocks begin."""
    block = bisect_right(edges, first) - 1
    inner = edges[block + 1 : bisect_left(edges, end, lo=block + 1)]
    return block, [0, *(edge - first for edge in inner)]


def rectangles(rows: range, columns: range, limit: int) -> Iterator[tuple[range, range]]:
    """A slice in rectangles of at most `limit` elements: whole rows where they fit, parts of one row else."""
    if not len(rows) or not len(columns):
        return
    high = max(limit // len(columns), 1)
    for top in range(rows.start, rows.stop, high):
        some = range(top, min(top + high, rows.stop))
        for left in range(columns.start, columns.stop, limit if high == 1 else len(columns)):
            yield some, range(left, min(left + limit, columns.stop) if high == 1 else columns.stop)
