"""Two tensors of one shape, read side by side: blocks of both in the same order, as units and as numbers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorFlag, TensorRef
from viewer.formats.storage_bytes import StorageReader
from viewer.tensors.elements import element_of, pattern_values
from viewer.tensors.layout import Order, blocks
from viewer.tensors.quantized import Quantizer, quantizer_of
from viewer.tensors.scratch import Scratch
from viewer.tensors.source import ElementSource

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array: TypeAlias = npt.NDArray[Any]

Form: TypeAlias = Literal["float", "int", "complex"]
"""float: float32 or float64. int: int64, or uint64 for that dtype. complex: pairs of float32 or float64."""

PRECISION: Final = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""Of the dtypes that have more than 4 bits (`torch.finfo`); others are taken as if they had 8, which is safe."""

BLOCK_NBYTES: Final = 1 << 20
"""Bytes of one block of one side: both sides, as numbers, stay in the caches."""


class SideReader:
    """One tensor of a pair. Threads may share it; each brings its scratch.

    Attributes
    ----------
    form
        Of the numbers that `numbers` gives.
    units
        Array entries per element, in units and (for complex) in numbers.
    """

    def __init__(self, checkpoint: Checkpoint, tensor: TensorRef, reader: StorageReader) -> None:
        self.tensor = tensor
        self.name = tensor.dtype.name
        self.source = ElementSource(checkpoint, tensor, reader=reader)
        self.element = element_of(tensor.dtype)
        self.quantizer: Quantizer | None = None
        if tensor.dtype.kind == "quantized":
            self.quantizer = quantizer_of(checkpoint, tensor)
        self.units = self.element.units
        self.form: Form = "int" if self.element.is_integer and self.quantizer is None else "float"
        if self.element.form == "complex":
            self.form = "complex"
        # Negation of these is undefined in torch; the bit is only ever set on what can be negative.
        self._negative = bool(tensor.flags & TensorFlag.NEG) and tensor.dtype.kind in ("float", "complex", "int")
        self._conjugate = bool(tensor.flags & TensorFlag.CONJ) and self.form == "complex"

    @property
    def needs_place(self) -> bool:
        """Whether the value of an element depends on where it stands."""
        return self.quantizer is not None and not self.quantizer.is_per_tensor

    def read(self, start: int, count: int, order: Order | None, scratch: Scratch) -> Array:
        """The units of consecutive elements with the conjugate and negative bits applied, valid until the next read.

        Parameters
        ----------
        start, count
            Positions in `order`, or flat indexes where that is None.
        """
        units = self._stored(start, count, order, scratch)
        if self._negative or self._conjugate:
            units = self._resolved(units)
        return units

    def _stored(self, start: int, count: int, order: Order | None, scratch: Scratch) -> Array:
        source = self.source
        if order is None:
            parts = source.logical_blocks(count, start, count)
        else:
            parts = blocks(order.block, count, start, count)
        first = next(parts)
        units = source.read(first, scratch)
        at = start - source.first_index(first) if order is None else 0
        wanted = count * self.units
        if at == 0 and units.size >= wanted:
            return units[:wanted]
        whole = scratch.array("whole", units.dtype.str[1:], wanted)
        filled = 0
        while True:
            taken = units[at * self.units : at * self.units + wanted - filled]
            whole[filled : filled + taken.size] = taken
            filled += taken.size
            if filled == wanted:
                return whole
            # A view with gaps, or a packed one, comes in several blocks.
            units = source.read(next(parts), scratch)
            at = 0

    def _resolved(self, units: Array) -> Array:
        import numpy as np

        if self.form == "complex":
            resolved = units.copy()
            if self._negative:
                np.negative(resolved, out=resolved)
            if self._conjugate:
                np.negative(resolved[1::2], out=resolved[1::2])
            return resolved
        if self.element.form != "pattern":
            return np.negative(units)
        if self.form == "float":
            sign = units.dtype.type(1 << (8 * units.itemsize - 1))
            flipped: Array = np.bitwise_xor(units, sign)
            return flipped
        return np.negative(units)

    def numbers(self, units: Array, first: int, scratch: Scratch) -> Array:
        """The units as numbers of `form`; may be the units themselves, or lie in `scratch` until the next call."""
        import numpy as np

        if self.quantizer is not None:
            return self.quantizer.real(self._integers(units), first)
        if self.form == "int":
            return self._integers(units)
        if self.name == "bfloat16":
            wide = scratch.array("widened", "u4", units.size)
            np.copyto(wide, units)
            np.left_shift(wide, 16, out=wide)
            return wide.view(np.float32)
        if self.element.form == "pattern":
            narrow = scratch.array("widened", "f4", units.size)
            np.take(_float32_values(self.name), units, out=narrow, mode="clip")
            return narrow
        if units.dtype == np.float16:  # complex32
            return units.astype(np.float32)
        return units

    def _integers(self, units: Array) -> Array:
        import numpy as np

        name = self.name
        if name == "uint64":
            return units
        if self.element.form != "pattern":
            return units.astype(np.int64, copy=False)
        if name in ("uint8", "uint16", "quint8"):
            return units.astype(np.int64)
        if name in ("int8", "int16", "qint8"):
            return units.view(f"i{units.itemsize}").astype(np.int64)
        return pattern_values(name)[units]

    def patterns(self, units: Array, scratch: Scratch) -> Array:
        """The bit patterns of a float dtype as signed integers, int32 or int64, from which `tally_steps` counts
        how many numbers of the dtype lie between two; of narrow dtypes the places in their order."""
        import numpy as np

        if self.element.form == "pattern" and self.element.itemsize == 1:
            return step_table(self.name)[units]
        bits = units.view(f"i{units.itemsize}")
        if units.itemsize > 2:
            return bits
        wide = scratch.array("patterns", "i4", units.size)
        np.copyto(wide, bits)
        return wide

    @property
    def precision(self) -> int:
        """Bits of the significand of a float dtype, the hidden one among them."""
        return PRECISION.get(self.name, 8)

    @property
    def magnitude_bits(self) -> int:
        """The bits of a pattern without its sign; 0 where `patterns` gives places in the order."""
        if self.element.form == "pattern" and self.element.itemsize == 1:
            return 0
        return (1 << (8 * self.element.itemsize // self.units - 1)) - 1


@lru_cache(maxsize=16)
def _float32_values(name: str) -> npt.NDArray[np.float32]:
    import numpy as np

    with np.errstate(invalid="ignore"):
        return pattern_values(name).astype(np.float32)


@lru_cache(maxsize=16)
def step_table(name: str) -> npt.NDArray[np.int32]:
    """The place of every pattern of a narrow float dtype among its values; that of NaN is 0 and means nothing."""
    import numpy as np

    values = np.nan_to_num(pattern_values(name).astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    ranks = np.unique(values, return_inverse=True)[1]
    return np.asarray(ranks, dtype=np.int32).reshape(-1)


class PairWalk:
    """How a pair is walked: as both lie in their storages where they lie alike, else in logical order.

    Attributes
    ----------
    order_a, order_b
        None for the logical order.
    copies
        How often the tensors show each element that is walked.
    count, walked
        Elements, and those of them that are walked.
    """

    def __init__(self, a: SideReader, b: SideReader, *, logical: bool = False) -> None:
        self.a = a
        self.b = b
        self.order_a: Order | None = None
        self.order_b: Order | None = None
        self.copies = 1
        order_a, order_b = a.source.order, b.source.order
        if not logical and order_a is not None and order_b is not None and not (a.needs_place or b.needs_place):
            alike = order_a.copies == order_b.copies and order_a.extents == order_b.extents
            if alike and order_a.weights == order_b.weights:
                self.order_a, self.order_b = order_a, order_b
                self.copies = order_a.copies
        self.count = a.source.count
        self.walked = self.count // self.copies if self.count else 0
        widest = max(side.element.itemsize / side.element.per_byte for side in (a, b))
        self.step = max(int(BLOCK_NBYTES / widest), 1)

    @property
    def starts(self) -> range:
        """Where the blocks begin; each has `step` elements, the last perhaps fewer."""
        return range(0, self.walked, self.step)

    def read(self, start: int, rooms: tuple[Scratch, Scratch]) -> tuple[Array, Array]:
        """The units of the block that begins there, of both sides."""
        count = min(self.step, self.walked - start)
        return (
            self.a.read(start, count, self.order_a, rooms[0]),
            self.b.read(start, count, self.order_b, rooms[1]),
        )

    def nbytes_of(self, start: int) -> int:
        """Bytes of the block that begins there, of both sides."""
        count = min(self.step, self.walked - start)
        return sum(-(-count * side.element.itemsize // side.element.per_byte) for side in (self.a, self.b))

    @property
    def nbytes(self) -> int:
        """Bytes that one walk reads from both sides."""
        return sum(-(-self.walked * side.element.itemsize // side.element.per_byte) for side in (self.a, self.b))

    def flat_index(self, positions: Array) -> Array:
        """The flat indexes, in logical order, of the elements at some positions of the walk."""
        if self.order_a is None or self.order_a.is_logical:
            return positions
        index = positions * 0
        for extent, weight in zip(reversed(self.order_a.extents), reversed(self.order_a.weights), strict=True):
            positions, along = divmod(positions, extent)
            index += along * weight
        return index
