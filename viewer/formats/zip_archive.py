"""A zip archive as a container of records: opened, and its records read one by one."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.errors import LimitExceeded, MalformedFile
from viewer.formats.byte_source import ByteSource
from viewer.formats.decompress import decompress_task
from viewer.formats.inflate import inflate_part_task, inflate_task
from viewer.formats.limits import Limits
from viewer.formats.pickle_stream import ByteRange, BytesRange, FilePart
from viewer.formats.reading import Part, PartReader, Reading
from viewer.formats.sniff import is_stranger
from viewer.formats.zip_directory import ZipDirectory, read_directory
from viewer.formats.zip_end import has_directory
from viewer.formats.zip_format import (
    DEFLATE_METHOD,
    ENCRYPTED_FLAGS,
    END_SIGNATURE,
    LOCAL_SIGNATURE,
    OTHER_METHODS,
    STORED_METHOD,
    method_name,
)
from viewer.formats.zip_records import Layout, layout_of, locate
from viewer.formats.zip_recovery import RecordScan
from viewer.task import Progress, Task, run


@dataclass(slots=True)
class ZipArchive:
    """An open archive.

    Attributes
    ----------
    source
        Not owned.
    scan
        The walk over the records where the directory is missing; None where the directory was read.
    """

    source: ByteSource
    limits: Limits
    directory: ZipDirectory
    scan: RecordScan | None = None
    _layout: Layout | None = None
    _layout_of: int = -1

    @property
    def layout(self) -> Layout:
        """The layout of the records known by now."""
        if self._layout is None or self._layout_of != len(self.directory):
            self._layout, self._layout_of = layout_of(self.source, self.directory), len(self.directory)
        return self._layout

    def range_task(self, number: int, max_inflated: int) -> Task[ByteRange]:
        """The content of a record as a range: where it lies in the file, or inflated where it is deflated.

        Raises
        ------
        MalformedFile
            When the record is not readable.
        LimitExceeded
            When it would inflate to more than `max_inflated` bytes.
        """
        directory, source = self.directory, self.source
        name, method = directory.names[number], directory.method[number]
        packed, unpacked = directory.packed[number], directory.unpacked[number]
        if directory.flags[number] & ENCRYPTED_FLAGS:
            raise MalformedFile(
                f"the record {name!r} is encrypted",
                path=source.path,
                advice="Unpack the archive with its password first",
            )
        if method not in (STORED_METHOD, DEFLATE_METHOD, *OTHER_METHODS):
            raise MalformedFile(
                f"the record {name!r} is compressed with {method_name(method)}, which torch does not use",
                path=source.path,
                advice="Unpack the archive and pack it again without compression",
            )
        start, warning = locate(source, directory, number)
        if warning and warning not in directory.warnings:
            directory.warnings.append(warning)
        if method == STORED_METHOD:
            return FilePart(source, start, packed)
        if method == DEFLATE_METHOD and self.scan is not None and number == self.scan.cut:
            return BytesRange((yield from inflate_part_task(source, start, packed, max_inflated)))
        if unpacked > max_inflated:
            raise LimitExceeded(
                f"the record {name!r} would inflate to {unpacked:,} bytes, more than the {max_inflated:,} allowed",
                path=source.path,
            )
        if method in OTHER_METHODS:
            return BytesRange((yield from decompress_task(source, start, packed, unpacked, method)))
        return BytesRange((yield from inflate_task(source, start, packed, unpacked)))

    def record_task(self, number: int, max_nbytes: int) -> Task[bytes]:
        """The whole content of a record of at most `max_nbytes`; raises as `range_task` does."""
        content = yield from self.range_task(number, max_nbytes)
        if content.nbytes > max_nbytes:
            name = self.directory.names[number]
            raise LimitExceeded(
                f"the record {name!r} has {content.nbytes:,} bytes, more than the {max_nbytes:,} allowed",
                path=self.source.path,
            )
        return content.read(0, content.nbytes)

    def small_record(self, name: str, max_nbytes: int = 4096) -> bytes | None:
        """The content of a little record that may be there; None where it is not, or is not little and readable."""
        number = self.directory.by_name.get(name)
        if number is None:
            return None
        try:
            return run(self.record_task(number, max_nbytes))
        except (MalformedFile, LimitExceeded) as error:
            named = repr(name) in error.fault
            self.directory.warnings.append(
                error.fault if named else f"the record {name!r} cannot be read: {error.fault}"
            )
            return None


class ZipReader(PartReader):
    """Reads every zip archive that holds a checkpoint.

    Parameters
    ----------
    behind_junk
        True to accept a source that only ends as a zip archive does, False for one that begins so.
    """

    def __init__(self, name: str = "zip", *, behind_junk: bool = False) -> None:
        self.name = name
        self._behind_junk = behind_junk

    def sniff(self, head: bytes, source: ByteSource) -> bool:
        if self._behind_junk:
            return not is_stranger(head) and has_directory(source)
        return head.startswith((LOCAL_SIGNATURE, END_SIGNATURE))

    def part_task(self, source: ByteSource, reading: Reading) -> Task[Part]:
        from viewer.formats.zip_kinds import zip_part_task  # the kinds know the archive, not the reverse

        archive = yield from open_archive_task(source, reading.limits)
        return (yield from zip_part_task(archive, reading))


def open_archive_task(source: ByteSource, limits: Limits) -> Task[ZipArchive]:
    """Read the directory, or else walk the records until the first pickle."""
    yield Progress(0, source.nbytes)
    try:
        return ZipArchive(source, limits, read_directory(source, limits))
    except MalformedFile as error:
        scan = RecordScan(source, limits)
        yield from scan.walk_task({}, until="data.pkl")
        if not scan.directory.names:
            raise MalformedFile(
                "this is the beginning of a zip archive (as torch writes them), but it is incomplete: "
                "no record of it is there",
                path=source.path,
                advice="Fetch the file again",
            ) from error
        scan.directory.warnings.append(error.fault)
        return ZipArchive(source, limits, scan.directory, scan)
