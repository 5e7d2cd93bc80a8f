"""Files that are compressed as a whole (gzip, xz, bzip2): what is in them, and how to unpack them.

Such a file can only be read from its front, so nothing of it can be shown lazily. A small tar archive (model.tar.gz)
is unpacked in memory; for anything else the error is a `CompressedFile`, and `unpack_task` writes the content to a
place that the person chooses.
"""

from __future__ import annotations

import bz2
import lzma
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from viewer.errors import CompressedFile, LimitExceeded, MalformedFile, NotACheckpoint, ViewerError
from viewer.formats.byte_source import ByteSource, MemorySource
from viewer.formats.nested import child_task, reader_of
from viewer.formats.reading import Part, PartReader, Reading
from viewer.formats.sniff import HEAD_NBYTES, what_is
from viewer.formats.source import FileSource
from viewer.formats.tar_directory import looks_like_tar
from viewer.task import Progress, Task

_MAGICS: Final = ((b"\x1f\x8b\x08", "gzip"), (b"\xfd7zXZ\x00", "xz"), (b"BZh", "bzip2"))
_STEP: Final = 256 << 10
_PIECE: Final = 4 << 20
_PEEK_PACKED: Final = 1 << 20
_LZMA_MEMORY: Final = 256 << 20
"""xz -9 needs 65 MB; a header that asks for more is refused."""
_SPARE_NBYTES: Final = 256 << 20
"""Bytes of the target's disk that are left free."""
MAX_UNPACKED: Final = 1 << 40
"""Bytes that are unpacked at most unless the caller says otherwise: bzip2 can grow a hundred thousand times."""


class _Decompressor(Protocol):
    """What zlib, lzma and bz2 have in common here."""

    def take(self, packed: bytes, most: int) -> bytes: ...

    @property
    def hungry(self) -> bool: ...

    @property
    def eof(self) -> bool: ...

    @property
    def rest(self) -> bytes: ...


