"""The checksums of a zip archive's records."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from viewer.errors import ViewerError
from viewer.formats.inflate import InflatedStorage
from viewer.formats.limits import LIMITS
from viewer.formats.source import FileSource
from viewer.formats.zip_directory import ZipDirectory, read_directory
from viewer.formats.zip_format import DEFLATE_METHOD
from viewer.formats.zip_records import layout_of, locate_task
from viewer.task import Progress, Task

_CHUNK_NBYTES: Final = 1 << 20
_STEP_NBYTES: Final = 8 << 20


@dataclass(slots=True)
class ZipCheck:
    """What reading all records found.

    Attributes
    ----------
    start
        By record number: where its data begin.
    wrong
        By record number: what is wrong with it.
    without
        Records that are stored without a checksum.
    """

    directory: ZipDirectory
    start: dict[int, int] = field(default_factory=dict)
    wrong: dict[int, str] = field(default_factory=dict)
    without: int = 0

    @property
    def checked(self) -> int:
        return len(self.directory) - self.without - len(self.wrong)


def zip_check_task(source: FileSource) -> Task[ZipCheck]:
    """Read every record and compare its CRC. Progress is in bytes.

    Raises
    ------
    MalformedFile
        When the file has no zip directory.
    """
    directory = read_directory(source, LIMITS)
    ranges = yield from locate_task(source, directory, layout_of(source, directory), range(len(directory)))
    check = ZipCheck(directory, ranges.start, dict(ranges.problem))
    total = sum(directory.unpacked)
    done = told = 0
    for number in range(len(directory)):
        if number in check.wrong:
            continue
        crc = 0
        try:
            for chunk in _chunks(source, directory, number, ranges.start[number]):
                crc = zlib.crc32(chunk, crc)
                done += len(chunk)
                if done - told >= _STEP_NBYTES:
                    told = done
                    yield Progress(done, total)
        except ViewerError as error:
            check.wrong[number] = error.fault
            continue
        stored = directory.crc[number]
        if stored == 0 and crc:
            check.without += 1  # torch.serialization.set_crc32_options(False) leaves them out
        elif crc != stored:
            check.wrong[number] = f"its checksum (CRC-32) is {crc:08x}, and {stored:08x} was stored"
    return check


def _chunks(source: FileSource, directory: ZipDirectory, number: int, start: int) -> Iterator[memoryview]:
    nbytes = directory.unpacked[number]
    inflated = None
    if directory.method[number] == DEFLATE_METHOD:
        inflated = InflatedStorage(source, start, directory.packed[number], nbytes)
    buffer = bytearray(min(_CHUNK_NBYTES, nbytes))
    for at in range(0, nbytes, _CHUNK_NBYTES):
        view = memoryview(buffer)[: min(_CHUNK_NBYTES, nbytes - at)]
        if inflated is None:
            source.read_into(start + at, view)
        else:
            inflated.read_into(at, view)
        yield view
