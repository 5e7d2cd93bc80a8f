"""Records of bzip2 and LZMA data, as Python's zipfile can write them; torch does not read such.

Both can only be read from their front, and neither decompressor can be copied to go on from a place: a record is
unpacked as a whole, never to more than it is said to hold.
"""

from __future__ import annotations

import bz2
import lzma
import struct
from typing import Final

from viewer.errors import MalformedFile
from viewer.formats.byte_source import ByteSource
from viewer.formats.zip_format import BZIP2_METHOD
from viewer.task import Progress, Task

_PACKED_STEP: Final = 256 << 10
_BLOCK: Final = 1 << 20
_LZMA_HEAD: Final = struct.Struct("<HH")  # version of the SDK, bytes of properties (APPNOTE 5.8.8)
_LZMA_PROPERTIES: Final = 5
_LZMA_DICTIONARY: Final = 256 << 20
"""Bytes of memory that a record may ask for; `xz -9` uses 64 MiB."""


def decompress_task(source: ByteSource, offset: int, packed: int, unpacked: int, method: int) -> Task[bytes]:
    """Unpack a whole record to exactly `unpacked` bytes.

    Raises
    ------
    MalformedFile
        Where the data are broken, or hold fewer or more bytes than `unpacked`.
    """
    decompressor: bz2.BZ2Decompressor | lzma.LZMADecompressor
    at = 0
    if method == BZIP2_METHOD:
        decompressor = bz2.BZ2Decompressor()
    else:
        decompressor, at = _lzma(source, offset, packed)
    parts: list[bytes] = []
    done = 0
    try:
        while done <= unpacked and not decompressor.eof:
            yield Progress(done, unpacked)
            data = b""
            if decompressor.needs_input:
                data = source.read(offset + at, min(_PACKED_STEP, packed - at))
                at += len(data)
                if not data:
                    break
            part = decompressor.decompress(data, min(_BLOCK, unpacked + 1 - done))
            parts.append(part)
            done += len(part)
    except (OSError, lzma.LZMAError) as error:
        raise MalformedFile(f"a compressed record is damaged ({error})", path=source.path) from error
    if done != unpacked:
        raise MalformedFile(f"a compressed record does not hold the {unpacked:,} bytes that it should")
    return b"".join(parts)


def _lzma(source: ByteSource, offset: int, packed: int) -> tuple[lzma.LZMADecompressor, int]:
    """A decompressor for what follows the properties of a record, and where that begins."""
    head = source.read(offset, min(packed, _LZMA_HEAD.size + _LZMA_PROPERTIES))
    if len(head) < _LZMA_HEAD.size + _LZMA_PROPERTIES or _LZMA_HEAD.unpack_from(head)[1] != _LZMA_PROPERTIES:
        raise MalformedFile("a record of LZMA data has no properties at its front", path=source.path)
    coded, size = struct.unpack_from("<BI", head, _LZMA_HEAD.size)
    if coded >= 9 * 5 * 5 or size > _LZMA_DICTIONARY:
        raise MalformedFile("a record of LZMA data asks for what no encoder writes", path=source.path)
    options = {"id": lzma.FILTER_LZMA1, "lc": coded % 9, "lp": coded // 9 % 5, "pb": coded // 45, "dict_size": size}
    try:
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[options]), len(head)
    except (lzma.LZMAError, ValueError) as error:
        raise MalformedFile(f"a record of LZMA data cannot be read ({error})", path=source.path) from error
