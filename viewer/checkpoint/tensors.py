"""Tensors and storages of a checkpoint, as references: where the values lie, never the values themselves."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Final

from viewer.checkpoint.dtypes import DTYPES, DType


class TensorFlag(IntFlag):
    """Facts about a tensor that are either so or not."""

    REQUIRES_GRAD = 1
    PARAMETER = 2
    CONJ = 4
    """The conjugate bit: the values are the conjugates of what the storage holds."""
    NEG = 8
    """The negative bit: the values are the negatives of what the storage holds."""


NO_STORAGE: Final = -1
"""Storage index of a tensor that has none of its own (meta, sparse, nested …)."""

STORED: Final = 0
DEFLATED: Final = 1
INLINE: Final = 2
UNREADABLE: Final = 3
CHUNKED: Final = 4


@dataclass(slots=True)
class StorageTable:
    """Columns over all storages; index = storage number.

    Attributes
    ----------
    key
        The storage key as the file writes it ("0", an address …).
    dtype
        Code of the dtype that the storage is saved as.
    nbytes
        Bytes of the storage by what the pickle or header says.
    location
        The device tag ("cpu", "cuda:0").
    encoding
        STORED (offset and length in file `file` are checked and true), DEFLATED (the same, of a raw deflate stream
        that inflates to `nbytes`), INLINE (the bytes are `Checkpoint.blobs[offset]`), CHUNKED (put together as
        `Checkpoint.chunks[offset]` says), UNREADABLE.
    file
        Index into `Checkpoint.files`.
    offset, length
        Byte range in that file.
    big_endian
        1 where elements are stored with the most significant byte first.
    problem
        By storage number: why its bytes cannot be read. Every UNREADABLE one has an entry.
    crc
        By storage number: the CRC-32 that the file keeps of exactly the storage's bytes, where it keeps one.
    """

    key: list[str] = field(default_factory=list)
    dtype: array[int] = field(default_factory=lambda: array("B"))
    nbytes: array[int] = field(default_factory=lambda: array("q"))
    location: list[str] = field(default_factory=list)
    encoding: array[int] = field(default_factory=lambda: array("B"))
    file: array[int] = field(default_factory=lambda: array("L"))
    offset: array[int] = field(default_factory=lambda: array("q"))
    length: array[int] = field(default_factory=lambda: array("q"))
    big_endian: array[int] = field(default_factory=lambda: array("B"))
    problem: dict[int, str] = field(default_factory=dict)
    crc: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.key)


@dataclass(slots=True)
class TensorTable:
    """Columns over all tensors; index = tensor number. One tensor object in the file is one entry, however many
    names it has.

    Attributes
    ----------
    dtype
        Code of the element type.
    shape, stride
        In elements; the stride of a tensor without a storage is ().
    storage
        Index into the StorageTable, or NO_STORAGE.
    storage_offset
        In elements of the tensor's dtype.
    flags
        `TensorFlag` bits.
    layout
        By tensor number, where it is not "strided": "sparse_coo", "sparse_csr" …, "jagged", "mkldnn".
    extra
        By tensor number: facts for few tensors, by name: "qscheme", "scale", "zero_point", "scales", "zero_points"
        and "axis" of a quantized one, "names", "device" of a meta tensor, "fortran" … Plain values and tensor
        numbers only.
    problem
        By tensor number: why its values cannot be read although its row stands.
    """

    dtype: array[int] = field(default_factory=lambda: array("B"))
    shape: list[tuple[int, ...]] = field(default_factory=list)
    stride: list[tuple[int, ...]] = field(default_factory=list)
    storage: array[int] = field(default_factory=lambda: array("q"))
    storage_offset: array[int] = field(default_factory=lambda: array("q"))
    flags: array[int] = field(default_factory=lambda: array("B"))
    layout: dict[int, str] = field(default_factory=dict)
    extra: dict[int, dict[str, object]] = field(default_factory=dict)
    problem: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class Piece:
    """A box of a tensor that is kept in pieces.

    Attributes
    ----------
    storage
        Number of the storage that holds its elements; never a CHUNKED one.
    storage_offset
        Of its first element there, in elements.
    stride
        Of the piece in its storage, in elements.
    start
        Index of its first element in the whole tensor.
    shape
        Its extents.
    """

    storage: int
    storage_offset: int
    stride: tuple[int, ...]
    start: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Assembly:
    """How a CHUNKED storage is put together: the elements of the whole tensor, dense and row-major.

    Attributes
    ----------
    shape
        Of the whole.
    itemsize
        Bytes of an element.
    pieces
        They cover the whole without overlap; this has been checked.
    """

    shape: tuple[int, ...]
    itemsize: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class StorageRef:
    """One storage, read from the columns; attributes as in `StorageTable`."""

    number: int
    key: str
    dtype: DType
    nbytes: int
    location: str
    encoding: int
    file: int
    offset: int
    length: int
    big_endian: bool
    problem: str | None


@dataclass(frozen=True, slots=True)
class TensorRef:
    """One tensor, read from the columns; attributes as in `TensorTable`."""

    number: int
    dtype: DType
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    storage: StorageRef | None
    storage_offset: int
    flags: TensorFlag
    layout: str
    extra: dict[str, object]
    problem: str | None

    @property
    def numel(self) -> int:
        return numel_of(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, were they packed densely."""
        return self.numel * self.dtype.itemsize

    @property
    def requires_grad(self) -> bool:
        return bool(self.flags & TensorFlag.REQUIRES_GRAD)

    @property
    def is_parameter(self) -> bool:
        return bool(self.flags & TensorFlag.PARAMETER)

    @property
    def is_contiguous(self) -> bool:
        return is_contiguous(self.shape, self.stride)

    @property
    def device(self) -> str:
        """The device tag in the file."""
        if self.storage is not None:
            return self.storage.location
        return str(self.extra.get("device", "cpu"))


