"""Constants and small pieces of the zip format that several modules share.

Field layouts follow PKWARE's APPNOTE 6.3.10, sections 4.3.7 to 4.3.16, 4.4.4 (flags) and 4.5.3 (zip64).
"""

from __future__ import annotations

import struct
import sys
from array import array
from typing import Final

STORED_METHOD: Final = 0
DEFLATE_METHOD: Final = 8
BZIP2_METHOD: Final = 12
LZMA_METHOD: Final = 14
OTHER_METHODS: Final = (BZIP2_METHOD, LZMA_METHOD)
"""Compressions that Python's zipfile writes and torch does not read; such records are unpacked into memory."""
METHOD_NAMES: Final = {1: "shrink", 6: "implode", 9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd", 95: "xz"}

FLAG_ENCRYPTED: Final = 0x0001
FLAG_DESCRIPTOR: Final = 0x0008
FLAG_STRONG_ENCRYPTION: Final = 0x0040
FLAG_UTF8: Final = 0x0800
FLAG_MASKED: Final = 0x2000
ENCRYPTED_FLAGS: Final = FLAG_ENCRYPTED | FLAG_STRONG_ENCRYPTION | FLAG_MASKED

CENTRAL_SIGNATURE: Final = b"PK\x01\x02"
LOCAL_SIGNATURE: Final = b"PK\x03\x04"
END_SIGNATURE: Final = b"PK\x05\x06"
END64_SIGNATURE: Final = b"PK\x06\x06"
LOCATOR_SIGNATURE: Final = b"PK\x06\x07"
DESCRIPTOR_SIGNATURE: Final = b"PK\x07\x08"
EXTRA_DATA_SIGNATURE: Final = b"PK\x06\x08"

CENTRAL_NBYTES: Final = 46
"""Bytes of a directory entry without its name, extra field and comment."""
LOCAL_NBYTES: Final = 30
"""Bytes of a local header without its name and extra field."""
U32: Final = 0xFFFFFFFF
"""In a 32-bit field: the number is in the zip64 block of the extra field."""


def decode_name(raw: bytes, flags: int) -> str:
    """A record's name: UTF-8 where the flag says so, cp437 otherwise (APPNOTE, appendix D)."""
    if flags & FLAG_UTF8 or raw.isascii():
        return raw.decode("utf-8", "replace")
    return raw.decode("cp437")


def encode_name(name: str, flags: int) -> bytes:
    """The bytes that `decode_name` made `name` from, unless they were not in the encoding that they should be in."""
    if flags & FLAG_UTF8 or name.isascii():
        return name.encode("utf-8")
    return name.encode("cp437")


def zip64_values(extra: bytes) -> tuple[int, ...]:
    """The 64-bit numbers in the zip64 block of an extra field; empty where there is none."""
    at = 0
    while at + 4 <= len(extra):
        tag, size = struct.unpack_from("<HH", extra, at)
        at += 4
        if tag == 1:
            count = min(size, len(extra) - at) // 8
            return struct.unpack_from(f"<{min(count, 3)}Q", extra, at)
        at += size
    return ()


def method_name(method: int) -> str:
    """A compression method in words."""
    return METHOD_NAMES.get(method, f"method {method}")


def column(records: bytes, size: int, where: int, width: int, typecode: str) -> array[int]:
    """A little-endian field of `width` bytes at `where` of each record of `size` bytes."""
    values = array(typecode, bytes(len(records) // size * array(typecode).itemsize))
    octets = memoryview(values).cast("B")
    for nth in range(width):
        octets[nth :: values.itemsize] = records[where + nth :: size]
    if sys.byteorder == "big":
        octets.release()
        values.byteswap()
    return values


def foreign_text(method: int) -> str:
    """What is said of a record that is compressed in a way that torch does not use."""
    return f"it is compressed with {method_name(method)}, which torch does not use"
