"""The records of a zip archive whose directory is missing or broken: an interrupted download, mostly.

Local headers follow each other from the front. torch's own writer puts no sizes into them but a descriptor behind the
data (APPNOTE 4.3.9), so the end of a record is where a descriptor stands that gives exactly the distance as its size.
Who knows how long a record should be (the pickle does, for storages) says so, and the scan then looks there first and
reads no data.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from viewer.formats.byte_source import ByteSource
from viewer.formats.limits import Limits
from viewer.formats.zip_directory import ZipDirectory
from viewer.formats.zip_format import (
    CENTRAL_SIGNATURE,
    DESCRIPTOR_SIGNATURE,
    END64_SIGNATURE,
    END_SIGNATURE,
    EXTRA_DATA_SIGNATURE,
    FLAG_DESCRIPTOR,
    LOCAL_SIGNATURE,
    STORED_METHOD,
    U32,
    decode_name,
    zip64_values,
)
from viewer.task import Progress, Task

_LOCAL: Final = struct.Struct("<4s2xHH4xIIIHH")
_DESCRIPTOR: Final = struct.Struct("<4sIII")
_DESCRIPTOR64: Final = struct.Struct("<4sIQQ")
_ENDINGS: Final = (CENTRAL_SIGNATURE, END_SIGNATURE, END64_SIGNATURE, EXTRA_DATA_SIGNATURE)

_FIRST_STEP: Final = 16 << 10
_STEP: Final = 4 << 20
_MAX_PREFIX: Final = 1 << 20
"""Bytes before the archive in which the first record is looked for."""
_MAX_CANDIDATES: Final = 500_000
"""Descriptor signatures looked at, about a second; real data hold one by chance in every 4 GiB."""


class RecordScan:
    """A walk over local headers that can stop at a record and go on later.

    Attributes
    ----------
    directory
        What was found; `end` is where the walk stands.
    cut
        Number of the record that the file breaks off in; None where it ends between records. Its sizes are those of
        the part that is there.
    complete
        True where the walk came to the archive's directory, so that no record is missing.
    lost
        Offset of bytes that are no record, behind which none is looked for; None where there are none.
    """

    def __init__(self, source: ByteSource, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self.directory = ZipDirectory(end=source.nbytes)
        self.cut: int | None = None
        self.complete = False
        self.lost: int | None = None
        self._candidates = 0
        head = source.read(0, min(source.nbytes, _MAX_PREFIX))
        self._position = head.find(LOCAL_SIGNATURE)
        self.directory.prefix = max(0, self._position)

    def walk_task(self, sizes: Mapping[str, int], *, until: str = "") -> Task[None]:
        """Walk on to the end, or past the first record whose name ends in `until`.

        Parameters
        ----------
        sizes
            Packed sizes that records should have, by name; they are checked.
        """
        source, directory = self._source, self.directory
        most = self._limits.zip_entries
        while 0 <= self._position < source.nbytes and self.cut is None and len(directory) < most:
            yield Progress(self._position, source.nbytes)
            at = self._position
            head = source.read(at, min(4096, source.nbytes - at))
            if not head.startswith(LOCAL_SIGNATURE):
                self.complete = head.startswith(_ENDINGS)
                if not self.complete and len(head) >= 4:
                    self.lost = at
                break
            if len(head) < _LOCAL.size:
                break
            _, flags, method, crc, packed, unpacked, name_n, extra_n = _LOCAL.unpack_from(head)
            start = at + _LOCAL.size + name_n + extra_n
            if start > source.nbytes:
                break
            fields = head[_LOCAL.size : start - at]
            if len(fields) < name_n + extra_n:
                fields = source.read(at + _LOCAL.size, name_n + extra_n)
            raw_name, extra = fields[:name_n], fields[name_n:]
            name = decode_name(raw_name, flags)
            if flags & FLAG_DESCRIPTOR and not packed:
                found = yield from self._end_task(start, method, sizes.get(name))
            else:
                found = _sizes(extra, packed, unpacked)
            if found is None or start + found[0] > source.nbytes:
                self.cut = len(directory)
                found = source.nbytes - start, source.nbytes - start
            if "\ufffd" in name:  # not the UTF-8 that it should be
                directory.raw_names[len(directory)] = raw_name
            directory.names.append(name)
            directory.extend([(flags, method, crc, *found, at)])
            self._position = start + found[0]
            if self.cut is None:
                self._position += self._descriptor_nbytes(self._position, found[0], method)
            if until and name.endswith(until):
                break
        directory.end = max(0, self._position)
        directory.index_names()

    def _end_task(self, start: int, method: int, expected: int | None) -> Task[tuple[int, int] | None]:
        """(packed, unpacked) of a record whose header has no sizes; None where the file ends before it does."""
        source = self._source
        if expected is not None and start + expected <= source.nbytes:
            found = self._sizes_at(start, start + expected, method)
            if found is not None:
                return found
        if not expected and source.read(start, min(4, source.nbytes - start)) in (LOCAL_SIGNATURE, *_ENDINGS):
            return 0, 0  # torch writes no descriptor behind an empty record
        at, step = start, _FIRST_STEP
        while at < source.nbytes:
            yield Progress(at, source.nbytes)
            # The overlap lets a descriptor that lies across two pieces be found whole.
            piece = source.read(at, min(step + _DESCRIPTOR64.size, source.nbytes - at))
            hit = piece.find(DESCRIPTOR_SIGNATURE)
            while 0 <= hit < step:
                self._candidates += 1
                if self._candidates > _MAX_CANDIDATES:
                    return None
                if struct.unpack_from("<I", piece.ljust(hit + 12, b"\0"), hit + 8)[0] == (at + hit - start) & U32:
                    found = self._sizes_at(start, at + hit, method)
                    if found is not None:
                        return found
                hit = piece.find(DESCRIPTOR_SIGNATURE, hit + 1)
            at += step
            step = _STEP
        return None

    def _sizes_at(self, start: int, at: int, method: int) -> tuple[int, int] | None:
        """(packed, unpacked) where a descriptor of the record that begins at `start` stands at `at`."""
        nbytes = self._descriptor_nbytes(at, at - start, method)
        if nbytes == 0:
            return None
        layout = _DESCRIPTOR if nbytes == _DESCRIPTOR.size else _DESCRIPTOR64
        _, _, packed, unpacked = layout.unpack(self._source.read(at, nbytes))
        return packed, unpacked

    def _descriptor_nbytes(self, at: int, packed: int, method: int) -> int:
        """Length of the descriptor at `at` that gives `packed` as its size; 0 where there is none."""
        data = self._source.read(at, min(_DESCRIPTOR64.size + 4, self._source.nbytes - at))
        for layout in (_DESCRIPTOR, _DESCRIPTOR64):
            if len(data) >= layout.size:
                signature, _, there, unpacked = layout.unpack_from(data)
                fits = signature == DESCRIPTOR_SIGNATURE and there == packed
                same = unpacked == packed or method != STORED_METHOD
                following = data[layout.size : layout.size + 4]  # cut short at the end of the file
                if fits and same and any(known.startswith(following) for known in (LOCAL_SIGNATURE, *_ENDINGS)):
                    return layout.size
        return 0


def _sizes(extra: bytes, packed: int, unpacked: int) -> tuple[int, int]:
    if U32 in (packed, unpacked):
        values = zip64_values(extra)
        if len(values) >= 2:  # APPNOTE 4.5.3: a local header must hold both
            return values[1], values[0]
    return packed, unpacked
