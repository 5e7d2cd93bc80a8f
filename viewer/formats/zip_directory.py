"""The directory of a zip archive, parsed by our own code.

Why not `zipfile`: it takes ten times as long (an object per record), it trusts what it reads, and it hides which of
two records with one name it took.

What the directory says is only read here. Nothing in it is believed before `zip_records` has compared it with the
records themselves.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from viewer.errors import LimitExceeded, MalformedFile
from viewer.formats.byte_source import ByteSource
from viewer.formats.limits import Limits
from viewer.formats.zip_end import EndRecord, end_records, place_of_directory
from viewer.formats.zip_format import (
    CENTRAL_NBYTES,
    CENTRAL_SIGNATURE,
    LOCAL_SIGNATURE,
    U32,
    column,
    decode_name,
    encode_name,
    zip64_values,
)
from viewer.formats.zip_names import finder_like_torch, repeated_names

# signature, versions (skipped), flags, method, time and date (skipped), crc, packed and unpacked size, lengths of
# name, extra field and comment, first disk, attributes (skipped), offset of the local header
_CENTRAL: Final = struct.Struct("<4s4xHH4xIIIHHHH6xI")
_LENGTHS_AT: Final = 28
_MAX_DIRECTORY_NBYTES: Final = 96 << 20
"""torch writes one record per storage; the directory of a million of them, with names of 50 bytes, has 96 MB."""
_FLUSH: Final = 4096
"""Rows that are kept as tuples before they go to the columns: a million at once would take 300 MB."""
_REPLACED: Final = "\ufffd"
_SHORTEST_RUN: Final = 8
_MAX_ENDS: Final = 4
"""End records whose directory is parsed before the archive is given up: each may cost a second."""
_TOLD_NAMES: Final = 5
_PAUSE: Final = 64
"""Records after which a run is tried again that came to nothing; trying costs as much as reading four."""


@dataclass(slots=True)
class ZipDirectory:
    """Columns over the records, in the order of the directory.

    Attributes
    ----------
    names
        Decoded.
    raw_names
        By record number, the bytes of the names that were not what the archive says they are (UTF-8).
    flags, method, crc
        As the directory writes them.
    packed, unpacked
        Bytes that the record takes up in the file, and that it has after inflating.
    header
        Offset in the file of the record's local header.
    by_name
        Record number by name: of several with one name, the one that torch reads.
    duplicates
        Names that stand more than once, upper and lower case taken as equal.
    end
        Offset in the file at which the directory begins, and no record's data reaches beyond.
    prefix
        Bytes before the archive.
    warnings
        What is out of the ordinary, as sentences without a full stop.
    """

    names: list[str] = field(default_factory=list)
    raw_names: dict[int, bytes] = field(default_factory=dict)
    flags: array[int] = field(default_factory=lambda: array("H"))
    method: array[int] = field(default_factory=lambda: array("H"))
    crc: array[int] = field(default_factory=lambda: array("Q"))
    packed: array[int] = field(default_factory=lambda: array("Q"))
    unpacked: array[int] = field(default_factory=lambda: array("Q"))
    header: array[int] = field(default_factory=lambda: array("Q"))
    by_name: dict[str, int] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    end: int = 0
    prefix: int = 0
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)

    def extend(self, rows: list[tuple[int, int, int, int, int, int]]) -> None:
        """Append (flags, method, crc, packed, unpacked, header) of further records; their names stand already."""
        columns = (self.flags, self.method, self.crc, self.packed, self.unpacked, self.header)
        for grown, values in zip(columns, zip(*rows, strict=True), strict=bool(rows)):
            grown.extend(values)

    def raw_name(self, number: int) -> bytes:
        """The bytes of a record's name as they stand in the archive."""
        if number in self.raw_names:
            return self.raw_names[number]
        return encode_name(self.names[number], self.flags[number])

    def names_with_end(self, end: str) -> list[str]:
        """The names that end so, in order: found among thousands that do not by one search through their text."""
        text = "\0".join(self.by_name) + "\0"
        if text.count("\0") != len(self.by_name):  # a name holds the mark itself
            return [name for name in self.by_name if name.endswith(end)]
        found = []
        at = text.find(end + "\0")
        while at >= 0:
            found.append(text[text.rfind("\0", 0, at) + 1 : at + len(end)])
            at = text.find(end + "\0", at + 1)
        return found

    def index_names(self) -> None:
        """Fill `by_name` and `duplicates` from `names`."""
        self.by_name = dict(zip(self.names, range(len(self.names)), strict=True))
        repeated = repeated_names(self.names)
        if repeated:
            self._choose(repeated)

    def _choose(self, repeated: set[str]) -> None:
        """Of several records with one name, take the one that torch reads."""
        self.duplicates = [name for name in self.by_name if name.lower() in repeated]
        find = finder_like_torch([self.raw_name(number) for number in range(len(self.names))])
        for name in self.duplicates:
            if find is not None:
                self.by_name[name] = find(self.raw_name(self.by_name[name]))
        which = "the one that torch reads" if find is not None else "the last"
        for name in self.duplicates[:_TOLD_NAMES]:
            self.warnings.append(f"the archive stores {name!r} twice or more; {which} is shown")
        if len(self.duplicates) > _TOLD_NAMES:
            self.warnings.append(f"{len(self.duplicates) - _TOLD_NAMES:,} further names are stored twice or more")


