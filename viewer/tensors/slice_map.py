"""A slice as an image, a line or a grid of kernels: computed in bounded memory, by several threads."""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING, Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.errors import ViewerError
from viewer.task import Progress, Task
from viewer.tensors.pixel_blocks import Blocks, blocks_of, parts_of, pixel_edges, rectangles
from viewer.tensors.results import Number
from viewer.tensors.scratch import Scratch
from viewer.tensors.slice_reader import SliceReader
from viewer.tensors.slice_results import LineEnvelope, MapImage, SliceAxes
from viewer.tensors.workers import WORKERS, Spares, answers

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_PIXELS: Final = 1 << 24
"""Pixels of a map: those of the largest screens. A pixel takes nine bytes at most."""

_CHUNK_NBYTES: Final = 4 << 20
"""Bytes of a rectangle: some milliseconds of work, beside which the calls cost little."""

_SMALL: Final = 1 << 18
"""Elements up to which threads are not worth their start."""


def map_task(
    checkpoint: Checkpoint,
    number: int,
    axes: SliceAxes,
    *,
    height: int,
    width: int,
    reduce: str = "absmax",
    row_range: tuple[int, int] | None = None,
    column_range: tuple[int, int] | None = None,
) -> Task[MapImage]:
    """A slice, or the given part of one, as an image (see `MapImage`).

    Raises
    ------
    ViewerError
        When the size or the reduction is none, or as `SliceReader` raises.
    """
    if reduce not in ("absmax", "max", "min", "mean"):
        raise ViewerError(f"there is no reduction {reduce!r}", advice="Choose absmax, max, min or mean")
    _check_pixels(height, width)
    tensor = checkpoint.tensor(number)
    swapped = _is_upright(tensor.stride, axes)
    walked = SliceAxes(axes.column_axis, axes.row_axis, axes.fixed) if swapped else axes
    with SliceReader(checkpoint, tensor, walked) as reader:
        rows, columns = (column_range, row_range) if swapped else (row_range, column_range)
        row_edges = _edges(rows, reader.rows, width if swapped else height)
        column_edges = _edges(columns, reader.columns, height if swapped else width)
        blocks = yield from _blocks_task(reader, row_edges, column_edges, mean=reduce == "mean")
        extents = reader.rows, reader.columns
        of = reader.of
    low, high = extremes_of(blocks)
    pixels, codes = pixels_of(blocks, reduce), blocks.coded()
    if swapped:
        pixels, codes, row_edges, column_edges = pixels.T, codes.T, column_edges, row_edges
        extents = extents[1], extents[0]
    return MapImage(
        number,
        tensor.dtype.name,
        of,
        axes,
        extents[0],
        extents[1],
        array("q", row_edges),
        array("q", column_edges),
        pixels.shape[0],
        pixels.shape[1],
        reduce,
        "f" if pixels.itemsize == 4 else "d",
        packed(pixels),
        codes.tobytes(),
        low,
        high,
    )


def line_task(
    checkpoint: Checkpoint,
    number: int,
    axis: int | None,
    *,
    width: int,
    fixed: tuple[int, ...] = (),
    index_range: tuple[int, int] | None = None,
) -> Task[LineEnvelope]:
    """Elements along one axis, each point with the extremes and the mean of those that it stands for."""
    import numpy as np

    _check_pixels(1, width)
    tensor = checkpoint.tensor(number)
    with SliceReader(checkpoint, tensor, SliceAxes(None, axis, fixed)) as reader:
        edges = _edges(index_range, reader.columns, width)
        blocks = yield from _blocks_task(reader, [0, 1], edges, mean=True)
        length, of = reader.columns, reader.of
    low, high = extremes_of(blocks)
    empty = blocks.low > blocks.high
    low_line, high_line, mean = (
        array("d", np.where(empty, np.nan, values)[0].astype(np.float64).tolist())
        for values in (blocks.low, blocks.high, blocks.reduced("mean"))
    )
    return LineEnvelope(
        number,
        tensor.dtype.name,
        of,
        axis,
        fixed,
        length,
        array("q", edges),
        low_line,
        high_line,
        mean,
        blocks.coded().tobytes(),
        low,
        high,
    )


def _is_upright(stride: tuple[int, ...], axes: SliceAxes) -> bool:
    """Whether the columns of a slice lie together in the storage, and not its rows."""
    if axes.row_axis is None or axes.column_axis is None or max(axes.row_axis, axes.column_axis) >= len(stride):
        return False
    return 0 < stride[axes.row_axis] < stride[axes.column_axis]


