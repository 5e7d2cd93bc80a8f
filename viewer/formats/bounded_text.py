"""The text of any object of a graph, in bounded time and length: for unusual keys, and for one-line notes."""

from __future__ import annotations

from typing import Final

from viewer.formats.pickle.names import constant_of
from viewer.formats.pickle.numpy_dtypes import DtypeRecord
from viewer.formats.pickle.numpy_shapes import ArrayRecord
from viewer.formats.pickle.standins import (
    KeyStandIn,
    MappingStandIn,
    NameStandIn,
    ObjectStandIn,
    ScalarStandIn,
    SequenceStandIn,
    StandInType,
    StorageStandIn,
    TensorStandIn,
)

_DEPTH: Final = 4
_PARTS: Final = 200
_PARTS_WHEN_SPENT: Final = 5
_INT_BITS: Final = 2_048


class TextMaker:
    """Makes texts, and in all no more than it is allowed.

    Parameters
    ----------
    visits
        Objects that all texts together may look at: a million keys may each hold the same hundred items.
    """

    def __init__(self, visits: int) -> None:
        self.visits = visits

    def text(self, item: object, nchars: int) -> str:
        """What `repr(item)` would be, as far as it fits into `nchars`; stand-ins are named by what they stand for."""
        writer = _Writer(nchars, _PARTS if self.visits > 0 else _PARTS_WHEN_SPENT)
        allowed = writer.items_left
        writer.write(item, 0)
        self.visits -= allowed - writer.items_left
        text = "".join(writer.parts)
        return text if len(text) <= nchars else text[: nchars - 1] + "…"


class _Writer:
    def __init__(self, nchars: int, items: int) -> None:
        self.parts: list[str] = []
        self.left = nchars
        self.items_left = items

    def add(self, text: str) -> None:
        self.parts.append(text)
        self.left -= len(text)

    def write(self, item: object, depth: int) -> None:
        self.items_left -= 1
        if self.left <= 0 or self.items_left <= 0 or depth > _DEPTH:
            self.add("…")
        elif isinstance(item, (str, bytes, bytearray)):
            # Four characters of escape at the most for each of the text.
            self.add(repr(item) if len(item) <= self.left else repr(item[: self.left]) + "…")
        elif isinstance(item, int) and item.bit_length() > _INT_BITS:
            self.add(f"<an int of {item.bit_length():,} bits>")
        elif item is None or isinstance(item, (int, float, complex)):
            self.add(repr(item))
        elif isinstance(item, tuple):
            self._sequence("(", item, ",)" if len(item) == 1 else ")", depth)
        elif isinstance(item, list):
            self._sequence("[", item, "]", depth)
        elif isinstance(item, (set, frozenset)):
            self._set(item, depth)
        elif isinstance(item, dict) and not isinstance(item, MappingStandIn):
            self._dict(item, depth)
        else:
            self._stand_in(item, depth)

    def _sequence(self, opening: str, items: tuple[object, ...] | list[object], closing: str, depth: int) -> None:
        self.add(opening)
        for at, item in enumerate(items[: _PARTS + 1]):
            if at:
                self.add(", ")
            if self.left <= 0 or self.items_left <= 0:
                self.add("…")
                break
            self.write(item, depth + 1)
        self.add(closing)

    def _set(self, items: set[object] | frozenset[object], depth: int) -> None:
        name = type(items).__name__
        if not items or len(items) > _PARTS:
            self.add(f"{name}()" if not items else f"<a {name} of {len(items):,}>")
            return
        # In an order of its own: that of a set differs from run to run.
        body = ", ".join(sorted(self._apart(item, depth + 1) for item in items))
        self.add(f"{{{body}}}" if name == "set" else f"frozenset({{{body}}})")

    def _apart(self, item: object, depth: int) -> str:
        """The text of one item by itself; it draws on the same allowance of items."""
        inner = _Writer(min(self.left, 100), self.items_left)
        inner.write(item, depth)
        self.items_left = inner.items_left
        return "".join(inner.parts)

    def _dict(self, items: dict[object, object], depth: int) -> None:
        self.add("{")
        for at, (key, value) in enumerate(items.items()):
            if at:
                self.add(", ")
            if self.left <= 0 or self.items_left <= 0:
                self.add("…")
                break
            self.write(key, depth + 1)
            self.add(": ")
            self.write(value, depth + 1)
        self.add("}")

    def _stand_in(self, item: object, depth: int) -> None:
        if isinstance(item, KeyStandIn):
            self.write(item.key, depth)
        elif isinstance(item, StandInType):
            constant = constant_of(item)
            self.add(constant[1] if constant else item.dotted)
        elif isinstance(item, NameStandIn):
            self.add(item.dotted)
        elif isinstance(item, ScalarStandIn):
            if item.value is None:
                self.add(item.text[: self.left])
            else:
                self.write(item.value, depth)
        elif isinstance(item, DtypeRecord):
            self.add(f"dtype('{item.text}')")
        elif isinstance(item, SequenceStandIn):
            self._call(item.type_name, (item.given,), depth)
        elif isinstance(item, ObjectStandIn):
            self._call(item.type_name, item.args, depth)
        elif isinstance(item, TensorStandIn):
            self.add(f"<tensor {item.number}>")
        elif isinstance(item, StorageStandIn):
            self.add(f"<storage {item.number}>")
        elif isinstance(item, (MappingStandIn, ArrayRecord)):
            self.add(f"<{item.type_name}>")
        else:
            self.add(f"<{type(item).__name__}>")

    def _call(self, name: str, args: tuple[object, ...], depth: int) -> None:
        self.add(name)
        self._sequence("(", args, ")", depth)
