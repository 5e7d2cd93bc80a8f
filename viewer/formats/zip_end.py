"""The end records of a zip archive: where its directory is, and how long.

They stand at the end of the file, which may also be a comment, or junk, that looks like them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from viewer.errors import MalformedFile
from viewer.formats.byte_source import ByteSource
from viewer.formats.zip_format import (
    CENTRAL_NBYTES,
    CENTRAL_SIGNATURE,
    END64_SIGNATURE,
    END_SIGNATURE,
    LOCATOR_SIGNATURE,
)

_END: Final = struct.Struct("<4sHHHHIIH")
_LOCATOR: Final = struct.Struct("<4sIQI")
_END64: Final = struct.Struct("<4sQHHIIQQQQ")

_MAX_COMMENT: Final = 0xFFFF
_MAX_INEXACT: Final = 16
"""End records tried whose comment does not reach to the end of the file."""


@dataclass(frozen=True, slots=True)
class EndRecord:
    """The end records together: how many records, and where the directory is said to lie."""

    position: int
    count: int
    nbytes: int
    offset: int
    junk: int


def end_records(source: ByteSource) -> Iterator[EndRecord]:
    """Every place that can be the end record, the likely ones first.

    An archive comment may hold the signature of an end record, so one whose comment reaches exactly to the end of the
    file comes before those that leave bytes over.
    """
    nbytes = source.nbytes
    at = max(0, nbytes - _END.size - _MAX_COMMENT)
    tail = source.read(at, nbytes - at)
    exact: list[EndRecord] = []
    other: list[EndRecord] = []
    found = tail.rfind(END_SIGNATURE)
    while found >= 0:
        if found + _END.size <= len(tail):
            _, disk, first_disk, _, count, size, offset, comment = _END.unpack_from(tail, found)
            junk = len(tail) - found - _END.size - comment
            if junk >= 0 and (disk, first_disk) in ((0, 0), (0xFFFF, 0xFFFF), (0xFFFF, 0), (0, 0xFFFF)):
                (other if junk else exact).append(EndRecord(at + found, count, size, offset, junk))
        found = tail.rfind(END_SIGNATURE, 0, found)
    for end in (*exact, *other[:_MAX_INEXACT]):
        yield _with_zip64(source, end)


def _with_zip64(source: ByteSource, end: EndRecord) -> EndRecord:
    """The same with the numbers of the zip64 end record, where there is one; torch always writes one."""
    at = end.position - _LOCATOR.size
    if at < 0:
        return end
    signature, _, offset, _ = _LOCATOR.unpack(source.read(at, _LOCATOR.size))
    if signature != LOCATOR_SIGNATURE:
        return end
    # Bytes before the archive shift the record; without an extensible data sector it ends where the locator begins.
    for position in (offset, at - _END64.size):
        if 0 <= position <= at - _END64.size:
            record = _END64.unpack(source.read(position, _END64.size))
            if record[0] == END64_SIGNATURE:
                return EndRecord(position, record[7], record[8], record[9], end.junk)
    return end


def place_of_directory(source: ByteSource, end: EndRecord) -> int:
    """Where the directory really begins."""
    if end.nbytes == 0 and end.count == 0:
        return end.position
    # As written (which torch believes), or else directly before the end record.
    for start in (end.offset, end.position - end.nbytes):
        fits = start >= 0 and start + end.nbytes <= end.position and end.nbytes >= CENTRAL_NBYTES
        if fits and source.read(start, 4) == CENTRAL_SIGNATURE:
            return start
    raise MalformedFile(
        f"the zip directory is not at byte {end.offset:,}, where the end of the file says",
        path=source.path,
        advice="The file is damaged or incomplete; fetch it again",
    )


def has_directory(source: ByteSource) -> bool:
    """True where a zip directory stands at the end of the file, whatever the file begins with."""
    for end in end_records(source):
        try:
            return end.count > 0 and place_of_directory(source, end) >= 0
        except MalformedFile:
            continue
    return False
