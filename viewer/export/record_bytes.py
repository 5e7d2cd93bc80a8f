"""The bytes of each record, chunk by chunk, from wherever the source holds them."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DType
from viewer.checkpoint.tensors import StorageRef
from viewer.export.values import Record, packed_nbytes
from viewer.formats.storage_bytes import StorageReader

if TYPE_CHECKING:
    from viewer.tensors.packing import CastTally

CHUNK_NBYTES: Final = 1 << 20
"""Stays in the cache of a core while it is read, summed, hashed and written."""

RING: Final = 6
"""Chunks that stay valid at a time: a consumer may hold this many, the newest included."""

SMALL_NBYTES: Final = 64 << 10
"""Shorter chunks are joined before they are hashed and written."""

_BOOLS: Final = bytes([0]) + bytes([1]) * 255
_PLAIN: Final = frozenset({"float", "int", "uint", "complex"})
_UNSIGNED: Final = {2: "H", 4: "I", 8: "Q"}


class RecordSource:
    """Reads the records of one checkpoint. A context manager.

    Parameters
    ----------
    counts
        Whether to count what casts change.

    Attributes
    ----------
    tallies
        By id of a record that is cast: what the cast changed, filled while it is read for the first time.
    damaged
        Records whose bytes are not those of which the source keeps the checksum.
    keeps_sums
        Whether the source keeps checksums at all.
    """

    def __init__(self, checkpoint: Checkpoint, *, counts: bool = True) -> None:
        self._checkpoint = checkpoint
        self._counts = counts
        self._reader = StorageReader(checkpoint)
        self._ring: list[bytearray] = []
        self._turn = 0
        self.tallies: dict[int, CastTally] = {}
        self.damaged: list[Record] = []
        self.keeps_sums = bool(checkpoint.storages.crc)
        self._summed: set[int] = set()

    def __enter__(self) -> RecordSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def chunks(self, record: Record) -> Iterator[memoryview | bytes]:
        """The bytes of a record, as they are written. A chunk is valid until `RING` - 1 more have been asked for."""
        if record.data is not None:
            yield from self._slices(record.data)
        elif record.storage is not None:
            yield from self._storage(record.storage, 0, record.storage.nbytes, record.dtype)
        elif record.lies_as_written and record.nbytes < SMALL_NBYTES and record.dtype.kind in _PLAIN:
            yield from self._small(record)
        elif record.lies_as_written:
            assert record.tensor is not None
            assert record.tensor.storage is not None
            offset = record.tensor.storage_offset * record.dtype.itemsize
            if record.dtype.kind == "quantized" and record.nbytes < record.numel * record.dtype.itemsize:
                offset = record.tensor.storage_offset * record.nbytes // max(record.numel, 1)
            yield from self._storage(record.tensor.storage, offset, record.nbytes, record.dtype)
        else:
            yield from self._packed(record)

    def check_sum(self, record: Record, crc: int) -> None:
        """Compare the CRC-32 of a record that was read with the source's, where both are of the same bytes."""
        tensor = record.tensor
        if tensor is None or tensor.storage is None or not record.lies_as_written or tensor.storage.big_endian:
            return
        is_whole = tensor.storage_offset == 0 and record.nbytes == tensor.storage.nbytes
        if is_whole and record.dtype.kind in _PLAIN and record.dtype == tensor.dtype:
            known = self._checkpoint.storages.crc.get(tensor.storage.number, crc)
            self._summed.add(tensor.storage.number)
            if known != crc:
                self.damaged.append(record)

    def sum_rest(self, records: Iterable[Record]) -> Iterator[int]:
        """Sum the storages of records whose bytes were written in another form, and compare; yields bytes read.

        A storage of which less than half is written is left alone: what else lies in it says nothing of the export.
        """
        crcs = self._checkpoint.storages.crc
        waiting: dict[int, tuple[StorageRef, list[Record]]] = {}
        for record in records if self.keeps_sums else ():
            storage = record.storage if record.tensor is None else record.tensor.storage
            if storage is not None and storage.number in crcs and storage.number not in self._summed:
                waiting.setdefault(storage.number, (storage, []))[1].append(record)
        for number, (storage, users) in waiting.items():
            if 2 * sum(map(_source_nbytes, users)) < storage.nbytes:
                continue
            crc = done = 0
            while done < storage.nbytes:
                chunk = self._buffer(min(CHUNK_NBYTES, storage.nbytes - done))
                self._reader.read_into(storage, done, chunk)
                crc = zlib.crc32(chunk, crc)
                done += len(chunk)
                yield len(chunk)
            if crc != crcs[number]:
                self.damaged += users

    def _small(self, record: Record) -> Iterator[memoryview | bytes]:
        """A small record of a usual dtype: there are tens of thousands of them."""
        tensor = record.tensor
        assert tensor is not None
        storage = tensor.storage
        assert storage is not None
        offset = tensor.storage_offset * record.dtype.itemsize
        if storage.big_endian:
            yield from self._storage(storage, offset, record.nbytes, record.dtype)
        else:
            chunk = bytearray(record.nbytes)
            self._reader.read_into(storage, offset, chunk)
            yield memoryview(chunk)

    def _slices(self, data: bytes) -> Iterator[memoryview]:
        view = memoryview(data)
        for at in range(0, len(view), CHUNK_NBYTES):
            yield view[at : at + CHUNK_NBYTES]

    def _storage(self, storage: StorageRef, offset: int, nbytes: int, dtype: DType) -> Iterator[memoryview | bytes]:
        swapped = storage.big_endian and dtype.itemsize > 1
        done = 0
        while done < nbytes:
            count = min(CHUNK_NBYTES, nbytes - done)
            chunk = self._buffer(count)
            self._reader.read_into(storage, offset + done, chunk)
            if swapped:
                unit = dtype.itemsize // (2 if dtype.kind == "complex" else 1)
                items = array(_UNSIGNED[unit], bytes(chunk[: count - count % unit]))
                items.byteswap()
                chunk[: count - count % unit] = items.tobytes()
            if dtype.name == "bool":
                yield bytes(chunk).translate(_BOOLS)
            else:
                yield chunk
            done += count

    def _packed(self, record: Record) -> Iterator[memoryview | bytes]:
        # Only what cannot be read as it lies needs numpy (and a cast torch), which take their time to be imported.
        from viewer.tensors.packing import CastTally, iter_cast, iter_packed

        tensor = record.tensor
        assert tensor is not None
        if record.dtype == tensor.dtype:
            chunks = iter_packed(self._checkpoint, tensor, self._reader)
        else:
            tally = None
            if self._counts and id(record) not in self.tallies:
                tally = self.tallies[id(record)] = CastTally()
            chunks = iter_cast(self._checkpoint, tensor, record.dtype, self._reader, tally)
        for chunk in chunks:
            if record.dtype.name == "bool":
                yield bytes(chunk).translate(_BOOLS)
                continue
            for at in range(0, len(chunk), CHUNK_NBYTES):
                piece = chunk[at : at + CHUNK_NBYTES]
                copy = self._buffer(len(piece))
                copy[:] = piece
                yield copy

    def _buffer(self, nbytes: int) -> memoryview:
        if nbytes < SMALL_NBYTES:  # joined with others by copying, so that it must not take a place in the ring
            return memoryview(bytearray(nbytes))
        if len(self._ring) < RING:
            self._ring.append(bytearray(CHUNK_NBYTES))
        buffer = self._ring[self._turn % RING]
        self._turn += 1
        return memoryview(buffer)[:nbytes]


def _source_nbytes(record: Record) -> int:
    dtype = record.dtype if record.tensor is None else record.tensor.dtype
    return packed_nbytes(dtype, record.numel)