def _check_pixels(height: int, width: int) -> None:
    if height < 1 or width < 1 or height * width > MAX_PIXELS:
        raise ViewerError(
            f"a map of {height:,} × {width:,} pixels cannot be drawn", advice=f"Ask for 1 to {MAX_PIXELS:,} pixels"
        )


def _edges(part: tuple[int, int] | None, extent: int, pixels: int) -> list[int]:
    first, end = (0, extent) if part is None else (min(max(at, 0), extent) for at in part)
    return pixel_edges(first, max(first, end), pixels)


def _blocks_task(reader: SliceReader, row_edges: list[int], column_edges: list[int], *, mean: bool) -> Task[Blocks]:
    """The blocks between the edges. An axis along which the same elements repeat is read at one index."""
    same_rows, same_columns = reader.repeats
    few_rows = _once(row_edges) if same_rows else row_edges
    few_columns = _once(column_edges) if same_columns else column_edges
    blocks = yield from _all_blocks_task(reader, few_rows, few_columns, mean=mean)
    return blocks.repeated(
        len(row_edges) - 1 if same_rows else 1,
        len(column_edges) - 1 if same_columns else 1,
    )


def _once(edges: list[int]) -> list[int]:
    """The first index alone, if there is any."""
    return edges if edges[0] == edges[-1] else [edges[0], edges[0] + 1]


def _all_blocks_task(
    reader: SliceReader, row_edges: list[int], column_edges: list[int], *, mean: bool
) -> Task[Blocks]:
    import numpy as np

    rows, columns = range(row_edges[0], row_edges[-1]), range(column_edges[0], column_edges[-1])
    dtype = reader.numbers(np.empty(0, reader.element.unit), range(0), range(0)).dtype
    found = Blocks.empty(len(row_edges) - 1, len(column_edges) - 1, dtype, mean=mean)
    total, done = len(rows) * len(columns), 0
    itemsize = max(reader.tensor.dtype.itemsize, 1)
    limit = reader.affordable(max(_CHUNK_NBYTES // itemsize, 1))
    spares = Spares(Scratch)
    column_parts: dict[range, tuple[int, list[int]]] = {}  # the same for most rectangles

    def work(part: tuple[range, range]) -> tuple[int, int, int, Blocks]:
        some_rows, some_columns = part
        with spares.one() as scratch:
            units = reader.units(some_rows, some_columns, scratch)
            values = reader.numbers(units, some_rows, some_columns).reshape(len(some_rows), len(some_columns))
            row, row_starts = parts_of(row_edges, some_rows.start, some_rows.stop)
            if some_columns not in column_parts:
                column_parts[some_columns] = parts_of(column_edges, some_columns.start, some_columns.stop)
            column, column_starts = column_parts[some_columns]
            blocks = blocks_of(values, row_starts, column_starts, mean=mean)
            if np.shares_memory(blocks.high, units):  # nothing was reduced, and the next read writes there
                blocks.high, blocks.low = blocks.high.copy(), blocks.low.copy()
        return len(some_rows) * len(some_columns), row, column, blocks

    yield Progress(0, total, "values")
    results = answers(work, rectangles(rows, columns, limit), workers=1 if total <= _SMALL else WORKERS)
    try:
        for count, row, column, blocks in results:
            found.merge(blocks, row, column)
            done += count
            yield Progress(done, total, "values")
    finally:
        results.close()
    return found


def extremes_of(blocks: Blocks) -> tuple[Number | None, Number | None]:
    """The smallest and the largest finite element."""
    # Blocks without finite elements hold the largest number as their smallest, and the smallest as their largest.
    if not (blocks.low <= blocks.high).any():
        return None, None
    low: Number = blocks.low.min().item()
    high: Number = blocks.high.max().item()
    return low, high


def pixels_of(blocks: Blocks, reduce: str) -> npt.NDArray[Any]:
    """The pixels, as float32 where that is exact, NaN where there is no finite element."""
    import numpy as np

    values = blocks.reduced(reduce)
    exact = values.dtype == np.float32 or (values.dtype.kind in "iu" and values.itemsize <= 2)
    pixels = values.astype(np.float32 if exact else np.float64)
    pixels[blocks.low > blocks.high] = np.nan
    return pixels


def packed(pixels: npt.NDArray[Any]) -> bytes:
    """Row by row, little-endian."""
    return (pixels.byteswap() if sys.byteorder == "big" else pixels).tobytes()
