"""Tensors that are kept in pieces: whether the pieces make the whole, and reading through them.

A piece is a box of the whole (see `viewer.checkpoint.tensors.Piece`). In row-major order a box is a number of equally
long runs, and their beginnings ascend; so the runs that a range needs are found by bisection, and only they are read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from viewer.checkpoint.tensors import Assembly, Piece, contiguous_stride, is_contiguous, numel_of, span_of

ReadPiece: TypeAlias = Callable[[int, int, memoryview], None]
"""Fills a buffer with the bytes of a storage (by number) from an offset on."""
Box: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Start and shape."""

MAX_STRIDED_NBYTES: Final = 64 << 20
"""A piece whose elements are not dense and row-major in its storage is read as a whole; larger ones are refused."""
MAX_COMPARISONS: Final = 2_000_000
"""Pairs of pieces of one tensor that are compared for overlap, at a third of a microsecond each."""

_BATCH_NBYTES: Final = 1 << 20
_LONG_RUN: Final = 64 << 10
"""Runs from this length on are read straight to where they belong; shorter ones many at a time, then copied."""
_UNITS: Final[dict[int, Literal["B", "H", "I", "Q"]]] = {1: "B", 2: "H", 4: "I", 8: "Q"}


@dataclass(frozen=True, slots=True)
class Runs:
    """A box as runs of consecutive elements of the whole.

    Attributes
    ----------
    length
        Elements of each.
    extents, steps
        How many runs there are along each dimension, and how far apart they begin.
    first
        Where the first begins.
    """

    length: int
    extents: tuple[int, ...]
    steps: tuple[int, ...]
    first: int

    def __len__(self) -> int:
        return numel_of(self.extents)

    def __getitem__(self, number: int) -> int:
        """Where the run with this number begins, in elements of the whole; a sequence, for `bisect`."""
        start = self.first
        for extent, step in zip(reversed(self.extents), reversed(self.steps), strict=True):
            number, at = divmod(number, extent)
            start += at * step
        return start


def runs_of(whole: Sequence[int], start: Sequence[int], shape: Sequence[int]) -> Runs:
    """The runs of a box that is not empty."""
    strides = contiguous_stride(tuple(whole))
    inner = len(whole)  # dimensions from here on are one run
    length = 1
    while inner:
        inner -= 1
        length *= shape[inner]
        if shape[inner] != whole[inner]:
            break
    first = sum(at * step for at, step in zip(start, strides, strict=True))
    return Runs(length, tuple(shape[:inner]), strides[:inner], first)


def tiling_problem(whole: tuple[int, ...], boxes: Sequence[Box]) -> str:
    """Why boxes do not make up the whole, each element once; "" where they do."""
    for start, shape in boxes:
        if len(start) != len(whole) or len(shape) != len(whole):
            return f"a piece has {len(shape)} dimensions, the tensor {len(whole)}"
        if any(
            at < 0 or extent < 0 or at + extent > end for at, extent, end in zip(start, shape, whole, strict=True)
        ):
            return f"a piece of shape {shape} at {start} reaches outside the tensor"
    held = sum(numel_of(shape) for _, shape in boxes)
    needed = numel_of(whole)
    if held < needed:
        return f"its pieces hold {held:,} of its {needed:,} elements"
    if held > needed:
        return f"its pieces overlap: they hold {held:,} elements, the tensor has {needed:,}"
    ordered = sorted(box for box in boxes if numel_of(box[1]))
    left = MAX_COMPARISONS
    starts = [box[0][0] if whole else 0 for box in ordered]
    for nth, (start, shape) in enumerate(ordered):
        last = bisect_left(starts, start[0] + shape[0]) if whole else len(ordered)
        left -= max(last - nth - 1, 0)
        if left < 0:
            return f"it is kept in {len(boxes):,} pieces, too many to check"
        for other_start, other_shape in ordered[nth + 1 : last]:
            if all(
                a < b + more and b < a + extent
                for a, extent, b, more in zip(start, shape, other_start, other_shape, strict=True)
            ):
                return f"its pieces at {start} and {other_start} overlap"
    return ""


