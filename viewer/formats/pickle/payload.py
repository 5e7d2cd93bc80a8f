"""The strings of a pickle that are long enough to be told from its structure: how much they are, and where."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from viewer.formats.limits import Limits
from viewer.formats.pickle.faults import excess

PAYLOAD: Final = 100  # bytes of a string, from which its memory is that of the file
_TEXT: Final = b"XTUSV\x8c\x8d"


class Payload:
    """What a scan has met of them.

    Attributes
    ----------
    nbytes
        Of all.
    """

    def __init__(self, limits: Limits, source_name: str) -> None:
        self.nbytes = 0
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
        self._bounds.extend((start, start + nbytes))
        self.nbytes += nbytes
        if self.nbytes > self._limits.pickle_payload_nbytes:
            raise excess(self._name, f"more than {self._limits.pickle_payload_nbytes:,} bytes of strings")
        if opcode in _TEXT:
            self._text += nbytes
            if self._text > self._limits.pickle_text_nbytes:
                raise excess(self._name, f"more than {self._limits.pickle_text_nbytes:,} bytes of text")

    def between(self, data: bytes | memoryview, start: int, end: int) -> Iterator[bytes | memoryview]:
        """The parts of a pickle from `start` to `end` that are none of them."""
        bounds = iter(self._bounds)
        for string_start, string_end in zip(bounds, bounds, strict=True):
            yield data[start:string_start]
            start = string_end
        yield data[start:end]
