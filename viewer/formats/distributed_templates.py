"""Items of distributed checkpoints that differ in nothing but their values.

Each item is an archive of its own, of some ten records, and there may be a hundred thousand. Of tensors with one
dtype and shape those archives are the same to the byte, but for the values, their checksums and the serialization id
(a digest of them). So one is read record by record, and of others it is enough to see that they are the same.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.tensors import STORED
from viewer.errors import ViewerError
from viewer.formats.byte_source import SlicedSource
from viewer.formats.distributed_metadata import Item
from viewer.formats.pickle import PickleSession, TensorStandIn
from viewer.formats.pickle.session import SessionMark
from viewer.formats.source import FileSource
from viewer.formats.zip_directory import ZipDirectory, read_directory
from viewer.formats.zip_format import CENTRAL_NBYTES, DESCRIPTOR_SIGNATURE, FLAG_DESCRIPTOR, LOCAL_NBYTES

_MOST_FRAME: Final = 1 << 16
_MOST_OF_ONE_SIZE: Final = 8
_ONE_READ: Final = 1 << 14
_LENGTHS: Final = struct.Struct("<HH")
_CRC: Final = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class _Template:
    """An archive with one stored tensor, apart from what varies.

    Attributes
    ----------
    values_at, values_nbytes
        Where the record of values lies in it.
    fixed
        Offset and bytes of the parts that are the same in all, in the frame: the archive without the values.
    crc_at
        Of the checksum of the values, in the frame.
    row
        dtype, shape, stride, offset and flags of the tensor.
    storage
        Key, dtype, bytes, location, byte order and whether it has a checksum.
    """

    values_at: int
    values_nbytes: int
    fixed: tuple[tuple[int, bytes], ...]
    crc_at: int
    row: tuple[int, tuple[int, ...], tuple[int, ...], int, int]
    storage: tuple[str, int, int, str, int]
    has_crc: bool
    globals: Counter[tuple[str, str]]


class Templates:
    """What is known of the items of one folder."""

    def __init__(self, session: PickleSession) -> None:
        self._session = session
        self._by_nbytes: dict[int, list[_Template]] = {}

    def repeat(self, source: FileSource, item: Item) -> TensorStandIn | None:
        """The tensor of an item that is like one before, with its rows; None where it is not."""
        for template in self._by_nbytes.get(item.nbytes, ()):
            frame = _frame(source, item, template.values_at, template.values_nbytes)
            if all(frame.startswith(piece, at) for at, piece in template.fixed):
                return self._add(template, item, frame)
        return None

    def learn(self, source: FileSource, item: Item, before: SessionMark, root: object) -> None:
        """Note an item that was read record by record, if it is one to know again."""
        session = self._session
        tensors, storages = session.tensors, session.storages
        tensor, storage = before.tensors, before.storages
        if (
            type(root) is not TensorStandIn
            or root.parts is not None
            or (root.number, len(tensors), len(storages)) != (tensor, tensor + 1, storage + 1)
            or tensors.storage[tensor] != storage
            or any(tensor in facts for facts in (tensors.layout, tensors.extra, tensors.problem))
            or storage in storages.problem
            or storages.encoding[storage] != STORED
            or len(session.warnings) != before.warnings
            or len(session.blobs) != before.blobs
            or item.nbytes - storages.length[storage] > _MOST_FRAME
        ):
            return
        known = self._by_nbytes.setdefault(item.nbytes, [])
        if len(known) == _MOST_OF_ONE_SIZE:
            return
        at, nbytes = storages.offset[storage] - item.offset, storages.length[storage]
        frame = _frame(source, item, at, nbytes)
        try:
            directory = read_directory(SlicedSource(source, item.offset, item.nbytes), session.limits)
            varying = dict(_varying(frame, directory, storages.key[storage], at, nbytes))
        except (ViewerError, struct.error):
            return
        if directory.warnings or "values" not in varying:
            return
        ranges = sorted(span for spans in varying.values() for span in spans)
        fixed, start = [], 0
        for begin, end in (*ranges, (len(frame), len(frame))):
            fixed.append((start, frame[start:begin]))
            start = end
        known.append(
            _Template(
                at,
                nbytes,
                tuple(fixed),
                varying["values"][0][0],
                (
                    tensors.dtype[tensor],
                    tensors.shape[tensor],
                    tensors.stride[tensor],
                    tensors.storage_offset[tensor],
                    tensors.flags[tensor],
                ),
                (
                    storages.key[storage],
                    storages.dtype[storage],
                    storages.nbytes[storage],
                    storages.location[storage],
                    storages.big_endian[storage],
                ),
                storage in storages.crc,
                session.global_counts - before.global_counts,
            )
        )

    def _add(self, template: _Template, item: Item, frame: bytes) -> TensorStandIn | None:
        session, storages = self._session, self._session.storages
        (crc,) = _CRC.unpack_from(frame, template.crc_at)
        if template.has_crc != bool(crc):
            return None
        key, dtype, nbytes, location, big_endian = template.storage
        number = session.add_storage(key, dtype, nbytes, location)
        session.complete_storages()
        storages.encoding[number] = STORED
        storages.offset[number] = item.offset + template.values_at
        storages.length[number] = template.values_nbytes
        storages.big_endian[number] = big_endian
        del storages.problem[number]
        if crc:
            storages.crc[number] = crc
        session.global_counts.update(template.globals)
        element, shape, stride, first, flags = template.row
        return TensorStandIn(session.add_tensor(element, shape, stride, number, first, flags))


def _frame(source: FileSource, item: Item, at: int, nbytes: int) -> bytes:
    """An item without its values."""
    end = at + nbytes
    if item.nbytes <= _ONE_READ:
        data = source.read(item.offset, item.nbytes)
        return data[:at] + data[end:]
    return source.read(item.offset, at) + source.read(item.offset + end, item.nbytes - end)


def _varying(
    frame: bytes, directory: ZipDirectory, key: str, at: int, nbytes: int
) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """The ranges of the frame that differ between archives of like tensors; of "values", the first is the checksum in
    the directory."""
    central = directory.end - nbytes
    for number, name in enumerate(directory.names):
        lengths = struct.unpack_from("<HHH", frame, central + 28)
        if name.endswith((f"/data/{key}", "/.data/serialization_id")):
            of_values = not name.endswith("/.data/serialization_id")
            header = directory.header[number]
            header -= nbytes if header > at else 0
            name_n, extra_n = _LENGTHS.unpack_from(frame, header + 26)
            start = header + LOCAL_NBYTES + name_n + extra_n
            end = start if of_values else start + directory.packed[number]
            ranges = [(central + 16, central + 20), (start, end)]
            if not directory.flags[number] & FLAG_DESCRIPTOR:
                ranges.append((header + 14, header + 18))
            elif frame.startswith(DESCRIPTOR_SIGNATURE, end):
                ranges.append((end + 4, end + 8))
            if not of_values or (start, directory.packed[number]) == (at, nbytes):
                yield "values" if of_values else "id", ranges
        central += CENTRAL_NBYTES + sum(lengths)
