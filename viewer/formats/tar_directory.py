"""The members of a tar archive, found by our own code: names and byte ranges, nothing is unpacked.

Header blocks of 512 bytes follow POSIX.1-1988 (ustar), with the long names of GNU tar (types L and K) and the
extended headers of POSIX.1-2001 (types x and g: records "length key=value\\n").
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from viewer.errors import MalformedFile
from viewer.formats.byte_source import ByteSource
from viewer.task import Progress, Task

_BLOCK: Final = 512
_NAME_NBYTES: Final = 64 << 10
"""Longest extended header that is read: names of files have at most 4,096 bytes."""
_MAX_MEMBERS: Final = 100_000
_PER_PROGRESS: Final = 256
_REGULAR: Final = b"\x00" + b"07"  # ordinary files (NUL, "0") and contiguous ones ("7")
_PAX: Final = re.compile(rb"(\d{1,9}) (path|size)=")


@dataclass(frozen=True, slots=True)
class TarMember:
    """An ordinary file in the archive.

    Attributes
    ----------
    start, nbytes
        Where its bytes lie in the source; all of them are there unless `missing`.
    missing
        How many of its bytes the source does not have.
    """

    name: str
    start: int
    nbytes: int
    missing: int = 0


@dataclass(slots=True)
class TarDirectory:
    """All members, in order, and what is out of the ordinary."""

    members: list[TarMember] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def looks_like_tar(head: bytes) -> bool:
    """True where the first block is a tar header, by its checksum: the oldest archives have no signature."""
    return len(head) >= _BLOCK and head[0] != 0 and _has_checksum(head[:_BLOCK])


def tar_directory_task(source: ByteSource) -> Task[TarDirectory]:
    """Walk the headers; no data are read.

    Raises
    ------
    MalformedFile
        Where not even the first header can be read.
    """
    found = TarDirectory()
    at, nth = 0, 0
    long_name = ""
    long_size: int | None = None
    while at + _BLOCK <= source.nbytes:
        if nth % _PER_PROGRESS == 0:
            yield Progress(at, source.nbytes)
        nth += 1
        block = source.read(at, _BLOCK)
        if not block.strip(b"\0"):
            return found
        size = _number(block[124:136])
        if size is None or not _has_checksum(block):
            if not found.members:
                raise MalformedFile("the tar archive is damaged at its start", path=source.path)
            found.warnings.append(f"the tar archive is damaged: no header is at byte {at:,}, where one belongs")
            return found
        kind, start = block[156:157], at + _BLOCK
        if kind in b"LKxg" and kind:
            long_name, long_size = _extended(source, kind, start, size, long_name, long_size)
        else:
            size = size if long_size is None else long_size
            if kind in _REGULAR:
                name = long_name or _name(block)
                missing = max(0, start + size - source.nbytes)
                if not name.endswith("/"):
                    found.members.append(TarMember(name, start, size, missing))
            else:
                size = 0 if kind in b"123456" else size  # links, devices, folders
            long_name, long_size = "", None
        at = start + -(-size // _BLOCK) * _BLOCK
        if len(found.members) >= _MAX_MEMBERS:
            found.warnings.append(f"only the first {_MAX_MEMBERS:,} members of the tar archive are looked at")
            return found
    cut = [member for member in found.members[-1:] if member.missing]
    if cut:
        found.warnings.append(
            f"the file is incomplete: {cut[0].missing:,} bytes of its last member {cut[0].name[:200]!r} are missing"
        )
    elif at != source.nbytes:
        found.warnings.append("the tar archive breaks off; its end mark is missing")
    return found


def _has_checksum(block: bytes) -> bool:
    claimed = _number(block[148:156])
    return claimed is not None and claimed == sum(block) - sum(block[148:156]) + 8 * 32


def _number(field_bytes: bytes) -> int | None:
    """Octal digits, or the binary form of GNU for sizes of 8 GiB and more."""
    if field_bytes[0] == 0x80:
        value = int.from_bytes(field_bytes[1:], "big")
        return value if value < 1 << 62 else None
    text = field_bytes.strip(b" \0")
    if not text:
        return 0
    return int(text, 8) if re.fullmatch(rb"[0-7]{1,12}", text) else None


def _name(block: bytes) -> str:
    name = block[:100].split(b"\0", 1)[0]
    if block[257:262] == b"ustar" and block[257:265] != b"ustar  \0":  # GNU keeps times where POSIX has the prefix
        prefix = block[345:500].split(b"\0", 1)[0]
        if prefix:
            name = prefix + b"/" + name
    return name.decode("utf-8", "replace")


def _extended(
    source: ByteSource, kind: bytes, start: int, size: int, name: str, nbytes: int | None
) -> tuple[str, int | None]:
    """Name and size for the next member after an extended header."""
    if kind in b"Kg" or not 0 < size <= _NAME_NBYTES or start + size > source.nbytes:
        return name, nbytes
    data = source.read(start, size)
    if kind == b"L":
        return data.split(b"\0", 1)[0].decode("utf-8", "replace"), nbytes
    at = 0
    while at < len(data):
        length = re.match(rb"(\d{1,9}) ", data[at : at + 10])
        if length is None or not 0 < int(length[1]) <= len(data) - at:
            break
        record = data[at : at + int(length[1])]
        known = _PAX.match(record)
        if known is not None:
            value = record[known.end() :].rstrip(b"\n")
            if known[2] == b"path":
                name = value.decode("utf-8", "replace")
            elif re.fullmatch(rb"\d{1,18}", value):
                nbytes = int(value)
        at += int(length[1])
    return name, nbytes