class _Gzip:
    """zlib's decompressor for one gzip member; it checks the checksum at the end."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def take(self, packed: bytes, most: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + packed, most)

    @property
    def hungry(self) -> bool:
        return not self._inner.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def rest(self) -> bytes:
        return self._inner.unused_data


class _Streams:
    """xz and bzip2, whose decompressors have one interface."""

    def __init__(self, inner: lzma.LZMADecompressor | bz2.BZ2Decompressor) -> None:
        self._inner = inner

    def take(self, packed: bytes, most: int) -> bytes:
        return self._inner.decompress(packed, most)

    @property
    def hungry(self) -> bool:
        return self._inner.needs_input

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def rest(self) -> bytes:
        return self._inner.unused_data


class CompressedReader(PartReader):
    """Says what a compressed file holds, and opens small tar archives in it."""

    name = "compressed"

    def sniff(self, head: bytes, source: ByteSource) -> bool:  # noqa: ARG002 - a reader may look further
        return bool(compression_of(head))

    def part_task(self, source: ByteSource, reading: Reading) -> Task[Part]:
        kind = compression_of(source.read(0, min(source.nbytes, 8)))
        head = _peek(source, kind)
        if not head:
            raise MalformedFile(
                f"the file is incomplete: its {kind}-compressed data break off at the start",
                path=source.path,
                advice="Fetch it again",
            )
        if looks_like_tar(head):
            try:
                data, problem = yield from _inflated_task(source, kind, reading)
            except LimitExceeded:
                raise _offer(source, kind, "a tar archive") from None
            inner = MemorySource(data, source.path)
            reader = reader_of(inner)
            if reader is not None:
                try:
                    part = yield from child_task(inner, reader, reading)
                except ViewerError as error:
                    if not problem:
                        raise
                    raise _broken_off(source, problem) from error
                warnings = [problem, *part.warnings] if problem else part.warnings
                return Part(part.root, f"{kind}-compressed {part.container}", warnings, part.facts)
            if problem:
                raise _broken_off(source, problem)
        inside = MemorySource(head, source.path)
        reader = reader_of(inside)
        if reader is None:
            content, _ = what_is(head[:HEAD_NBYTES], inside)
            raise NotACheckpoint(
                f"not a checkpoint: this is {kind}-compressed data, and in it {content}",
                path=source.path,
                advice="Unpack it and look into the result",
            )
        raise _offer(source, kind, f"a checkpoint ({reader.name})")


def compression_of(head: bytes) -> str:
    """ "gzip", "xz", "bzip2", or "" for what is not compressed so."""
    for magic, kind in _MAGICS:
        if head.startswith(magic) and (kind != "bzip2" or head[3:4].isdigit()):
            return kind
    return ""


def unpack_task(
    path: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    max_nbytes: int = MAX_UNPACKED,
) -> Task[Path]:
    """Unpack a compressed file to `target`; returns the target.

    The bytes go to a temporary file beside it, which takes the target's name when all of them are written and
    checked. Cancelled or failed, nothing is left behind.

    Raises
    ------
    ViewerError
        When the file is not compressed or is damaged, the target exists (unless `overwrite`), or the disk is full.
    """
    goal = Path(target)
    with FileSource(path) as source:
        kind = compression_of(source.read(0, min(source.nbytes, 8)))
        if not kind:
            raise NotACheckpoint("this file is not compressed with gzip, xz or bzip2", path=source.path)
        _demand_free(goal, source, overwrite)
        part = goal.with_name(f".{goal.name}.{secrets.token_hex(4)}.part")
        try:
            file = part.open("xb")
        except OSError as error:
            raise ViewerError(
                f"no file can be made there ({error.strerror})", path=goal, advice="Choose another folder"
            ) from error
        try:
            with file:
                done = 0
                for at, piece in _pieces(source, kind):
                    done += len(piece)
                    if done > max_nbytes or shutil.disk_usage(goal.parent).free < len(piece) + _SPARE_NBYTES:
                        raise LimitExceeded(
                            f"unpacking stopped at {done:,} bytes: there is no room for more",
                            path=goal,
                            advice="Free some space or choose another disk",
                        )
                    file.write(piece)
                    yield Progress(at, source.nbytes)
                file.flush()
                os.fsync(file.fileno())
            source.check_unchanged()
            _demand_free(goal, source, overwrite)
            part.replace(goal)
        except OSError as error:
            raise ViewerError(f"writing failed ({error.strerror})", path=goal, advice="Check the disk") from error
        finally:
            part.unlink(missing_ok=True)
    return goal


def _demand_free(goal: Path, source: FileSource, overwrite: bool) -> None:
    """Refuse a target that exists, is a link, or is the source."""
    try:
        status = goal.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ViewerError(
            f"no file can be made there ({error.strerror})", path=goal, advice="Choose another name"
        ) from error
    if stat.S_ISLNK(status.st_mode):
        raise ViewerError("this is a link", path=goal, advice="Give the name of the file itself, or another one")
    if (status.st_ino, status.st_dev) == (source.facts.inode, source.facts.device):
        raise ViewerError("a file cannot be unpacked onto itself", path=goal, advice="Choose another name")
    if not overwrite or not stat.S_ISREG(status.st_mode):
        raise ViewerError("there is a file of this name already", path=goal, advice="Choose another name")


def _broken_off(source: ByteSource, problem: str) -> MalformedFile:
    return MalformedFile(
        f"{problem}, and no checkpoint is in the part that is there", path=source.path, advice="Fetch the file again"
    )


def _offer(source: ByteSource, kind: str, what: str) -> CompressedFile:
    return CompressedFile(
        f"this is {what}, compressed with {kind} as a whole, so that it cannot be read in place",
        path=source.path,
        advice="Unpack it to a place of your choice, and open the result",
    )


def _new(kind: str) -> _Decompressor:
    if kind == "gzip":
        return _Gzip()
    if kind == "xz":
        return _Streams(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_LZMA_MEMORY))
    return _Streams(bz2.BZ2Decompressor())


def _pieces(source: ByteSource, kind: str) -> Iterator[tuple[int, bytes]]:
    """(bytes of the file read so far, next piece of at most 4 MiB), to the end; streams in a row are one.

    Raises
    ------
    MalformedFile
        Where the data are damaged or break off.
    """
    at, rest = 0, b""
    inner = _new(kind)
    begun = True
    try:
        while True:
            packed = b""
            if inner.hungry:
                packed, rest = rest, b""
                if not packed:
                    packed = source.read(at, min(_STEP, source.nbytes - at))
                    at += len(packed)
                if not packed:
                    break
            if not begun:
                packed = packed.lstrip(b"\0")  # padding between streams (xz) or behind them (gzip)
                if not packed:
                    continue
                if not compression_of(packed):
                    break  # what follows is none of it, as gzip itself takes it
                begun = True
            piece = inner.take(packed, _PIECE)
            if inner.eof:
                rest, inner, begun = inner.rest + rest, _new(kind), False
            yield at, piece
    except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
        raise MalformedFile(
            f"the {kind}-compressed data are damaged ({error})", path=source.path, advice="Fetch the file again"
        ) from error
    if begun:
        raise MalformedFile(
            f"the file is incomplete: its {kind}-compressed data break off", path=source.path, advice="Fetch it again"
        )


def _peek(source: ByteSource, kind: str) -> bytes:
    """The first bytes of the content: as many as the first part of the file gives."""
    inner = _new(kind)
    try:
        return inner.take(source.read(0, min(source.nbytes, _PEEK_PACKED)), 64 << 10)
    except (zlib.error, lzma.LZMAError, OSError, EOFError) as error:
        raise MalformedFile(
            f"this is {kind}-compressed data, and it is damaged ({error})",
            path=source.path,
            advice="Fetch the file again",
        ) from error


def _inflated_task(source: ByteSource, kind: str, reading: Reading) -> Task[tuple[bytes, str]]:
    """The content, and why it is not all of it ("" where it is)."""
    parts: list[bytes] = []
    problem = ""
    try:
        for at, piece in _pieces(source, kind):
            reading.budget.spend(len(piece))
            parts.append(piece)
            yield Progress(at, source.nbytes)
    except MalformedFile as error:
        problem = error.fault
    return b"".join(parts), problem
