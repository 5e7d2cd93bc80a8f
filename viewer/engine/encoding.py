"""Values as plain data, in pieces of bounded size; `decoding` makes values of them again.

`Encoder` turns an object into nothing but None, bool, int, float, str, bytes, tuples, lists and sets of those, which
pickle reads and writes without naming any class. Long lists, arrays, texts and bytes leave it as *parts*, because C
`pickle.loads` holds the interpreter for its whole length: a million nodes in one piece would freeze the window for
seconds, in parts of `ROWS` entries the longest hold is a few milliseconds.

An encoded value is an atom as it is, or a tuple that begins with a tag:

    "=", value                          a list or tuple of atoms and of tuples of atoms, as it is
    "list" | "tuple", items             item by item
    "rows", class, number, columns      a list of dataclasses of one class, a list for each field
    "patched", list, positions, values  a list with None in the place of some values, and these
    "set" | "frozenset", list
    "dict", list of keys, list of values
    "array", typecode, bytes
    "object", class, fields             a dataclass
    "enum", class, value
    "error", class, fault, path, advice, details
    "path", text
    "complex", real, imaginary
    "parts", how to join, numbers       what has gone out before
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import is_dataclass
from enum import Enum
from itertools import chain
from operator import attrgetter
from pathlib import PurePath
from typing import Any, Final

from viewer.engine.admitted import AdmittedClasses
from viewer.errors import ViewerError

ROWS: Final = 20_000
"""Entries of one part of a list: 1 to 3 ms of `pickle.loads` for texts and short tuples."""
PART_NBYTES: Final = 1 << 20
"""Bytes (or characters) of one part of an array, of bytes or of a text."""

ATOMS: Final = frozenset({type(None), bool, int, float, str, bytes})
_ATOMS_AND_TUPLES: Final = ATOMS | {tuple}

_REFERENCE_NBYTES: Final = 32
_WORTH_COLUMNS: Final = 16
"""Entries from which a list of objects goes by columns."""

SendPart = Callable[[object], int]
"""Takes an encoded part and returns its number."""


class Encoder:
    """Makes plain data of values; `send_part` is called for each part before the value that needs it is complete.

    Raises TypeError for what may not cross the pipe.
    """

    def __init__(self, admitted: AdmittedClasses, send_part: SendPart) -> None:
        self._admitted = admitted
        self._send_part = send_part
        self._weight = 0  # rough bytes of what waits in the piece being made

    def encode(self, value: Any) -> object:
        """The plain data for `value`; what is heavy has gone out as parts."""
        before = self._weight
        encoded = self._encode(value)
        if self._weight > PART_NBYTES and self._weight > before + _REFERENCE_NBYTES:
            encoded = self._in_parts("value", [encoded])
            self._weight = before + _REFERENCE_NBYTES
        return encoded

    def _encode(self, value: Any) -> object:
        kind = type(value)
        if kind in ATOMS:
            return self._text(value) if kind is str or kind is bytes else self._weighed(8, value)
        if kind is list or kind is tuple:
            return self._sequence(value)
        if kind is array:
            return "array", value.typecode, self.encode(value.tobytes())
        if isinstance(value, dict):
            return "dict", self.encode(list(value)), self.encode(list(value.values()))
        if kind is set or kind is frozenset:
            return kind.__name__, self.encode(list(value))
        if isinstance(value, PurePath):
            return "path", self.encode(os.fspath(value))
        if kind is complex:
            return "complex", value.real, value.imag
        if isinstance(value, ViewerError):
            return self._error(value)
        name = self._admitted.name_of(kind)
        if name is None:
            raise TypeError(f"a {kind.__module__}.{kind.__qualname__} may not cross the pipe")
        self._weight += len(name)
        if isinstance(value, Enum):
            return "enum", name, self.encode(value.value)
        return "object", name, [self.encode(getattr(value, field)) for field in self._admitted.fields_of(kind)]

    def _text(self, value: str | bytes) -> object:
        if len(value) > PART_NBYTES:
            pieces = [value[at : at + PART_NBYTES] for at in range(0, len(value), PART_NBYTES)]
            return self._in_parts(type(value).__name__, pieces)
        return self._weighed(8 + len(value), value)

    def _sequence(self, value: list[Any] | tuple[Any, ...]) -> object:
        if len(value) > ROWS:
            return self._in_parts(type(value).__name__, self._pieces(value, ROWS))
        weight = _plain_weight(value)
        if weight is None:
            return self._mixed(value)
        if weight > PART_NBYTES and len(value) > 1:  # few entries, but long ones
            return self._in_parts(type(value).__name__, self._pieces(value, len(value) + 1 >> 1))
        return self._weighed(weight, ("=", value))

    def _mixed(self, value: list[Any] | tuple[Any, ...]) -> object:
        """A list with objects in it, by columns where it can be: a million keys of one class are common."""
        kind = type(value).__name__
        kinds = set(map(type, value))
        if type(value) is list and len(value) >= _WORTH_COLUMNS:
            others = [at for at, item in enumerate(value) if type(item) not in ATOMS]
            if len(others) < len(value):
                rest: list[Any] = list(value)
                for at in others:
                    rest[at] = None
                return "patched", self.encode(rest), self.encode(others), self.encode([value[at] for at in others])
            (cls, *more) = kinds
            if not more and is_dataclass(cls) and (name := self._admitted.name_of(cls)) is not None:
                columns = [list(map(attrgetter(field), value)) for field in self._admitted.fields_of(cls)]
                return "rows", name, len(value), [self.encode(column) for column in columns]
        return kind, [self.encode(item) for item in value]

    def _pieces(self, value: list[Any] | tuple[Any, ...], step: int) -> Iterator[object]:
        for at in range(0, len(value), step):
            before = self._weight
            yield self._sequence(value[at : at + step])
            self._weight = before  # it has left as a part

    def _error(self, error: ViewerError) -> object:
        # A room may have errors of its own kinds; the window is given the nearest kind that it knows.
        names = (self._admitted.name_of(base) for base in type(error).__mro__)
        name = next(name for name in names if name is not None)
        path = None if error.path is None else os.fspath(error.path)
        return "error", name, str(error.fault), path, str(error.advice), str(getattr(error, "details", ""))

    def _in_parts(self, kind: str, pieces: Iterable[object]) -> object:
        numbers = tuple([self._send_part(piece) for piece in pieces])
        return "parts", kind, self._weighed(8 * len(numbers), numbers)

    def _weighed(self, weight: int, encoded: object) -> object:
        self._weight += weight
        return encoded


def _plain_weight(values: Sequence[object]) -> int | None:
    """Rough bytes of a list that pickle can take as it is (atoms, and tuples of atoms), at C speed; else None."""
    kinds = set(map(type, values))
    if not kinds <= _ATOMS_AND_TUPLES:
        return None
    weight = _atoms_weight(values, kinds)
    if tuple in kinds:
        inner = list(chain.from_iterable(value for value in values if type(value) is tuple))
        inner_kinds = set(map(type, inner))
        if not inner_kinds <= ATOMS:
            return None
        weight += _atoms_weight(inner, inner_kinds)
    return weight


def _atoms_weight(values: Sequence[object], kinds: set[type]) -> int:
    weight = 8 * len(values)
    if str in kinds or bytes in kinds:
        weight += sum(len(value) for value in values if isinstance(value, (str, bytes)))
    return weight
