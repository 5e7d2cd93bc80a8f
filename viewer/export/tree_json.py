"""Values as the JSON that a safetensors file keeps of them (docs/canonical-format.md, section 5)."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable
from typing import Final

from viewer.errors import LimitExceeded
from viewer.export.values import CallValue, DictValue, ListValue, NameValue, SetValue, TensorValue, Value
from viewer.formats.canonical_tree import FORM, MAX_TREE_NCHARS

_MAX_SAFE_INT: Final = (1 << 53) - 1
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def json_text(text: str) -> str:
    """A text in JSON: what need not be escaped is not."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _SURROGATE.sub(_escaped, quoted) if not quoted.isascii() else quoted


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def tree_json(root: Value, names: dict[int, str]) -> str:
    """The whole document.

    Parameters
    ----------
    names
        By id of a record: the name of its entry in the header.

    Raises
    ------
    LimitExceeded
        When it would be longer than is read again.
    """
    writer = _Writer(names)
    writer.emit(root)
    return f'{{"form":{FORM},"root":{writer.assembled()}}}'


class _Writer:
    """Collects pieces. An int in `_out` is a value that may be referred to: 2n where it begins, 2n + 1 where it ends,
    ~n for a reference to it."""

    def __init__(self, names: dict[int, str]) -> None:
        self._names = names
        self._out: list[str | int] = []
        self._places: dict[int, int] = {}
        self._nchars = 0

    def assembled(self) -> str:
        used = {~item for item in self._out if isinstance(item, int) and item < 0}
        numbers: dict[int, int] = {}
        pieces = []
        for item in self._out:
            if isinstance(item, str):
                pieces.append(item)
            elif item < 0:
                pieces.append(f'["ref",{numbers[~item]}]')
            elif item >> 1 in used:
                if item & 1:
                    pieces.append("]")
                else:
                    numbers[item >> 1] = len(numbers)
                    pieces.append('["def",')
        text = "".join(pieces)
        self._spend(len(text) - self._nchars)
        return text

    def _spend(self, nchars: int) -> None:
        self._nchars += nchars
        if self._nchars > MAX_TREE_NCHARS - 64:
            raise LimitExceeded(
                f"its structure would take more than the {MAX_TREE_NCHARS:,} characters that a safetensors file may "
                "have for it",
                advice="Write .pth, or select a part",
            )

    def _add(self, piece: str) -> None:
        self._spend(len(piece))
        self._out.append(piece)

    def emit(self, value: Value) -> None:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self._add(_plain(value))
        elif isinstance(value, tuple):
            self._listed("tuple", value)
        elif isinstance(value, NameValue):
            self._add(f'["name",{json_text(value.module)},{json_text(value.name)}]')
        elif isinstance(value, TensorValue):
            flags = value.requires_grad + 2 * value.parameter
            name = json_text(self._names[id(value.record)])
            self._add(f'["tensor",{name},{flags}]' if flags else f'["tensor",{name}]')
        elif isinstance(value, SetValue) and value.frozen:
            self._listed("frozenset", value.members)
        elif isinstance(value, CallValue) and value.immutable:
            self._call(value)
        elif id(value) in self._places:
            self._out.append(~self._places[id(value)])
        else:
            place = self._places[id(value)] = len(self._places)
            self._out.append(2 * place)
            self._shared(value)
            self._out.append(2 * place + 1)

    def _shared(self, value: Value) -> None:
        if isinstance(value, ListValue):
            self._listed("list", value.items)
        elif isinstance(value, SetValue):
            self._listed("set", value.members)
        elif isinstance(value, DictValue):
            self._add('["dict",')
            self._pairs(value.pairs)
            self._add("]")
        else:
            assert isinstance(value, CallValue)
            self._call(value)

    def _listed(self, kind: str, items: Iterable[Value]) -> None:
        self._add(f'["{kind}",')
        self._items(items)
        self._add("]")

    def _items(self, items: Iterable[Value]) -> None:
        self._add("[")
        for nth, item in enumerate(items):
            if nth:
                self._add(",")
            self.emit(item)
        self._add("]")

    def _pairs(self, pairs: Iterable[tuple[Value, Value]]) -> None:
        self._add("[")
        for nth, (key, item) in enumerate(pairs):
            self._add(",[" if nth else "[")
            self.emit(key)
            self._add(",")
            self.emit(item)
            self._add("]")
        self._add("]")

    def _call(self, value: CallValue) -> None:
        self._add('["new",' if value.is_new else '["call",')
        self.emit(value.function)
        self._add(",")
        self._items(value.args)
        self._add(",")
        if value.items is None:
            self._add("null")
        else:
            self._items(value.items)
        self._add(",")
        if value.pairs is None:
            self._add("null")
        else:
            self._pairs(value.pairs)
        self._add(",")
        self._items(value.states)
        if value.kwargs is not None:
            self._add(",")
            self._pairs(value.kwargs.pairs)
        self._add("]")


def _plain(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if abs(value) <= _MAX_SAFE_INT:
            return str(value)
        if value.bit_length() > 6_000:
            raise LimitExceeded("an int of more than 6,000 bits cannot be written to a safetensors file")
        return f'["int","{value}"]'
    if isinstance(value, float):
        return f'["float","{struct.pack(">d", value).hex()}"]'
    if isinstance(value, complex):
        return f'["complex","{struct.pack(">dd", value.real, value.imag).hex()}"]'
    if isinstance(value, bytes):
        return f'["bytes","{value.hex()}"]'
    return json_text(value)
