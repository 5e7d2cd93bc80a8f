"""Many local headers of a zip archive at once, where they are like each other."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from operator import add, le
from typing import Final

from viewer.formats.zip_directory import ZipDirectory
from viewer.formats.zip_format import LOCAL_NBYTES, column

_MOST: Final = 4096
_NAME_LENGTH_AT: Final = 26
_EXTRA_LENGTH_AT: Final = 28


def starts_of_run(
    window: bytes, window_at: int, directory: ZipDirectory, limit: array[int], order: list[int], nth: int, head: bytes
) -> list[int]:
    """Where the data of the records order[nth], order[nth + 1] … begin, for as many of them as are beyond doubt.

    Those have their local headers in `window`, which lies at `window_at` in the file; the headers begin with `head`
    and name the records as the directory does, in ASCII and names of one length; and the data end before `limit`.
    Each byte of the headers is compared for all records by one strided slice.
    """
    name_n = len(directory.names[order[nth]])
    size = LOCAL_NBYTES + name_n
    last = window_at + len(window) - size
    end = bisect_right(order, last, nth, min(nth + _MOST, len(order)), key=directory.header.__getitem__)
    first, count = order[nth], end - nth
    if count < 1 or order[end - 1] - first != count - 1 or order[nth:end] != list(range(first, first + count)):
        return []  # written in another order than listed
    names = directory.names[first : first + count]
    lengths = list(map(len, names))
    if lengths.count(name_n) != count:
        count = next(at for at, length in enumerate(lengths) if length != name_n)
        del names[count:]
    raw_names = "".join(names)
    if not raw_names.isascii():
        return []
    part = slice(first, first + count)
    headers = directory.header[part]
    heads = b"".join([window[at - window_at : at - window_at + size] for at in headers])
    if not _are_as(heads, size, head, name_n, raw_names.encode()):
        return []
    starts = [
        at + size + extra for at, extra in zip(headers, column(heads, size, _EXTRA_LENGTH_AT, 2, "H"), strict=True)
    ]
    return starts if all(map(le, map(add, starts, directory.packed[part]), limit[part])) else []


def _are_as(heads: bytes, size: int, head: bytes, name_n: int, raw_names: bytes) -> bool:
    count = len(heads) // size
    lengths = name_n.to_bytes(2, "little")
    for at, byte in (*enumerate(head), *enumerate(lengths, _NAME_LENGTH_AT)):
        if heads[at::size] != bytes([byte]) * count:
            return False
    return all(heads[LOCAL_NBYTES + nth :: size] == raw_names[nth::name_n] for nth in range(name_n))
