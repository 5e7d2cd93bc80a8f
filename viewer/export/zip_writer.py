"""A stored zip archive as a sequence of bytes (docs/canonical-format.md, section 4), in one pass over the data.

CRCs follow the data in descriptors, as in torch's own files, so that a record need not be read twice.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from viewer.formats.zip_format import (
    CENTRAL_SIGNATURE,
    DESCRIPTOR_SIGNATURE,
    END64_SIGNATURE,
    END_SIGNATURE,
    FLAG_DESCRIPTOR,
    LOCAL_NBYTES,
    LOCAL_SIGNATURE,
    LOCATOR_SIGNATURE,
    U32,
)

Buffer: TypeAlias = "bytes | memoryview"

ALIGNMENT: Final = 64
"""As `torch.save` aligns records (caffe2/serialize/inline_container.h, kFieldAlignment)."""

_PADDING_TAG: Final = 0x4246  # "FB", as torch's writer calls it
_ZIP64_TAG: Final = 1
_DATE: Final = 0x0021  # the first of January 1980, the earliest that the format can say
_VERSION: Final = 20
_VERSION64: Final = 45
_U16: Final = 0xFFFF


@dataclass(frozen=True, slots=True)
class ZipRecord:
    """One record to write.

    Attributes
    ----------
    content
        Its bytes, or what `zip_stream` is to read them from.
    """

    name: str
    nbytes: int
    content: object

    @property
    def is_large(self) -> bool:
        return self.nbytes >= U32


def zip_nbytes(records: list[ZipRecord]) -> int:
    """Size of the archive."""
    at, directory = 0, 0
    for record in records:
        header = at
        at = _data_start(record, at) + record.nbytes + (24 if record.is_large else 16)
        directory += 46 + len(record.name) + len(_central_extra(record.nbytes, header))
    needs64 = _needs_zip64(len(records), directory, at)
    return at + directory + (56 + 20 if needs64 else 0) + 22


def zip_stream(
    records: list[ZipRecord],
    read: Callable[[Any], Iterator[Buffer]],
    summed: Callable[[Any, int], None] | None = None,
) -> Iterator[Buffer]:
    """The archive, piece by piece.

    Parameters
    ----------
    read
        Gives the bytes of a record's content; a chunk is given out as it came.
    summed
        Is told the CRC-32 of what was read for a content.
    """
    at = 0
    entries: list[bytes] = []
    for record in records:
        header = at
        local = _local_header(record, at)
        yield local
        crc = done = 0
        content = record.content
        for chunk in (content,) if isinstance(content, bytes) else read(content):
            crc = zlib.crc32(chunk, crc)
            done += len(chunk)
            yield chunk
        assert done == record.nbytes, f"{record.name}: {done} of {record.nbytes} bytes"
        if summed is not None and not isinstance(content, bytes):
            summed(content, crc)
        yield _descriptor(record, crc)
        entries.append(_central_entry(record, crc, header))
        at += len(local) + record.nbytes + (24 if record.is_large else 16)
    directory = b"".join(entries)
    yield directory
    yield _end(len(records), len(directory), at)


def _local_header(record: ZipRecord, at: int) -> bytes:
    large = record.is_large
    extra = b""
    if large:
        extra = struct.pack("<HHQQ", _ZIP64_TAG, 16, record.nbytes, record.nbytes)
    padding = _data_start(record, at) - at - LOCAL_NBYTES - len(record.name) - len(extra) - 4
    extra += struct.pack("<HH", _PADDING_TAG, padding) + bytes(padding)
    size = U32 if large else 0
    head = struct.pack(
        "<4sHHHHHIIIHH",
        LOCAL_SIGNATURE,
        _VERSION64 if large else _VERSION,
        FLAG_DESCRIPTOR,
        0,
        0,
        _DATE,
        0,
        size,
        size,
        len(record.name),
        len(extra),
    )
    return head + record.name.encode("ascii") + extra


def _data_start(record: ZipRecord, at: int) -> int:
    least = at + LOCAL_NBYTES + len(record.name) + (20 if record.is_large else 0) + 4
    return -(-least // ALIGNMENT) * ALIGNMENT


def _descriptor(record: ZipRecord, crc: int) -> bytes:
    form = "<4sIQQ" if record.is_large else "<4sIII"
    return struct.pack(form, DESCRIPTOR_SIGNATURE, crc, record.nbytes, record.nbytes)


def _central_extra(nbytes: int, header: int) -> bytes:
    values = [nbytes, nbytes] if nbytes >= U32 else []
    if header >= U32:
        values.append(header)
    return struct.pack(f"<HH{len(values)}Q", _ZIP64_TAG, 8 * len(values), *values) if values else b""


def _central_entry(record: ZipRecord, crc: int, header: int) -> bytes:
    extra = _central_extra(record.nbytes, header)
    version = _VERSION64 if extra else _VERSION
    head = struct.pack(
        "<4sHHHHHHIIIHHHHHII",
        CENTRAL_SIGNATURE,
        version,
        version,
        FLAG_DESCRIPTOR,
        0,
        0,
        _DATE,
        crc,
        min(record.nbytes, U32),
        min(record.nbytes, U32),
        len(record.name),
        len(extra),
        0,
        0,
        0,
        0,
        min(header, U32),
    )
    return head + record.name.encode("ascii") + extra


def _needs_zip64(count: int, nbytes: int, offset: int) -> bool:
    return count >= _U16 or nbytes >= U32 or offset >= U32


def _end(count: int, nbytes: int, offset: int) -> bytes:
    end64 = b""
    if _needs_zip64(count, nbytes, offset):
        end64 = struct.pack(
            "<4sQHHIIQQQQ", END64_SIGNATURE, 44, _VERSION64, _VERSION64, 0, 0, count, count, nbytes, offset
        )
        end64 += struct.pack("<4sIQI", LOCATOR_SIGNATURE, 0, offset + nbytes, 1)
    short = min(count, _U16)
    return end64 + struct.pack("<4sHHHHIIH", END_SIGNATURE, 0, 0, short, short, min(nbytes, U32), min(offset, U32), 0)
