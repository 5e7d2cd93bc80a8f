"""Which record of an archive holds which storage."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import ge
from typing import Final

from viewer.checkpoint.tensors import DEFLATED, INLINE, STORED, StorageTable
from viewer.errors import ViewerError
from viewer.formats.decompress import decompress_task
from viewer.formats.pickle import PickleSession
from viewer.formats.zip_archive import ZipArchive
from viewer.formats.zip_directory import ZipDirectory
from viewer.formats.zip_format import DEFLATE_METHOD, OTHER_METHODS, foreign_text
from viewer.formats.zip_records import RecordRanges, locate_task
from viewer.task import Task

_UNPACKED_NBYTES: Final = 128 << 20
"""Bytes of storages of one archive that are unpacked into memory, where they cannot be read in place."""


def place_storages_task(
    archive: ZipArchive,
    session: PickleSession,
    prefix: str,
    big_endian: bool,
    *,
    suffix: str = "",
) -> Task[list[int]]:
    """Give each storage of a session the checked byte range of its record, or the reason why it has none; returns the
    records. The record of the storage that the pickle names `key` is `prefix` + key + `suffix`.
    """
    storages, by_key = session.storages, session.storages_by_key
    directory = archive.directory
    find = directory.by_name.get
    numbers = list(by_key.values())
    # Adding nothing would still cost each of them a copy.
    names = [prefix + key + suffix for key in by_key] if suffix else [prefix + key for key in by_key]
    records = _in_a_row(directory, names) or list(map(find, names))
    present = [record for record in records if record is not None]
    ranges = yield from locate_task(archive.source, directory, archive.layout, present)
    if big_endian:
        for number in numbers:
            storages.big_endian[number] = 1
    longer = _place_all(storages, numbers, directory, present, ranges)
    same_size = longer == 0
    if longer is None:
        cut = None if archive.scan is None else archive.scan.cut
        longer, room = 0, min(archive.limits.inflated_nbytes, _UNPACKED_NBYTES)
        for number, record in zip(numbers, records, strict=True):
            if record is None:
                storages.problem[number] = f"its record {prefix}{storages.key[number]}{suffix} is missing"
            else:
                longer += _place_one(storages, number, directory, record, ranges, record == cut)
                if directory.method[record] in OTHER_METHODS:
                    room -= yield from _unpack_task(archive, session, number, record, ranges, room)
    _note_checksums(storages, numbers, directory, records, present, same_size=same_size)
    if longer:
        what = (
            "1 record is longer than the storage that it holds"
            if longer == 1
            else (f"{longer:,} records are longer than the storages that they hold")
        )
        directory.warnings.append(what)
    return present


def _in_a_row(directory: ZipDirectory, names: list[str]) -> list[int | None]:
    """The records of these names where they stand one after the other, as torch writes them; else nothing.

    To compare names takes a quarter of the time of looking each of them up."""
    first = directory.by_name.get(names[0]) if names and not directory.duplicates else None
    if first is None or directory.names[first : first + len(names)] != names:
        return []
    return list(range(first, first + len(names)))


def _note_checksums(
    storages: StorageTable,
    numbers: list[int],
    directory: ZipDirectory,
    records: Sequence[int | None],
    present: list[int],
    *,
    same_size: bool,
) -> None:
    """Keep the checksums of records that are as long as their storages; `same_size` tells that all are, and present.

    Zero is what torch writes when it is told not to compute them (`torch.serialization.set_crc32_options`).
    """
    crc, unpacked, nbytes = directory.crc, directory.unpacked, storages.nbytes
    if same_size:
        kept = _of_records(crc, present) if present else crc[:0]
        if all(kept):
            storages.crc.update(zip(numbers, kept, strict=True))
            return
    storages.crc.update(
        (number, crc[record])
        for number, record in zip(numbers, records, strict=True)
        if record is not None and crc[record] and unpacked[record] == nbytes[number]
    )


def _place_all(
    storages: StorageTable, numbers: list[int], directory: ZipDirectory, records: list[int], ranges: RecordRanges
) -> int | None:
    """Place all storages column by column, as can be done where nothing is wrong with any of them and none is
    deflated; returns how many records are longer than needed, or None where it was not done."""
    count = len(numbers)
    if not count or len(records) != count or ranges.problem:
        return None
    first = numbers[0]
    if numbers != list(range(first, first + count)):
        return None
    if any(_of_records(directory.method, records)):
        return None
    part = slice(first, first + count)
    needed = storages.nbytes[part]
    there = array(needed.typecode, _of_records(directory.unpacked, records).tobytes())  # no size passes 2**62
    if there != needed and not all(map(ge, there, needed)):
        return None
    storages.encoding[part] = array("B", [STORED]) * count
    storages.file[part] = array(storages.file.typecode, [0]) * count
    storages.offset[part] = array("q", map(ranges.start.__getitem__, records))
    storages.length[part] = needed
    if len(storages.problem) == count and all(map(storages.problem.__contains__, numbers)):
        storages.problem.clear()
    else:
        for number in numbers:
            storages.problem.pop(number, None)
    return 0 if there == needed else sum(more > enough for more, enough in zip(there, needed, strict=True))


def _of_records(column: array[int], records: list[int]) -> array[int]:
    """A column of the directory for some records: one slice where they stand in a row, as torch writes them."""
    first, count = records[0], len(records)
    if records[-1] - first == count - 1 and records == list(range(first, first + count)):
        return column[first : first + count]
    return array(column.typecode, map(column.__getitem__, records))


def _place_one(
    storages: StorageTable, number: int, directory: ZipDirectory, record: int, ranges: RecordRanges, cut: bool
) -> bool:
    """Place one storage; returns whether its record is longer than needed."""
    needed, there = storages.nbytes[number], directory.unpacked[record]
    problem = ranges.problem.get(record)
    if problem is None and there < needed:
        what = "the file breaks off in its record, which" if cut else "its record"
        problem = f"{what} holds {there:,} of the {needed:,} bytes that it needs"
    if problem is not None:
        storages.problem[number] = problem
        return False
    deflated = directory.method[record] == DEFLATE_METHOD
    storages.encoding[number] = DEFLATED if deflated else STORED
    storages.file[number] = 0
    storages.offset[number] = ranges.start[record]
    storages.length[number] = directory.packed[record] if deflated else needed
    storages.problem.pop(number, None)
    return there > needed


def _unpack_task(
    archive: ZipArchive, session: PickleSession, number: int, record: int, ranges: RecordRanges, room: int
) -> Task[int]:
    """Take the bytes of a record into memory that cannot be read by position, where they fit into `room` bytes and
    nothing else is wrong with it; returns how many they are."""
    storages, directory = session.storages, archive.directory
    method, unpacked = directory.method[record], directory.unpacked[record]
    if ranges.problem.get(record) != foreign_text(method):
        return 0
    if unpacked < storages.nbytes[number]:
        storages.problem[number] = f"its record holds {unpacked:,} of the {storages.nbytes[number]:,} bytes it needs"
        return 0
    if unpacked > room:
        storages.problem[number] = (
            f"{foreign_text(method)}, and it is too large to be unpacked into memory: pack the archive again without "
            "compression"
        )
        return 0
    try:
        start, packed = ranges.start[record], directory.packed[record]
        data = yield from decompress_task(archive.source, start, packed, unpacked, method)
    except ViewerError as error:
        storages.problem[number] = error.fault
        return 0
    storages.encoding[number] = INLINE
    storages.offset[number] = len(session.blobs)
    storages.length[number] = len(data)
    session.blobs.append(data)
    del storages.problem[number]
    return unpacked
