"""Which elements of a storage a view shows, in which order: blocks of a strided view, without touching a byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from viewer.checkpoint.tensors import TensorRef, numel_of, span_of
from viewer.errors import MalformedFile


@dataclass(frozen=True, slots=True)
class Block:
    """A strided view, or a part of one.

    Attributes
    ----------
    start
        Position of its first element in the order of the view that it is part of.
    offset, stride
        In elements of the storage.
    """

    start: int
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def numel(self) -> int:
        return numel_of(self.shape)

    @property
    def span(self) -> int:
        """Elements of the storage from the first that it touches to the last, both included."""
        return span_of(self.shape, self.stride)


@dataclass(frozen=True, slots=True)
class Order:
    """The elements of a view as they lie in the storage, each once.

    Attributes
    ----------
    block
        The view with its dimensions by falling stride; neighbours that are dense together are one dimension.
    copies
        How often the view shows each element (the extents of its dimensions of stride 0).
    extents, weights
        Of the dimensions before they were joined: a position in `block` unravelled by `extents` and multiplied by
        `weights` is the flat index in the logical order.
    """

    block: Block
    copies: int
    extents: tuple[int, ...]
    weights: tuple[int, ...]

    @property
    def is_logical(self) -> bool:
        """True where a position in `block` is the flat index already."""
        step = 1
        for extent, weight in zip(reversed(self.extents), reversed(self.weights), strict=True):
            if weight != step:
                return False
            step *= extent
        return True


def whole(tensor: TensorRef) -> Block:
    """The block of a whole strided tensor.

    Raises
    ------
    MalformedFile
        When the view has no storage, is not strided, or reaches outside its storage. The message is about one tensor,
        which whoever asks has at hand.
    """
    if tensor.problem is not None:
        raise MalformedFile(tensor.problem)
    if tensor.storage is None or tensor.layout != "strided":
        if tensor.layout != "strided":
            raise MalformedFile(f"a {tensor.layout} tensor: its values are in the rows below it")
        if "type" in tensor.extra and tensor.device != "meta":
            raise MalformedFile(f"a {tensor.extra['type']} around other tensors: its values are in the rows below it")
        raise MalformedFile(f"no data of it is stored (device {tensor.device})")
    block = Block(0, tensor.storage_offset, tensor.shape, tensor.stride)
    if (
        len(tensor.shape) != len(tensor.stride)
        or tensor.storage_offset < 0
        or any(step < 0 for step in tensor.stride)
    ):
        raise MalformedFile(f"its stride cannot be: {tensor.stride}")
    return block


def merged(block: Block) -> Block:
    """The same elements in the same order with as few dimensions as possible."""
    shape: list[int] = []
    stride: list[int] = []
    for extent, step in zip(block.shape, block.stride, strict=True):
        if extent == 1:
            continue
        if shape and stride[-1] == step * extent:
            shape[-1] *= extent
            stride[-1] = step
        else:
            shape.append(extent)
            stride.append(step)
    return Block(block.start, block.offset, tuple(shape), tuple(stride))


def storage_order(block: Block) -> Order | None:
    """The elements as they lie in the storage; None where a view other than an expanded one shows some repeatedly
    (a sliding window)."""
    weights: list[int] = []
    step = 1
    for extent in reversed(block.shape):
        weights.append(step)
        step *= extent
    dims = zip(block.stride, block.shape, reversed(weights), strict=True)
    copies = 1
    real: list[tuple[int, int, int]] = []
    for stride, extent, weight in dims:
        if stride == 0:
            copies *= extent
        elif extent != 1:
            real.append((stride, extent, weight))
    real.sort(key=_stride_of, reverse=True)
    for index, (stride, _, _) in enumerate(real):
        inner = real[index + 1 :]
        if stride < 1 + sum((extent - 1) * below for below, extent, _ in inner):
            return None
    strides = tuple(dim[0] for dim in real)
    extents = tuple(dim[1] for dim in real)
    joined = merged(Block(0, block.offset, extents, strides))
    return Order(joined, copies, extents, tuple(dim[2] for dim in real))


def _stride_of(dim: tuple[int, int, int]) -> int:
    return dim[0]


def blocks(block: Block, limit: int, start: int = 0, count: int | None = None) -> Iterator[Block]:
    """Parts of a block, in order and without a gap, of at most `limit` elements each.

    Parameters
    ----------
    start, count
        Which elements, by their position in the block; all from `start` on when `count` is None.
    """
    flat = merged(block)
    total = flat.numel
    stop = total if count is None else min(start + count, total)
    if start >= stop:
        return
    if not flat.shape:
        yield Block(0, flat.offset, (1,), (1,))
        return
    yield from _split(flat, limit, start, stop)


def _split(block: Block, limit: int, start: int, stop: int) -> Iterator[Block]:
    """Parts of `block`, which has a dimension at least, of the positions from `start` to `stop`."""
    (extent, *inner_shape), (step, *inner_stride) = block.shape, block.stride
    inner = numel_of(tuple(inner_shape))
    rows_at_once = max(limit // inner, 1)
    while start < stop:
        row, within = divmod(start, inner)
        if within == 0 and stop - start >= inner and inner <= limit:
            rows = min(rows_at_once, (stop - start) // inner)
            yield Block(block.start + start, block.offset + row * step, (rows, *inner_shape), (step, *inner_stride))
            start += rows * inner
            continue
        end = min(inner, within + stop - start)
        below = Block(block.start + row * inner, block.offset + row * step, tuple(inner_shape), tuple(inner_stride))
        yield from _split(below, limit, within, end)
        start += end - within
    assert start <= extent * inner


def pieces(block: Block, gap: int, longest: int) -> Iterator[tuple[tuple[slice, ...], Block]]:
    """A block as pieces of the storage that are worth reading in one go, each with its place in the block.

    Parameters
    ----------
    gap
        Elements between two runs that are read along rather than skipped.
    longest
        Elements that a piece may span, unless a single run without gaps is longer.

    Dimensions of stride 0 have extent 1 in every piece.
    """
    dims = sorted((step, axis) for axis, step in enumerate(block.stride) if step)
    taken = [1] * len(block.shape)  # extent of a piece along each axis
    span = 1
    for step, axis in dims:
        if step - span > gap:
            break
        taken[axis] = min(block.shape[axis], max((longest - span) // step + 1, 1))
        span += (taken[axis] - 1) * step
        if taken[axis] < block.shape[axis]:
            break
    starts = [
        range(0, block.shape[axis], taken[axis]) if step else range(1) for axis, step in enumerate(block.stride)
    ]
    for corner in product(*starts):
        where = tuple(
            slice(at, min(at + n, extent)) for at, n, extent in zip(corner, taken, block.shape, strict=True)
        )
        shape = tuple(part.stop - part.start for part in where)
        offset = block.offset + sum(at * step for at, step in zip(corner, block.stride, strict=True))
        yield where, Block(block.start, offset, shape, block.stride)