def numel_of(shape: tuple[int, ...]) -> int:
    """Number of elements: the product, in exact integers; 1 for a scalar."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def contiguous_stride(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The stride in elements of a dense row-major tensor, as torch gives it (extents of 0 count as 1)."""
    stride: list[int] = []
    step = 1
    for extent in reversed(shape):
        stride.append(step)
        step *= max(extent, 1)
    return tuple(reversed(stride))


def is_contiguous(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """True where torch's `is_contiguous()` is: strides of extents 0 and 1 do not matter; empty tensors are."""
    if 0 in shape:
        return True
    expected = 1
    for extent, step in zip(reversed(shape), reversed(stride), strict=True):
        if extent != 1:
            if step != expected:
                return False
            expected *= extent
    return True


def span_of(shape: tuple[int, ...], stride: tuple[int, ...]) -> int:
    """Elements from the first that a view touches to the last, both included; 0 for an empty one.

    Strides are taken as non-negative, as torch demands.
    """
    if 0 in shape:
        return 0
    return 1 + sum((extent - 1) * step for extent, step in zip(shape, stride, strict=True))


def tensor_at(tensors: TensorTable, storages: StorageTable, number: int) -> TensorRef:
    """The tensor with this number, as an object."""
    storage = tensors.storage[number]
    return TensorRef(
        number=number,
        dtype=DTYPES[tensors.dtype[number]],
        shape=tensors.shape[number],
        stride=tensors.stride[number],
        storage=None if storage == NO_STORAGE else storage_at(storages, storage),
        storage_offset=tensors.storage_offset[number],
        flags=TensorFlag(tensors.flags[number]),
        layout=tensors.layout.get(number, "strided"),
        extra=tensors.extra.get(number, {}),
        problem=tensors.problem.get(number),
    )


def storage_at(storages: StorageTable, number: int) -> StorageRef:
    """The storage with this number, as an object."""
    return StorageRef(
        number=number,
        key=storages.key[number],
        dtype=DTYPES[storages.dtype[number]],
        nbytes=storages.nbytes[number],
        location=storages.location[number],
        encoding=storages.encoding[number],
        file=storages.file[number],
        offset=storages.offset[number],
        length=storages.length[number],
        big_endian=bool(storages.big_endian[number]),
        problem=storages.problem.get(number),
    )
