"""Bytes of deflated records, never more of them than asked for.

A deflate stream can grow a thousandfold, so the bound is always what the reader needs (the size that the archive and
the pickle agree on), and the packed bytes are read piece by piece.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Final

from viewer.errors import MalformedFile
from viewer.formats.byte_source import ByteSource
from viewer.task import Progress, Task

_PACKED_STEP: Final = 256 << 10
_BLOCK: Final = 1 << 20
_CUT_BLOCK: Final = 64 << 10
_KEPT_BLOCKS: Final = 16
"""Inflated blocks kept per storage: several threads that walk one storage side by side stay within them."""
_BLOCKS_PER_MARK: Final = 16
"""A mark (a copy of the decompressor, some 50 KB) every 16 MiB bounds what a step backwards costs."""


def inflate_task(source: ByteSource, offset: int, packed: int, unpacked: int) -> Task[bytes]:
    """Inflate a whole record of raw deflate data to exactly `unpacked` bytes.

    Raises
    ------
    MalformedFile
        Where the stream is broken, or holds fewer or more bytes than `unpacked`.
    """
    stream = _Stream(source, offset, packed)
    parts: list[bytes] = []
    done = 0
    while done < unpacked:
        yield Progress(done, unpacked)
        part = stream.take(min(_BLOCK, unpacked - done))
        if not part:
            raise MalformedFile(f"a compressed record holds {done:,} of the {unpacked:,} bytes that it should")
        parts.append(part)
        done += len(part)
    if stream.take(1):
        raise MalformedFile(f"a compressed record inflates to more than the {unpacked:,} bytes that it should")
    return b"".join(parts)


def inflate_part_task(source: ByteSource, offset: int, packed: int, most: int) -> Task[bytes]:
    """Inflate what is there of a stream that breaks off, up to `most` bytes and to where it is damaged."""
    stream = _Stream(source, offset, packed)
    parts: list[bytes] = []
    done = 0
    while done < most:
        yield Progress(done, most)
        try:
            part = stream.take(min(_CUT_BLOCK, most - done))
        except MalformedFile:
            break
        if not part:
            break
        parts.append(part)
        done += len(part)
    return b"".join(parts)


class InflatedStorage:
    """A deflated byte range that is read by position, best forwards. Thread-safe.

    Parameters
    ----------
    source
        Not owned.
    offset, packed
        Where the deflate stream lies.
    nbytes
        How many bytes of its content may be asked for.
    """

    def __init__(self, source: ByteSource, offset: int, packed: int, nbytes: int) -> None:
        self._nbytes = nbytes
        self._lock = threading.Lock()
        self._stream = _Stream(source, offset, packed)
        self._next_block = 0
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._marks: dict[int, _Stream] = {0: self._stream.copy()}

    def read_into(self, offset: int, buffer: memoryview) -> None:
        """Fill `buffer` from `offset` on; the caller has checked that the range lies in the storage."""
        done = 0
        with self._lock:
            while done < len(buffer):
                number, skip = divmod(offset + done, _BLOCK)
                part = memoryview(self._block(number))[skip : skip + len(buffer) - done]
                if not part:
                    raise MalformedFile(
                        f"a compressed record ends at {offset + done:,} of its {self._nbytes:,} bytes"
                    )
                buffer[done : done + len(part)] = part
                done += len(part)

    def _block(self, number: int) -> bytes:
        block = self._blocks.get(number)
        if block is not None:
            self._blocks.move_to_end(number)
            return block
        if number < self._next_block:
            mark = max(known for known in self._marks if known <= number)
            self._stream, self._next_block = self._marks[mark].copy(), mark
        while True:
            at = self._next_block
            if at % _BLOCKS_PER_MARK == 0 and at not in self._marks:
                self._marks[at] = self._stream.copy()
            block = self._stream.take(min(_BLOCK, self._nbytes - at * _BLOCK))
            self._blocks[at] = block
            self._next_block = at + 1
            if len(self._blocks) > _KEPT_BLOCKS:
                self._blocks.popitem(last=False)
            if at == number or len(block) < _BLOCK:
                return block if at == number else b""


@dataclass(slots=True)
class _Stream:
    """A raw deflate stream, read from its front."""

    source: ByteSource
    at: int
    left: int
    # zlib names its class only in stubs (zlib._Decompress)
    decompressor: Any = None

    def copy(self) -> _Stream:
        decompressor = None if self.decompressor is None else self.decompressor.copy()
        return _Stream(self.source, self.at, self.left, decompressor)

    def take(self, nbytes: int) -> bytes:
        """The next `nbytes` bytes; fewer only at the end of the stream."""
        if self.decompressor is None:
            self.decompressor = zlib.decompressobj(-zlib.MAX_WBITS)
        parts: list[bytes] = []
        missing = nbytes
        try:
            while missing > 0 and not self.decompressor.eof:
                packed = self.decompressor.unconsumed_tail
                if not packed and self.left:
                    packed = self.source.read(self.at, min(_PACKED_STEP, self.left))
                    self.at += len(packed)
                    self.left -= len(packed)
                part = self.decompressor.decompress(packed, missing)
                if not part and not packed:
                    break
                parts.append(part)
                missing -= len(part)
        except zlib.error as error:
            raise MalformedFile(
                f"a compressed record is damaged ({error})", path=self.source.path, advice="Fetch the file again"
            ) from error
        return b"".join(parts)
