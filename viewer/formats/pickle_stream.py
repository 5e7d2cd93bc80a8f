"""Pickles that lie in a longer range of bytes and do not say how long they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from viewer.errors import MalformedFile
from viewer.formats.byte_source import ByteSource
from viewer.formats.pickle import Loaded, PickleSession
from viewer.formats.pickle.scan import TruncatedPickle
from viewer.task import Progress, Task

_FIRST_WINDOW: Final = 1 << 20
_GROWTH: Final = 8
"""Bytes that are read in the hope that the pickle ends in them: 1 MiB, 8 MiB … A training checkpoint of 40,000
tensors has a pickle of 4 MB. What is no pickle is found out in the first window, however long it claims to be."""
_PROTO: Final = 0x80


class ByteRange(Protocol):
    """What is read from: a file, a part of one, or bytes that lie in a pickle."""

    @property
    def nbytes(self) -> int: ...

    def read(self, offset: int, nbytes: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class BytesRange:
    """Bytes in memory as a range."""

    data: bytes

    @property
    def nbytes(self) -> int:
        return len(self.data)

    def read(self, offset: int, nbytes: int) -> bytes:
        return self.data[offset : offset + nbytes]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file as a range of its own."""

    source: ByteSource
    start: int
    nbytes: int

    def read(self, offset: int, nbytes: int) -> bytes:
        return self.source.read(self.start + offset, nbytes)


def pickle_protocol(source: ByteRange, offset: int) -> str:
    """The protocol of the pickle at `offset`. Protocols 0 and 1 have no opcode that says so."""
    head = source.read(offset, max(0, min(2, source.nbytes - offset)))
    return str(head[1]) if len(head) == 2 and head[0] == _PROTO else "0 or 1"


def load_pickle_task(
    session: PickleSession, source: ByteRange, offset: int, what: str, *, window: int = _FIRST_WINDOW
) -> Task[Loaded]:
    """Load the pickle that begins at `offset` of `source`; `end` of the result is an offset in `source` too.

    Of a pickle that is damaged or cut short, what comes before is loaded, and the result says so (`problem`).

    Parameters
    ----------
    what
        What messages call the pickle.
    window
        Bytes to try first.

    Raises
    ------
    MalformedFile, LimitExceeded
        When nothing of it can be shown.
    """
    left = source.nbytes - offset
    if left <= 0:
        raise MalformedFile(f"the file ends before {what}", advice="It is incomplete: fetch it again")
    while True:
        yield Progress(offset, source.nbytes)
        nbytes = min(window, left)
        try:
            loaded = session.load(source.read(offset, nbytes), 0, source_name=what, partial=nbytes == left)
        except TruncatedPickle:
            if nbytes == left:
                raise
            window *= _GROWTH
        else:
            return Loaded(loaded.root, offset + loaded.end, loaded.problem)
