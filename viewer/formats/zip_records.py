"""Where the bytes of zip records really lie: the directory's word, checked against the records themselves.

A range is given out without a problem only when all of this holds: the local header is there, names the same record
and uses the same method; the data lie behind it, before the next record and before the directory; a stored record is
as long packed as unpacked; and nothing says that it is encrypted.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from operator import lt
from typing import Final

from viewer.errors import MalformedFile
from viewer.formats.byte_source import ByteSource
from viewer.formats.zip_directory import ZipDirectory
from viewer.formats.zip_format import (
    DEFLATE_METHOD,
    ENCRYPTED_FLAGS,
    LOCAL_NBYTES,
    LOCAL_SIGNATURE,
    OTHER_METHODS,
    STORED_METHOD,
    foreign_text,
    method_name,
)
from viewer.formats.zip_heads import starts_of_run
from viewer.task import Progress, Task

# signature, version, flags and method; time, date, crc and sizes (skipped: zero where a data descriptor follows, as
# in every file of torch's); lengths of name and extra field
_LOCAL: Final = struct.Struct("<10s16xHH")
_HEAD: Final = struct.Struct("<4s2xHH")
_SPARSE_READ: Final = 128

_DENSE_STEP: Final = 16 << 10
"""Where headers follow each other this closely, one long read that passes over the data between them is cheaper than
a read for each: a system call and the page that it touches cost about as much as copying 16 KiB."""
_GULP: Final = 1 << 20
_PER_PROGRESS: Final = 4096
_PAUSE: Final = 64
"""Records after which headers are looked at many at a time again, when that came to nothing."""


@dataclass(slots=True)
class RecordRanges:
    """Byte ranges by record number.

    Attributes
    ----------
    start
        Offset in the file of the first data byte, for every record whose local header could be read.
    problem
        Why a record's bytes must not be used as they lie; a record with a start can have one too.
    """

    start: dict[int, int] = field(default_factory=dict)
    problem: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layout:
    """What all records of an archive together say about each.

    Attributes
    ----------
    limit
        By record number: where the next record or the directory begins. Of two records with one header, each is the
        other's next.
    usual
        True where the directory alone tells of no record any problem; then they need not be examined one by one.
    """

    limit: array[int]
    usual: bool


def layout_of(source: ByteSource, directory: ZipDirectory) -> Layout:
    """Look over all records of an archive: once, for any number of `locate_task`."""
    return Layout(_limits(directory, source.nbytes), _is_usual(directory))


def locate_task(
    source: ByteSource, directory: ZipDirectory, layout: Layout, wanted: Iterable[int]
) -> Task[RecordRanges]:
    """Read the local headers of the records `wanted` and check them; yields every few thousand records."""
    order = sorted(wanted, key=directory.header.__getitem__)
    usual, limit, step = layout.usual, layout.limit, _step(directory, order)
    ranges = RecordRanges()
    names, header, packed, starts = directory.names, directory.header, directory.packed, ranges.start
    usual_head = b""
    unpack = _LOCAL.unpack_from
    window, window_at, window_end = b"", 0, 0
    nth = told = one_by_one = 0
    while nth < len(order):
        if nth >= told:
            yield Progress(nth, len(order), "records")
            told = nth + _PER_PROGRESS
        number = order[nth]
        nth += 1
        at = header[number]
        name = names[number]
        raw_name = name.encode() if name.isascii() else directory.raw_name(number)
        name_n = len(raw_name)
        if at < window_at or at + LOCAL_NBYTES + name_n > window_end:
            if at + LOCAL_NBYTES > source.nbytes:
                ranges.problem[number] = f"its header would lie at byte {at:,}, beyond the end of the file"
                continue
            window = source.read(at, min(max(step, LOCAL_NBYTES + name_n), source.nbytes - at))
            window_at, window_end = at, at + len(window)
        if usual_head and step == _GULP and nth > one_by_one:
            run = starts_of_run(window, window_at, directory, limit, order, nth - 1, usual_head)
            if run:
                starts.update(zip(order[nth - 1 : nth - 1 + len(run)], run, strict=True))
                nth += len(run) - 1
                continue
            one_by_one = nth + _PAUSE
        offset = at - window_at
        head, there, extra_n = unpack(window, offset)
        start = at + LOCAL_NBYTES + there + extra_n
        name_at = offset + LOCAL_NBYTES
        same_name = there == name_n and window[name_at : name_at + name_n] == raw_name
        # What the directory and this very head have been found sound for needs no second look.
        if head == usual_head and same_name and start + packed[number] <= limit[number]:
            starts[number] = start
            continue
        if not head.startswith(LOCAL_SIGNATURE):
            ranges.problem[number] = f"no record begins at byte {at:,}, where the zip directory says"
            continue
        starts[number] = start
        problem = _examine(directory, number, head, same_name)
        if start + packed[number] > limit[number]:
            problem = _overrun(directory, start, packed[number], source.nbytes)
        if problem:
            ranges.problem[number] = problem
        elif usual:
            usual_head = head
    return ranges


def _is_usual(directory: ZipDirectory) -> bool:
    return (
        set(directory.method) <= {STORED_METHOD}
        and not any(flags & ENCRYPTED_FLAGS for flags in set(directory.flags))
        and directory.packed == directory.unpacked
    )


def _examine(directory: ZipDirectory, number: int, head: bytes, same_name: bool) -> str:
    """What is wrong with a record by its local header and the directory's; "" where nothing is."""
    _, flags, method = _HEAD.unpack(head)
    packed, unpacked = directory.packed[number], directory.unpacked[number]
    if (flags | directory.flags[number]) & ENCRYPTED_FLAGS:
        return "it is encrypted"
    if not same_name:
        return f"the record at byte {directory.header[number]:,} has another name than the zip directory gives"
    if method != directory.method[number]:
        return "its header and the zip directory disagree about the compression"
    if method not in (STORED_METHOD, DEFLATE_METHOD):
        return foreign_text(method)
    if method == STORED_METHOD and packed != unpacked:
        return "the zip directory gives two different sizes for a record that is not compressed"
    return ""


