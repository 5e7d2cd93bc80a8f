"""Convolution kernels side by side, each pixel one element."""

from __future__ import annotations

from array import array

from viewer.checkpoint.document import Checkpoint
from viewer.errors import ViewerError
from viewer.task import Progress, Task
from viewer.tensors.pixel_blocks import blocks_of
from viewer.tensors.scratch import Scratch
from viewer.tensors.slice_map import extremes_of, packed, pixels_of
from viewer.tensors.slice_reader import SliceReader
from viewer.tensors.slice_results import GAP, MapImage, SliceAxes, Tiles, value_shape

MAX_TILE_PIXELS = 1 << 22
"""Pixels of one picture of kernels: 2,048 × 2,048."""

_TILES_AT_ONCE = 256


def kernels_task(
    checkpoint: Checkpoint,
    number: int,
    *,
    height: int,
    width: int,
    first_row: int = 0,
    first_column: int = 0,
    fixed: tuple[int, ...] = (),
) -> Task[MapImage]:
    """Kernels of a tensor of three dimensions or more: tile (i, j) shows `tensor[i, j, *fixed]`, of a 3-D one
    `tensor[j]`.

    As many whole tiles are drawn as `height` × `width` pixels hold, from the first asked for on.

    Raises
    ------
    ViewerError
        When the tensor has fewer dimensions, or not one tile fits; or as `SliceReader` raises.
    """
    import numpy as np

    tensor = checkpoint.tensor(number)
    shape = value_shape(tensor)
    if len(shape) < 3:
        raise ViewerError(f"a tensor of {len(shape)} dimensions has no kernels", advice="Look at it as a map")
    tiles = _tiles(shape, height, width, first_row, first_column)
    axes = SliceAxes(len(shape) - 2, len(shape) - 1, (*(0,) * min(len(shape) - 2, 2), *fixed))
    picture_height = max(tiles.n_rows * (tiles.height + 1) - 1, 0)
    picture_width = max(tiles.n_columns * (tiles.width + 1) - 1, 0)
    scratch = Scratch()
    total = tiles.n_rows * tiles.n_columns
    rows, columns = range(tiles.height), range(tiles.width)
    with SliceReader(checkpoint, tensor, axes) as reader:
        numbers = reader.numbers(np.empty(0, reader.element.unit), range(0), range(0))
        values = np.zeros((picture_height + 1, picture_width + 1), numbers.dtype)
        yield Progress(0, total, "kernels")
        for nth in range(total):
            row, column = divmod(nth, tiles.n_columns)
            at = tiles.first_row + row, tiles.first_column + column
            tile = reader.at((*(at[2 - min(len(shape) - 2, 2) :]), *fixed))
            found = tile.numbers(tile.units(rows, columns, scratch), rows, columns)
            y, x = row * (tiles.height + 1), column * (tiles.width + 1)
            values[y : y + tiles.height, x : x + tiles.width] = found.reshape(tiles.height, tiles.width)
            if nth % _TILES_AT_ONCE == _TILES_AT_ONCE - 1:
                yield Progress(nth + 1, total, "kernels")
        of = reader.of
    values = values[:picture_height, :picture_width]
    gaps = np.zeros(values.shape, np.bool_)
    gaps[tiles.height :: tiles.height + 1] = True
    gaps[:, tiles.width :: tiles.width + 1] = True
    blocks = blocks_of(values, list(range(values.shape[0])), list(range(values.shape[1])), mean=False)
    pixels, codes = pixels_of(blocks, "max"), blocks.coded()
    inside = blocks_of(values[~gaps].reshape(1, -1), [0], [0], mean=False) if (~gaps).any() else blocks
    low, high = extremes_of(inside)
    pixels[gaps] = np.nan
    codes[gaps] = GAP
    return MapImage(
        number,
        tensor.dtype.name,
        of,
        axes,
        tiles.height,
        tiles.width,
        array("q"),
        array("q"),
        pixels.shape[0],
        pixels.shape[1],
        "max",
        "f" if pixels.itemsize == 4 else "d",
        packed(pixels),
        codes.tobytes(),
        low,
        high,
        tiles,
    )


def _tiles(shape: tuple[int, ...], height: int, width: int, first_row: int, first_column: int) -> Tiles:
    tile_height, tile_width = shape[-2:]
    rows, columns = (1, shape[0]) if len(shape) == 3 else shape[:2]
    fit_rows, fit_columns = (height + 1) // (tile_height + 1), (width + 1) // (tile_width + 1)
    if fit_rows < 1 or fit_columns < 1 or height * width > MAX_TILE_PIXELS:
        raise ViewerError(
            f"kernels of {tile_height:,} × {tile_width:,} do not fit a picture of {height:,} × {width:,}",
            advice="Look at one of them as a map",
        )
    first_row, first_column = min(max(first_row, 0), rows), min(max(first_column, 0), columns)
    return Tiles(
        None if len(shape) == 3 else 0,
        0 if len(shape) == 3 else 1,
        first_row,
        first_column,
        min(fit_rows, rows - first_row),
        min(fit_columns, columns - first_column),
        rows,
        columns,
        tile_height,
        tile_width,
    )
