"""Plain data and parts back to values (see `encoding`): the side that trusts nothing.

Whatever the data, it calls nothing but constructors of builtins, `object.__new__` of admitted dataclasses, the
constructors of admitted errors (from three texts) and look-ups of admitted enumerations.
"""

from __future__ import annotations

from array import array
from enum import Enum
from pathlib import Path
from typing import Any

from viewer.engine.admitted import AdmittedClasses
from viewer.engine.encoding import ATOMS, ROWS
from viewer.engine.faults import ProtocolError
from viewer.errors import ViewerError


class Decoder:
    """Makes values of plain data. One for each job: it keeps the parts that have come.

    Raises ProtocolError for what an Encoder does not make.
    """

    def __init__(self, admitted: AdmittedClasses) -> None:
        self._admitted = admitted
        self._parts: list[object] = []

    def add_part(self, encoded: object) -> None:
        self._parts.append(self.decode(encoded))

    def decode(self, encoded: object) -> Any:
        if type(encoded) in ATOMS:
            return encoded
        if type(encoded) is not tuple or not encoded:
            raise ProtocolError(f"expected a tagged tuple, not a {type(encoded).__name__}")
        try:
            return self._decode_tagged(encoded)
        except (ValueError, TypeError, IndexError, KeyError, OverflowError, RecursionError, ImportError) as error:
            raise ProtocolError(f"cannot be decoded: {type(error).__name__}") from error

    def _decode_tagged(self, encoded: tuple[Any, ...]) -> object:
        match encoded:
            case ("=", (list() | tuple()) as value):
                return value
            case ("list" | "tuple" as kind, list() as items):
                values = [self.decode(item) for item in items]
                return values if kind == "list" else tuple(values)
            case ("dict", keys, values):
                return dict(zip(self._list(keys), self._list(values), strict=True))
            case ("set", items):
                return set(self._list(items))
            case ("frozenset", items):
                return frozenset(self._list(items))
            case ("array", str() as typecode, data):
                column = array(typecode)
                column.frombytes(self.decode(data))
                return column
            case ("path", str() as text):
                return Path(text)
            case ("complex", float() as real, float() as imag):
                return complex(real, imag)
            case ("enum", name, value):
                return self._admitted.class_named(name, Enum)(self.decode(value))
            case ("object", name, list() as items):
                return self._object(name, items)
            case ("rows", name, int() as number, list() as columns):
                return self._rows(name, number, columns)
            case ("patched", values, positions, others):
                return self._patched(self._list(values), self._list(positions), self._list(others))
            case ("error", name, str() as fault, path, str() as advice, str() as details):
                return self._error(name, fault, path, advice, details)
            case ("parts", str() as kind, tuple() as numbers):
                return self._joined(kind, [self._take(number) for number in numbers])
        raise ProtocolError("an unknown tag")

    def _list(self, encoded: object) -> list[object]:
        value = self.decode(encoded)
        if type(value) is not list:
            raise ProtocolError(f"expected a list, not a {type(value).__name__}")
        return value

    def _object(self, name: object, items: list[object]) -> object:
        cls = self._admitted.class_named(name)
        names = self._admitted.fields_of(cls)
        made: object = object.__new__(cls)
        for field, item in zip(names, items, strict=True):
            object.__setattr__(made, field, self.decode(item))  # frozen ones too, and without their __init__
        return made

    def _rows(self, name: object, number: int, columns: list[object]) -> list[object]:
        cls = self._admitted.class_named(name)
        names = self._admitted.fields_of(cls)
        if not 0 <= number <= ROWS:
            raise ProtocolError("too many rows")
        made: list[object] = [object.__new__(cls) for _ in range(number)]
        for field, column in zip(names, columns, strict=True):
            for row, item in zip(made, self._list(column), strict=True):
                object.__setattr__(row, field, item)
        return made

    def _patched(self, values: list[object], positions: list[Any], others: list[object]) -> list[object]:
        for at, other in zip(positions, others, strict=True):
            values[at] = other
        return values

    def _error(self, name: object, fault: str, path: object, advice: str, details: str) -> ViewerError:
        if not (path is None or isinstance(path, str)):
            raise ProtocolError("a path is not a text")
        error: ViewerError = self._admitted.class_named(name, ViewerError)(fault, path=path, advice=advice)
        if details:
            error.details = details  # type: ignore[attr-defined]  # EngineFault has it
        return error

    def _take(self, number: object) -> Any:
        if not (isinstance(number, int) and 0 <= number < len(self._parts)):
            raise ProtocolError("a part is missing")
        part, self._parts[number] = self._parts[number], None  # used once: nothing is held twice
        return part

    def _joined(self, kind: str, parts: list[Any]) -> object:
        if kind == "value" and len(parts) == 1:
            return parts[0]
        if kind == "str" and all(type(part) is str for part in parts):
            return "".join(parts)
        if kind == "bytes" and all(type(part) is bytes for part in parts):
            return b"".join(parts)
        if kind in ("list", "tuple") and all(type(part) in (list, tuple) for part in parts):
            rows: list[object] = []
            for part in parts:
                rows.extend(part)
            return rows if kind == "list" else tuple(rows)
        raise ProtocolError("parts that do not fit together")
