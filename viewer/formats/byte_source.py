"""What the readers of containers read from: a file, a part of one, or bytes in memory.

A checkpoint inside an archive is read where it lies, by the reader that would read it as a file of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from viewer.errors import MalformedFile


class ByteSource(Protocol):
    """Bytes that are read by position."""

    @property
    def path(self) -> Path:
        """The file that is opened, for messages."""
        ...

    @property
    def nbytes(self) -> int: ...

    def read(self, offset: int, nbytes: int) -> bytes:
        """The bytes in [offset, offset + nbytes); raises MalformedFile where the range leaves the source."""
        ...


@dataclass(frozen=True, slots=True)
class SlicedSource:
    """A part of another source.

    Attributes
    ----------
    base
        Not owned.
    start, nbytes
        The range in `base`; it has been checked.
    """

    base: ByteSource
    start: int
    nbytes: int

    @property
    def path(self) -> Path:
        return self.base.path

    def read(self, offset: int, nbytes: int) -> bytes:
        _demand_range(self, offset, nbytes)
        return self.base.read(self.start + offset, nbytes)


@dataclass(frozen=True, slots=True)
class MemorySource:
    """Bytes in memory: what was inflated from a file.

    Attributes
    ----------
    path
        The file that they come from.
    """

    data: bytes
    path: Path

    @property
    def nbytes(self) -> int:
        return len(self.data)

    def read(self, offset: int, nbytes: int) -> bytes:
        _demand_range(self, offset, nbytes)
        return self.data[offset : offset + nbytes]


def _demand_range(source: ByteSource, offset: int, nbytes: int) -> None:
    if offset < 0 or nbytes < 0 or offset + nbytes > source.nbytes:
        raise MalformedFile(
            f"bytes {offset:,} to {offset + nbytes:,} are needed, but there are {source.nbytes:,}", path=source.path
        )