def read_directory(source: ByteSource, limits: Limits) -> ZipDirectory:
    """Find and parse the directory.

    Raises
    ------
    MalformedFile
        When there is none, or it contradicts itself or the file's size.
    LimitExceeded
        When it is larger than any checkpoint's can be.
    """
    fault: MalformedFile | None = None
    for end in islice(end_records(source), _MAX_ENDS):
        try:
            start = place_of_directory(source, end)
            directory = _parse(source, start, end, limits)
            _settle_prefix(source, directory, start - end.offset)
        except MalformedFile as error:
            fault = fault or error
            continue
        directory.index_names()
        _warn(directory, end, start)
        return directory
    raise fault or MalformedFile(
        "the file is incomplete: the zip directory that belongs at its end is missing",
        path=source.path,
        advice="Fetch it again",
    )


def _settle_prefix(source: ByteSource, directory: ZipDirectory, shift: int) -> None:
    """Find out whether bytes before the archive shift all offsets, or only the directory's own offset is wrong."""
    if shift == 0 or not directory.header:
        return
    first = min(directory.header)
    for prefix in (shift, 0):
        at = first + prefix
        if 0 <= at <= source.nbytes - 4 and source.read(at, 4) == LOCAL_SIGNATURE:
            break
    else:
        raise MalformedFile(
            "the zip directory is not where the end of the file says, and its records neither",
            path=source.path,
            advice="The file is damaged; fetch it again",
        )
    if prefix == 0:
        directory.warnings.append("the zip directory is not where the end of the file says")
    elif prefix > 0:
        directory.prefix = prefix
        directory.header = array("Q", [offset + prefix for offset in directory.header])
    else:
        directory.header = array("Q", [max(0, offset + prefix) for offset in directory.header])
        directory.warnings.append(f"{-prefix:,} bytes at the start of the zip archive are missing")