def layout_problem(piece: Piece, itemsize: int) -> str:
    """Why a piece cannot be read for the way it lies in its storage; "" where it can."""
    if min(piece.stride, default=0) < 0:
        return "it has a negative stride"
    if is_contiguous(piece.shape, piece.stride):
        return ""
    nbytes = max(span_of(piece.shape, piece.stride), numel_of(piece.shape)) * itemsize
    if nbytes > MAX_STRIDED_NBYTES:
        return f"a piece of {nbytes:,} bytes is not dense; such pieces are read up to {MAX_STRIDED_NBYTES:,}"
    return ""


class AssemblyReader:
    """Reads through the pieces of one tensor. Any number of threads may call `read_into`.

    Parameters
    ----------
    assembly
        Its pieces have been checked (`tiling_problem`, `layout_problem`).
    read
        Gives the bytes of the pieces' storages.
    """

    def __init__(self, assembly: Assembly, read: ReadPiece) -> None:
        self._itemsize = assembly.itemsize
        self._read = read
        self._pieces = [
            (piece, runs_of(assembly.shape, piece.start, piece.shape))
            for piece in assembly.pieces
            if numel_of(piece.shape)
        ]
        self._dense: tuple[Piece, bytearray] | None = None  # the last strided piece

    def read_into(self, offset: int, view: memoryview) -> None:
        """Fill `view` with the bytes of the whole from `offset` on."""
        itemsize = self._itemsize
        end = offset + len(view)
        for piece, runs in self._pieces:
            nbytes = runs.length * itemsize
            # Runs that reach beyond `offset` and begin before `end`.
            first = max(bisect_right(runs, offset // itemsize) - 1, 0)
            last = bisect_left(runs, -(-end // itemsize))
            if first < last and runs[first] * itemsize + nbytes <= offset:
                first += 1
            while first < last:
                count = 1 if nbytes >= _LONG_RUN else min(last - first, max(_BATCH_NBYTES // nbytes, 1))
                self._copy(piece, runs, first, first + count, offset, view)
                first += count

    def _copy(self, piece: Piece, runs: Runs, first: int, last: int, offset: int, view: memoryview) -> None:
        """Copy runs from number `first` to before `last`."""
        itemsize = self._itemsize
        nbytes, end = runs.length * itemsize, offset + len(view)
        if last - first == 1:
            at = runs[first] * itemsize
            low, high = max(at, offset), min(at + nbytes, end)
            self._read_piece(piece, first * nbytes + low - at, view[low - offset : high - offset])
            return
        batch = memoryview(bytearray((last - first) * nbytes))
        self._read_piece(piece, first * nbytes, batch)
        for nth in range(first, last):
            at = runs[nth] * itemsize
            low, high = max(at, offset), min(at + nbytes, end)
            skip = (nth - first) * nbytes - at
            view[low - offset : high - offset] = batch[low + skip : high + skip]

    def _read_piece(self, piece: Piece, offset: int, view: memoryview) -> None:
        """Bytes of a piece in its own row-major order."""
        if is_contiguous(piece.shape, piece.stride):
            self._read(piece.storage, piece.storage_offset * self._itemsize + offset, view)
            return
        dense = self._dense
        if dense is None or dense[0] is not piece:
            dense = self._dense = (piece, self._densify(piece))
        view[:] = memoryview(dense[1])[offset : offset + len(view)]

    def _densify(self, piece: Piece) -> bytearray:
        """All elements of a strided piece in row-major order."""
        itemsize = self._itemsize
        spread = memoryview(bytearray(span_of(piece.shape, piece.stride) * itemsize))
        self._read(piece.storage, piece.storage_offset * itemsize, spread)
        shape, stride = piece.shape, piece.stride
        unit = itemsize if itemsize in _UNITS else 8
        if unit < itemsize:  # complex128: two units an element
            per_element = itemsize // unit
            shape, stride = (*shape, per_element), (*(step * per_element for step in stride), 1)
        dense = bytearray(numel_of(piece.shape) * itemsize)
        source, target = spread.cast(_UNITS[unit]), memoryview(dense).cast(_UNITS[unit])
        extent, step = shape[-1], stride[-1]
        rows = Runs(extent, shape[:-1], stride[:-1], 0)
        for nth in range(len(rows)):
            at = rows[nth]
            if step:
                target[nth * extent : (nth + 1) * extent] = source[at : at + (extent - 1) * step + 1 : step]
            else:
                for twin in range(nth * extent, (nth + 1) * extent):
                    target[twin] = source[at]
        return dense