def locate(source: ByteSource, directory: ZipDirectory, number: int) -> tuple[int, str]:
    """Where the data of one record begin, and a warning or "".

    For records that a person is shown in any case because torch reads them as leniently: only what makes reading
    impossible is an error.

    Raises
    ------
    MalformedFile
        Where there is no such record, or its data are not all in the file.
    """
    name, raw_name, at = directory.names[number], directory.raw_name(number), directory.header[number]
    if at + LOCAL_NBYTES > source.nbytes:
        raise MalformedFile(f"the record {name!r} would lie beyond the end of the file", path=source.path)
    data = source.read(at, min(LOCAL_NBYTES + len(raw_name), source.nbytes - at))
    head, name_n, extra_n = _LOCAL.unpack_from(data)
    if not head.startswith(LOCAL_SIGNATURE):
        raise MalformedFile(
            f"no record {name!r} begins at byte {at:,}, where the zip directory says", path=source.path
        )
    start: int = at + LOCAL_NBYTES + name_n + extra_n
    if start + directory.packed[number] > source.nbytes:
        raise MalformedFile(f"the record {name!r} reaches beyond the end of the file", path=source.path)
    method = directory.method[number]
    problem = _examine(directory, number, head, name_n == len(raw_name) and data[LOCAL_NBYTES:] == raw_name)
    if method in OTHER_METHODS and problem == foreign_text(method):
        return start, f"records are compressed with {method_name(method)}, which torch does not read"
    return start, f"the record {name!r} is read although {problem}" if problem else ""


def _limits(directory: ZipDirectory, end_of_file: int) -> array[int]:
    header, end = directory.header, directory.end
    following = header[1:]
    following.append(end)
    if all(map(lt, header, following)):  # in the order in which they were written, as nearly always
        return following
    limits = array("Q", bytes(8 * len(header)))
    order = sorted(range(len(header)), key=header.__getitem__)
    behind = [*(header[number] for number in order[1:]), end_of_file]
    for number, next_at in zip(order, behind, strict=True):
        at = header[number]
        # The next header may be said to lie beyond the end of the file.
        limits[number] = end if at < end < next_at else min(next_at, end_of_file)
    for number, next_number in pairwise(order):
        if header[number] == header[next_number]:
            limits[next_number] = header[number]
    return limits


def _step(directory: ZipDirectory, order: list[int]) -> int:
    """How much to read at a time: much where headers lie densely, else little more than a header."""
    if len(order) < 2:
        return _SPARSE_READ
    span = directory.header[order[-1]] - directory.header[order[0]]
    return _GULP if span // len(order) <= _DENSE_STEP else _SPARSE_READ


def _overrun(directory: ZipDirectory, start: int, packed: int, end_of_file: int) -> str:
    if start >= end_of_file:
        return f"its {packed:,} bytes would begin beyond the end of the file"
    if start + packed > end_of_file:
        return f"{start + packed - end_of_file:,} of its {packed:,} bytes are beyond the end of the file"
    if start + packed > directory.end >= start:
        return "its bytes would reach into the zip directory"
    return "its bytes overlap those of another record"
