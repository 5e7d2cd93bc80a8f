"""The strings of a pickle that are long enough to be told from its structure: how much they are, and where."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from viewer.formats.limits import Limits
from viewer.formats.pickle.faults import excess

PAYLOAD: Final = 100  # bytes of a string, from which its memory is that of the file
_TEXT: Final = b"XTUSV\x8c\x8d"
_WIDE: Final = 0xF0  # first byte in UTF-8 of what makes Python take four bytes for each character of a str (PEP 393)
_HALF_WIDE: Final = 0xC4  # the same for two bytes
_PIECE: Final = 1 << 20


class Payload:
    """What a scan has met of them.

    Attributes
    ----------
    nbytes
        Of all.
    text_memory
        Bytes that the text among them takes once it is decoded.
    """

    def __init__(self, limits: Limits, source_name: str, data: bytes | memoryview) -> None:
        self.nbytes = self.text_memory = 0
        self._data = data
        self._limits = limits
        self._name = source_name
        self._text = 0
        self._bounds = array("Q")  # where they begin and end

    def add(self, opcode: int, start: int, nbytes: int) -> None:
        """Count one, in order.

        Raises
        ------
        LimitExceeded
            When it is one too many.
        """
        self.nbytes += nbytes
        if self.nbytes > self._limits.pickle_payload_nbytes:
            raise excess(self._name, f"more than {self._limits.pickle_payload_nbytes:,} bytes of strings")
        self._bounds.extend((start, start + nbytes))
        if opcode in _TEXT:
            self._text += nbytes
            if self._text > self._limits.pickle_text_nbytes:
                raise excess(self._name, f"more than {self._limits.pickle_text_nbytes:,} bytes of text")
            self.text_memory += nbytes * _width(self._data, start, start + nbytes)
            if self.text_memory > self._limits.pickle_text_memory_nbytes:
                most = self._limits.pickle_text_memory_nbytes
                raise excess(self._name, f"more than {most:,} bytes of memory for text of wide characters")

    def between(self, data: bytes | memoryview, start: int, end: int) -> Iterator[bytes | memoryview]:
        """The parts of a pickle from `start` to `end` that are none of them."""
        bounds = iter(self._bounds)
        for string_start, string_end in zip(bounds, bounds, strict=True):
            yield data[start:string_start]
            start = string_end
        yield data[start:end]


def _width(data: bytes | memoryview, start: int, end: int) -> int:
    """At most so many bytes of memory a byte of text takes: 1, 2 or 4, by its widest character."""
    width = 1
    for at in range(start, min(end, len(data)), _PIECE):
        piece = bytes(data[at : min(at + _PIECE, end)])
        if not piece.isascii():
            first = max(piece)
            if first >= _WIDE:
                return 4
            if first >= _HALF_WIDE:
                width = 2
    return width
