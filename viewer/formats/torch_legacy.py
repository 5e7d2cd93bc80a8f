"""The container of torch 0.1.10 to 1.5, which newer ones write on request: pickles in a row, then the values.

In order (torch/serialization.py:_legacy_save): the magic number, the protocol version, a dict about the machine, the
object, the list of storage keys, each a pickle; then for each key, in the order of the list, the number of elements
as an int64 and the bytes.

Values are little-endian whatever machine wrote them (torch/csrc/serialization.cpp converts them); only the counts are
in the machine's order in files of old versions from big-endian machines, so a count is read in either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from struct import unpack_from
from typing import Final
from weakref import ref

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.tensors import INLINE, STORED
from viewer.errors import MalformedFile, ViewerError
from viewer.formats.byte_source import ByteSource
from viewer.formats.limits import Limits
from viewer.formats.pickle import PickleSession, Problem
from viewer.formats.pickle_stream import ByteRange, BytesRange, load_pickle_task, pickle_protocol
from viewer.formats.reading import Part, PartReader, Reading
from viewer.task import Progress, Task, run

MAGIC_NUMBER: Final = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION: Final = 1001
_MAGIC: Final = re.compile(
    # Protocols 2 and newer write LONG1 behind PROTO (and FRAME); 0 and 1 write decimal digits.
    rb"(?:\x80[\x02-\x05])?(?:\x95.{8})?\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\."
    rb"|L119547037146038801333356L?\n\.",
    re.DOTALL,
)
_PER_PROGRESS: Final = 4096
_ITEMSIZES: Final = tuple(dtype.itemsize for dtype in DTYPES)
_DENSE_STEP: Final = 16 << 10
"""Where storages are smaller than this, one long read that passes over their values is cheaper than one for each."""
_GULP: Final = 1 << 20


def begins_legacy(head: bytes) -> bool:
    """True where the bytes begin with the pickled magic number."""
    return _MAGIC.match(head) is not None


def session_for(limits: Limits) -> PickleSession:
    """A session that looks into byte strings which hold legacy streams, as `pickle.dump` of a tensor makes them."""
    return _with_nesting(PickleSession(limits))


def session_beside(session: PickleSession) -> PickleSession:
    """A session over the same columns for another pickle of the file, whose storage keys are its own."""
    return _with_nesting(session.nested())


class LegacyReader(PartReader):
    """Reads files of the legacy container."""

    name = "torch legacy"

    def sniff(self, head: bytes, source: ByteSource) -> bool:  # noqa: ARG002 - a reader may look further
        return begins_legacy(head)

    def part_task(self, source: ByteSource, reading: Reading) -> Task[Part]:
        stream = _Stream(source, reading.session)
        root = yield from stream.head_task()
        yield from stream.storages_task()
        return Part(root, self.name, stream.warnings, stream.facts)


def _with_nesting(session: PickleSession) -> PickleSession:
    asking = ref(session)  # its own loader must not keep it, and with it the columns of a file that is closed

    def load(data: bytes) -> object:
        session = asking()
        if session is None or not begins_legacy(data):
            return Problem("a storage is kept in a byte string that is no torch legacy stream")
        try:
            inner = session_beside(session)
            stream = _Stream(BytesRange(data), inner, inline=True)
            root = run(stream.head_task())
            run(stream.storages_task())
        except ViewerError as error:
            return Problem(f"a storage kept in a byte string cannot be read: {error.fault}")
        for warning in stream.warnings:
            session.warn(f"in a byte string: {warning}")
        return root

    session.nested_loader = load
    return session


class _Stream:
    """One legacy stream, read from its front."""

    def __init__(self, source: ByteRange, session: PickleSession, *, inline: bool = False) -> None:
        self._source = source
        self._session = session
        self._inline = inline
        self._keys: Sequence[object] = ()
        self._at = 0
        self._broken = False
        self._machine_big_endian = False
        self.warnings: list[str] = []
        self.facts: dict[str, str] = {}

    def head_task(self) -> Task[object]:
        """The pickles; returns the object."""
        magic = _MAGIC.match(self._source.read(0, min(64, self._source.nbytes)))
        if magic is None:
            raise MalformedFile("this is no torch legacy stream")
        self._at = magic.end()
        version = yield from self._pickle_task("the protocol version")
        if version != PROTOCOL_VERSION:
            self.warnings.append(f"the protocol version is {version!r}; torch reads {PROTOCOL_VERSION} only")
        machine = yield from self._pickle_task("the facts about the machine")
        self._note_machine(machine)
        self.facts["pickle protocol"] = pickle_protocol(self._source, self._at)
        root = yield from self._pickle_task("the object's pickle")
        keys: object = None
        if self._broken:
            self.warnings.append("the values cannot be found, because the pickle before them is broken")
            return root
        try:
            keys = yield from self._pickle_task("the list of storages")
        except MalformedFile as error:
            self.warnings.append(f"the file is incomplete, it breaks off before the list of storages: {error.fault}")
        if isinstance(keys, list | tuple):
            self._keys = keys
        elif keys is not None:
            self.warnings.append("the list of storages is no list, so no storage can be found")
        return root

    def storages_task(self) -> Task[None]:
        """Walk the counts behind the pickles and note where each storage lies; no values are read."""
        source, session, storages = self._source, self._session, self._session.storages
        by_key, itemsizes, nbytes_column = session.storages_by_key, _ITEMSIZES, storages.nbytes
        little, big = ("<q", ">q") if not self._machine_big_endian else (">q", "<q")
        at, end = self._at, source.nbytes
        step = _GULP if end - at <= len(self._keys) * _DENSE_STEP else 8
        window, window_at = b"", 0
        swapped = 0
        for nth, key in enumerate(self._keys):
            if nth % _PER_PROGRESS == 0:
                yield Progress(nth, len(self._keys), "storages")
            number = by_key.get(key) if isinstance(key, str) else None
            if number is None:
                self.warnings.append(
                    f"the file lists a storage {str(key)[:40]!r} that nothing in it uses, so those behind it cannot "
                    "be found"
                )
                break
            if at + 8 > end:
                at = end
                break
            if at + 8 > window_at + len(window):
                window, window_at = source.read(at, min(step, end - at)), at
            needed = nbytes_column[number]
            itemsize = itemsizes[storages.dtype[number]]
            nbytes = unpack_from(little, window, at - window_at)[0] * itemsize
            if nbytes != needed and unpack_from(big, window, at - window_at)[0] * itemsize == needed:
                nbytes = needed
                swapped += 1
            at += 8
            there = end - at
            if nbytes == needed <= there:
                self._place(number, at, needed)
            elif nbytes != needed:
                storages.problem[number] = f"the file stores {nbytes:,} bytes of it, but {needed:,} are needed"
            else:
                storages.problem[number] = f"the file ends early: {there:,} of its {needed:,} bytes are there"
            if not 0 <= nbytes <= there:
                at = end
                break
            at += nbytes
        self._note_end(at)
        if swapped:
            self.warnings.append(f"{swapped:,} element counts are in the other byte order")

    def _place(self, number: int, offset: int, nbytes: int) -> None:
        session, storages = self._session, self._session.storages
        if self._inline:
            storages.encoding[number] = INLINE
            storages.offset[number] = len(session.blobs)
            session.blobs.append(self._source.read(offset, nbytes))
        else:
            storages.encoding[number] = STORED
            storages.offset[number] = offset
        storages.file[number] = 0
        storages.length[number] = nbytes
        storages.problem.pop(number, None)

    def _note_end(self, at: int) -> None:
        """Say what is missing at the end, or too much."""
        storages = self._session.storages
        lost = [number for number in self._session.storages_by_key.values() if number in storages.problem]
        if lost and at >= self._source.nbytes:
            for number in lost:
                if storages.problem[number].startswith("no record"):
                    storages.problem[number] = "the file ends before its bytes"
            needed = sum(storages.nbytes[number] for number in self._session.storages_by_key.values())
            missing = self._at + needed + 8 * len(self._session.storages_by_key) - self._source.nbytes
            if missing > 0:
                self.warnings.append(
                    f"the file is incomplete: it has {self._source.nbytes:,} bytes, and {missing:,} are missing"
                )
        elif not lost and at < self._source.nbytes:
            self.warnings.append(f"{self._source.nbytes - at:,} further bytes follow the last storage")

    def _pickle_task(self, what: str) -> Task[object]:
        loaded = yield from load_pickle_task(self._session, self._source, self._at, what)
        self._at = loaded.end
        self._broken = bool(loaded.problem)
        return loaded.root

    def _note_machine(self, machine: object) -> None:
        if isinstance(machine, dict):
            self._machine_big_endian = machine.get("little_endian") is False
        self.facts["byte order"] = "little-endian"
        if self._machine_big_endian:
            self.facts["byte order"] = "little-endian (written on a big-endian machine; torch converts)"
        self.facts["protocol version"] = str(PROTOCOL_VERSION)