def _parse(source: ByteSource, start: int, end: EndRecord, limits: Limits) -> ZipDirectory:
    if end.nbytes > _MAX_DIRECTORY_NBYTES:
        raise LimitExceeded(f"its zip directory claims {end.nbytes:,} bytes", path=source.path)
    data = source.read(start, end.nbytes)
    directory = ZipDirectory(end=start)
    names = directory.names
    rows: list[tuple[int, int, int, int, int, int]] = []
    unpack, fixed, limit = _CENTRAL.unpack_from, _CENTRAL.size, len(data)
    at = 0
    run, pause = _SHORTEST_RUN, 0
    while at + fixed <= limit:
        signature, flags, method, crc, packed, unpacked, name_n, extra_n, comment_n, _, header = unpack(data, at)
        extra_at = at + fixed + name_n
        following = extra_at + extra_n + comment_n
        if signature != CENTRAL_SIGNATURE or following > limit:
            raise _broken(source, start + at)
        raw_name = data[at + fixed : extra_at]
        if packed == U32 or unpacked == U32 or header == U32:
            extra = data[extra_at : extra_at + extra_n]
            packed, unpacked, header = _zip64_sizes(source, extra, packed, unpacked, header)
        name = decode_name(raw_name, flags)
        if _REPLACED in name:
            directory.raw_names[len(names)] = raw_name
        names.append(name)
        rows.append((flags, method, crc, packed, unpacked, header))
        at = following
        pause -= 1
        if pause < 0 or len(rows) == _FLUSH:
            directory.extend(rows)
            rows.clear()
            taken = _take_run(directory, data, at, name_n, run)
            at += taken * (fixed + name_n)
            run, pause = (min(2 * run, _FLUSH), 0) if taken == run else (_SHORTEST_RUN, _PAUSE // (taken + 1))
            if len(names) > limits.zip_entries:
                raise LimitExceeded(
                    f"its zip directory has more than {limits.zip_entries:,} records", path=source.path
                )
    if at != limit:
        raise _broken(source, start + at)
    directory.extend(rows)
    return directory


def _take_run(directory: ZipDirectory, data: bytes, at: int, name_n: int, most: int) -> int:
    """Append up to `most` records from `at` on that have a name of `name_n` bytes and nothing behind it; returns how
    many there were.

    torch names records by number, so that thousands in a row have one length. Then each byte of a field is one
    strided slice over all of them, which takes a tenth of the time of unpacking them one by one. Whatever is unusual
    ends the run and is left to the caller.
    """
    size = CENTRAL_NBYTES + name_n
    count = min(most, (len(data) - at) // size)
    for where, byte in (*enumerate(CENTRAL_SIGNATURE), *enumerate(struct.pack("<HHH", name_n, 0, 0), _LENGTHS_AT)):
        octets = data[at + where : at + count * size : size]
        count -= len(octets.lstrip(bytes([byte])))
    if count == 0:
        return 0
    part = data[at : at + count * size]
    packed, unpacked, header = (column(part, size, where, 4, "Q") for where in (20, 24, 42))
    raw_names = part.decode("latin-1")
    names = [raw_names[start : start + name_n] for start in range(CENTRAL_NBYTES, len(part), size)]
    if U32 in (max(packed), max(unpacked), max(header)) or not "".join(names).isascii():
        return 0
    directory.names += names
    directory.flags += column(part, size, 8, 2, "H")
    directory.method += column(part, size, 10, 2, "H")
    directory.crc += column(part, size, 16, 4, "Q")
    directory.packed += packed
    directory.unpacked += unpacked
    directory.header += header
    return count


def _zip64_sizes(source: ByteSource, extra: bytes, packed: int, unpacked: int, header: int) -> tuple[int, int, int]:
    """The 64-bit values of the extra field, which holds only those that are all ones in the record itself."""
    values = zip64_values(extra)
    needed = sum(value == U32 for value in (unpacked, packed, header))
    if len(values) < needed:
        if not values:
            return packed, unpacked, header  # exactly 4 GiB - 1, as writers without zip64 can have it
        raise MalformedFile("a record's zip64 sizes are missing", path=source.path)
    fields = iter(values)
    unpacked = next(fields) if unpacked == U32 else unpacked
    packed = next(fields) if packed == U32 else packed
    header = next(fields) if header == U32 else header
    if max(unpacked, packed, header) > 1 << 62:
        raise MalformedFile("a record claims more than 4 exabytes", path=source.path)
    return packed, unpacked, header


def _broken(source: ByteSource, offset: int) -> MalformedFile:
    return MalformedFile(
        f"the zip directory breaks off at byte {offset:,}",
        path=source.path,
        advice="The file is damaged; fetch it again",
    )


def _warn(directory: ZipDirectory, end: EndRecord, start: int) -> None:
    warnings = directory.warnings
    if directory.prefix:
        warnings.append(f"{directory.prefix:,} bytes that are no part of the zip archive stand before it")
    if end.junk:
        warnings.append(f"{end.junk:,} bytes that are no part of the zip archive stand after it")
    between = end.position - start - end.nbytes
    if between:
        warnings.append(f"{between:,} unexplained bytes stand between the zip directory and its end record")
    if end.count not in (len(directory), len(directory) & 0xFFFF):
        warnings.append(f"the zip directory has {len(directory):,} records, but its end record says {end.count:,}")
