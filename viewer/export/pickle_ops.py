"""Opcodes of pickle protocol 2 for plain values, with the memo of the canonical form (docs/canonical-format.md)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Final

from viewer.errors import LimitExceeded
from viewer.export.values import CallValue, DictValue, ListValue, NameValue, SetValue, Value

_TUPLES: Final = {1: b"\x85", 2: b"\x86", 3: b"\x87"}
_MAX_U32: Final = 0xFFFFFFFF


def int_opcodes(number: int) -> bytes:
    """The opcode of an int and its argument."""
    if 0 <= number <= 0xFF:
        return b"K" + number.to_bytes(1, "little")
    if 0 <= number <= 0xFFFF:
        return b"M" + number.to_bytes(2, "little")
    if -(1 << 31) <= number < 1 << 31:
        return b"J" + number.to_bytes(4, "little", signed=True)
    nbytes = (number if number >= 0 else ~number).bit_length() // 8 + 1
    raw = number.to_bytes(nbytes, "little", signed=True)
    if nbytes <= 0xFF:
        return b"\x8a" + nbytes.to_bytes(1, "little") + raw
    return b"\x8b" + nbytes.to_bytes(4, "little") + raw


class Opcodes:
    """Collects opcodes. An int in `_out` is a place in the memo: n where a value may be put, ~n where it is got."""

    def __init__(self) -> None:
        self.out: list[bytes | int] = []
        self.places: dict[object, int] = {}
        self.classes: dict[object, int] = {}  # number of each equal immutable value, by its parts' numbers
        self._class_of: dict[int, int] = {}  # the same by id, for values that live as long as the content
        self.by_type: dict[type, Callable[[Value], None]] = {
            type(None): self._none,
            bool: self.boolean,
            int: self.integer,
            float: self._float,
            complex: self._complex,
            str: self.text,
            bytes: self._bytes,
            tuple: self.tuple_value,
            ListValue: self._list,
            DictValue: self._dict,
            SetValue: self._set,
            NameValue: self._name_value,
            CallValue: self._call,
        }

    def emit(self, value: Value) -> None:
        self.by_type[type(value)](value)

    def assembled(self) -> bytes:
        """The whole pickle: unused places are left out, the others numbered as they stand."""
        used = {~item for item in self.out if isinstance(item, int) and item < 0}
        numbers: dict[int, int] = {}
        pieces = [b"\x80\x02"]
        append = pieces.append
        for item in self.out:
            if not isinstance(item, int):
                append(item)
            elif item < 0:
                append(_indexed(b"h", b"j", numbers[~item]))
            elif item in used:
                index = numbers[item] = len(numbers)
                append(_indexed(b"q", b"r", index))
        append(b".")
        return b"".join(pieces)

    def recall(self, key: object) -> bool:
        """Get a value from the memo; False where it was not written yet."""
        place = self.places.get(key)
        if place is None:
            return False
        self.out.append(~place)
        return True

    def put(self, key: object) -> None:
        place = self.places[key] = len(self.places)
        self.out.append(place)

    def _none(self, _value: Value) -> None:
        self.out.append(b"N")

    def boolean(self, value: Value) -> None:
        self.out.append(b"\x88" if value else b"\x89")

    def integer(self, value: Value) -> None:
        self.out.append(int_opcodes(value))

    def _float(self, value: Value) -> None:
        self.out.append(b"G" + struct.pack(">d", value))

    def _complex(self, value: Value) -> None:
        key = ("complex", struct.pack(">dd", value.real, value.imag))
        if not self.recall(key):
            self.name("builtins", "complex")
            self._float(value.real)
            self._float(value.imag)
            self.out.append(b"\x86R")
            self.put(key)

    def text(self, value: Value) -> None:
        if self.recall(value):
            return
        raw = value.encode("utf-8", "surrogatepass")
        if len(raw) > _MAX_U32:
            raise LimitExceeded(f"a text of {len(raw):,} bytes is longer than a pickle of protocol 2 can hold")
        self.out.append(b"X" + len(raw).to_bytes(4, "little") + raw)
        self.put(value)

    def _bytes(self, value: Value) -> None:
        key = ("bytes", value)
        if not self.recall(key):
            self.name("_codecs", "encode")
            self.text(value.decode("latin-1"))
            self.text("latin1")
            self.out.append(b"\x86R")
            self.put(key)

    def tuple_value(self, value: Value) -> None:
        if not value:
            self.out.append(b")")
            return
        key = self._class(value)
        if not self.recall(key):
            self.arguments(value)
            self.put(key)

    def arguments(self, items: tuple[Value, ...]) -> None:
        """A tuple that is a part of a call, and so is written in full each time."""
        self.sequence(items, self.emit)

    def sequence(self, items: tuple[Value, ...], emit: Callable[[Value], None]) -> None:
        if not items:
            self.out.append(b")")
            return
        if len(items) > 3:
            self.out.append(b"(")
        for item in items:
            emit(item)
        self.out.append(_TUPLES.get(len(items), b"t"))

    def _list(self, value: Value) -> None:
        if not self.recall(id(value)):
            self.out.append(b"]")
            self.put(id(value))
            self._items(value.items)

    def _items(self, items: Iterable[Value] | None) -> None:
        if items:
            self.out.append(b"(")
            for item in items:
                self.emit(item)
            self.out.append(b"e")

    def _dict(self, value: Value) -> None:
        if not self.recall(id(value)):
            self.out.append(b"}")
            self.put(id(value))
            self._pairs(value.pairs)

    def _pairs(self, pairs: Iterable[tuple[Value, Value]] | None) -> None:
        if pairs:
            self.out.append(b"(")
            for key, item in pairs:
                self.emit(key)
                self.emit(item)
            self.out.append(b"u")

    def _set(self, value: Value) -> None:
        key = self._class(value) if value.frozen else id(value)
        if not self.recall(key):
            self.name("builtins", "frozenset" if value.frozen else "set")
            self.out.append(b"]")
            self._items(value.members)
            self.out.append(b"\x85R")
            self.put(key)

    def _name_value(self, value: Value) -> None:
        self.name(value.module, value.name)

    def name(self, module: str, name: str) -> None:
        key = ("name", module, name)
        if self.recall(key):
            return
        outer, _, last = name.rpartition(".")
        if outer:
            self.name("builtins", "getattr")
            self.name(module, outer)
            self.text(last)
            self.out.append(b"\x86R")
        else:
            self.out.append(b"c" + f"{module}\n{name}\n".encode())
        self.put(key)

    def _call(self, value: Value) -> None:
        key = self._class(value) if value.immutable else id(value)
        if self.recall(key):
            return
        if value.kwargs is not None:
            self.name("copyreg", "__newobj_ex__")
            self.emit(value.function)
            self.arguments(value.args)
            self.emit(value.kwargs)
            self.out.append(b"\x87R")
        else:
            self.emit(value.function)
            self.arguments(value.args)
            self.out.append(b"\x81" if value.is_new else b"R")
        self.put(key)
        self._items(value.items)
        self._pairs(value.pairs)
        for state in value.states:
            self.emit(state)
            self.out.append(b"b")

    def _class(self, value: Value) -> int:
        """A number that all equal immutable values share."""
        known = self._class_of.get(id(value))
        if known is None:
            parts = self._parts(value)
            known = self._class_of[id(value)] = self.classes.setdefault(parts, -1 - len(self.classes))
        return known

    def _parts(self, value: Value) -> tuple[object, ...]:
        if isinstance(value, tuple):
            return ("tuple", *map(self._part, value))
        if isinstance(value, SetValue):
            return ("frozenset", *map(self._part, value.members))
        states = tuple(map(self._part, value.states))
        return (
            "call",
            self._part(value.function),
            value.is_new,
            tuple(map(self._part, value.args)),
            None if value.kwargs is None else id(value.kwargs),
            tuple(map(self._part, value.items or ())),
            tuple((self._part(key), self._part(item)) for key, item in value.pairs or ()),
            states,
        )

    def _part(self, value: Value) -> object:
        kind = type(value)
        if kind is str:
            return value
        if kind is int or kind is bool or kind is bytes:
            return kind.__name__, value
        if kind is float:
            return "float", struct.pack(">d", value)
        if kind is complex:
            return "complex", struct.pack(">dd", value.real, value.imag)
        if value is None:
            return None
        if kind is NameValue:
            return "name", value.module, value.name
        if kind is tuple or (kind is SetValue and value.frozen) or (kind is CallValue and value.immutable):
            return "class", self._class(value)
        return "object", id(value)


def _indexed(short: bytes, long: bytes, index: int) -> bytes:
    return short + index.to_bytes(1, "little") if index <= 0xFF else long + index.to_bytes(4, "little")
