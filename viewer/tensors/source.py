"""The stored elements of one tensor, block by block, in their own dtype and in this machine's byte order."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import StorageRef, TensorRef
from viewer.errors import LimitExceeded, MalformedFile
from viewer.formats.storage_bytes import StorageReader
from viewer.tensors.elements import Element, element_of
from viewer.tensors.layout import Block, Order, blocks, merged, pieces, storage_order, whole
from viewer.tensors.scratch import Scratch

if TYPE_CHECKING:
    import numpy.typing as npt

GAP_NBYTES: Final = 16 << 10
"""Bytes between two runs of a view that are read along: copying them costs less than another system call does."""

_SPAN_NBYTES: Final = 4 << 20
"""The longest piece of a view with gaps that is read at once."""

_BLOCK_COST_S: Final = 0.02
"""What reading one block may take, roughly, so that a task can be stopped between two."""

_WORD: Final = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
"""numpy codes of one element while it is only moved."""

_MAX_COUNT: Final = (1 << 63) - 1
"""Elements that torch can count."""


class ElementSource:
    """Reads the elements of one tensor. A context manager; any number of threads may call `read`.

    Packed types (two or four values in a byte) are unpacked; each value counts as an element.

    Attributes
    ----------
    count
        Elements in logical order.
    order
        How to walk the elements as they lie in the storage, each once; None where only the logical order will do.
    """

    def __init__(self, checkpoint: Checkpoint, tensor: TensorRef, *, reader: StorageReader | None = None) -> None:
        self.checkpoint = checkpoint
        self.tensor = tensor
        self.element: Element = element_of(tensor.dtype)
        self._skipped = 0  # packed values before the first, in its byte
        self._block = self._checked_block()
        per_byte = self.element.per_byte
        self.count = tensor.numel * per_byte if tensor.dtype.kind == "bits" else tensor.numel
        if self.count > _MAX_COUNT:
            raise LimitExceeded(f"tensor {tensor.number} has {self.count:,} elements", path=checkpoint.path)
        self.order: Order | None = storage_order(self._block) if per_byte == 1 else None
        self._reader = StorageReader(checkpoint) if reader is None else reader
        self._owns_reader = reader is None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._owns_reader:
            self._reader.close()

    @property
    def storage(self) -> StorageRef:
        assert self.tensor.storage is not None
        return self.tensor.storage

    def logical_blocks(self, limit: int, start: int = 0, count: int | None = None) -> Iterator[Block]:
        """Blocks of at most about `limit` elements, in logical order; `Block.start` is in bytes for packed types."""
        stop = self.count if count is None else min(start + count, self.count)
        if start >= stop:
            return
        per_byte = self.element.per_byte
        if per_byte == 1:
            yield from blocks(self._block, self.affordable(limit, logical=True), start, stop - start)
            return
        first = (start + self._skipped) // per_byte
        last = -(-(stop + self._skipped) // per_byte)
        yield from blocks(self._block, max(limit // per_byte, 1), first, last - first)

    def storage_blocks(self, limit: int) -> Iterator[Block]:
        """Blocks as the elements lie in the storage; only where `order` is not None."""
        assert self.order is not None
        if self.count:
            yield from blocks(self.order.block, self.affordable(limit, logical=False))

    def first_index(self, block: Block) -> int:
        """The flat index of the first element that `read` gives for a logical block."""
        return max(block.start * self.element.per_byte - self._skipped, 0)

    def read(self, block: Block, scratch: Scratch) -> npt.NDArray[Any]:
        """The elements of a block, 1-D and in its order; complex ones as pairs of units, one after the other.

        The array lies in `scratch` and is valid until the next read with it.
        """
        element = self.element
        out = scratch.array("elements", _WORD[element.itemsize], block.numel)
        self._fill(block, out, scratch)
        units = out.view(element.unit)
        if self.storage.big_endian != (sys.byteorder == "big") and units.itemsize > 1:
            units.byteswap(inplace=True)
        if element.per_byte > 1:
            return self._unpacked(block, units, scratch)
        return units

    def read_element(self, index: int, scratch: Scratch) -> npt.NDArray[Any]:
        """The units of the element with this flat index."""
        (block,) = self.logical_blocks(1, index, 1)
        units = self.read(block, scratch)
        at = index - self.first_index(block) if self.element.per_byte > 1 else 0
        return units[at : at + self.element.units]

    def _checked_block(self) -> Block:
        """The view as a block, after a check that it lies inside its storage."""
        tensor = self.tensor
        try:
            block = whole(tensor)
        except MalformedFile as error:
            raise error.about(self.checkpoint.path) from None
        per_byte = self.element.per_byte
        if per_byte > 1 and tensor.dtype.kind == "quantized":
            # The shape counts values, and torch packs them through all dimensions.
            if not tensor.is_contiguous:
                raise MalformedFile(
                    f"tensor {tensor.number} is packed and strided, which torch cannot make",
                    path=self.checkpoint.path,
                )
            first, self._skipped = divmod(tensor.storage_offset, per_byte)
            nbytes = -(-(self._skipped + tensor.numel) // per_byte) if tensor.numel else 0
            block = Block(0, first, (nbytes,), (1,))
        if block.numel and (block.offset + block.span) * self.element.itemsize > self.storage.nbytes:
            raise MalformedFile(
                f"tensor {tensor.number} needs {(block.offset + block.span) * self.element.itemsize:,} bytes of "
                f"storage {self.storage.key}, which has {self.storage.nbytes:,}",
                path=self.checkpoint.path,
                advice="The file may be cut short or forged; the other tensors are not affected",
            )
        return block

    def affordable(self, limit: int, *, logical: bool) -> int:
        """`limit`, or fewer elements where the view lies so thinly in its storage that they would take long."""
        flat = merged(self._block if logical or self.order is None else self.order.block)
        if not flat.numel or not flat.shape or (len(flat.shape) == 1 and flat.stride[0] == 1):
            return limit
        itemsize = self.element.itemsize
        _, piece = next(pieces(flat, GAP_NBYTES // itemsize, _SPAN_NBYTES // itemsize))
        # A read costs some 2 µs, and copying 8 GB/s.
        cost_s = 2e-6 + piece.span * itemsize / 8e9
        return max(min(limit, int(piece.numel * _BLOCK_COST_S / cost_s)), 1)

    def _fill(self, block: Block, out: npt.NDArray[Any], scratch: Scratch) -> None:
        """Read a block into `out`, 1-D and dense in the block's order."""
        flat = merged(block)
        if not flat.shape or (len(flat.shape) == 1 and flat.stride[0] == 1):
            self._read_into(flat.offset, out)
        else:
            self._fill_strided(flat, out.reshape(flat.shape), scratch)

    def _fill_strided(self, block: Block, out: npt.NDArray[Any], scratch: Scratch) -> None:
        """Read a block into `out` of its shape, piece by piece (see `viewer.tensors.layout.pieces`)."""
        import numpy as np

        itemsize = self.element.itemsize
        strides = tuple(step * itemsize for step in block.stride)
        # A dimension of stride 0 is read once and then repeated.
        target = out[tuple(slice(0, 1) if step == 0 else slice(None) for step in block.stride)]
        for where, piece in pieces(block, GAP_NBYTES // itemsize, _SPAN_NBYTES // itemsize):
            buffer = scratch.array("piece", _WORD[itemsize], piece.span)
            self._read_into(piece.offset, buffer)
            target[where] = np.lib.stride_tricks.as_strided(buffer, piece.shape, strides, writeable=False)
        if target.shape != out.shape:
            out[...] = target

    def _read_into(self, offset: int, out: npt.NDArray[Any]) -> None:
        import numpy as np

        if out.nbytes:
            self._reader.read_into(self.storage, offset * self.element.itemsize, out.view(np.uint8).data)

    def _unpacked(self, block: Block, packed: npt.NDArray[Any], scratch: Scratch) -> npt.NDArray[Any]:
        import numpy as np

        per_byte = self.element.per_byte
        bits = 8 // per_byte
        unpacked = scratch.array("unpacked", "u1", packed.size * per_byte)
        for position in range(per_byte):
            np.right_shift(packed, position * bits, out=unpacked[position::per_byte])
        np.bitwise_and(unpacked, (1 << bits) - 1, out=unpacked)
        skipped = self._skipped if block.start == 0 else 0
        first = self.first_index(block)
        return unpacked[skipped : skipped + self.count - first]
