"""The tree that a canonical safetensors file keeps in its metadata (docs/canonical-format.md, section 5), as a graph.

It is read as a pickle is: names become stand-ins, calls are recorded or known shapes, and nothing is imported or run.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any, Final

from viewer.checkpoint.tensors import TensorFlag
from viewer.errors import MalformedFile
from viewer.formats.pickle import PickleSession
from viewer.formats.pickle.known import class_finder
from viewer.formats.pickle.standins import Record, SequenceStandIn, StandInType, TensorStandIn

TREE_KEY: Final = "checkpoint_viewer.tree"
TREE_FACT: Final = "tree"
"""Name of the fact of a checkpoint that says that its tree was read from the metadata."""
FORM: Final = 1
MAX_TREE_NCHARS: Final = 16 << 20
"""Parsed JSON takes up to twenty times its length. A checkpoint of 40,000 tensors has a tree of 3 MB."""

_FLAGS: Final = {1: TensorFlag.REQUIRES_GRAD, 2: TensorFlag.PARAMETER, 3: TensorFlag(3)}
_FAULTS: Final = (
    struct.error,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def graph_of_tree(text: str, tensors: dict[str, int], session: PickleSession) -> object:
    """The graph that the metadata entry describes.

    Parameters
    ----------
    tensors
        Numbers of the file's tensors by name.
    session
        Holds their columns; gets further rows where one tensor stands under several names in several ways.

    Raises
    ------
    MalformedFile
        When it is not what section 5 describes, or refers to what is not there.
    """
    if len(text) > MAX_TREE_NCHARS:
        raise MalformedFile(f"the tree in its metadata has {len(text):,} characters")
    try:
        document = json.loads(text)
        if not isinstance(document, dict) or document.get("form") != FORM:
            raise MalformedFile("the tree in its metadata has another form than 1")
        return _Builder(tensors, session).value(document["root"])
    except _FAULTS as error:
        raise MalformedFile(f"the tree in its metadata cannot be read ({type(error).__name__}: {error})") from error


class _Builder:
    def __init__(self, tensors: dict[str, int], session: PickleSession) -> None:
        self._tensors = tensors
        self._session = session
        self._find = class_finder(session)
        self._rows: dict[tuple[str, int], int] = {}
        self._used: set[str] = set()
        self._defined: list[object] = []
        self._by_kind: dict[str, Callable[..., object]] = {
            "int": self._int,
            "float": self._float,
            "bytes": self._bytes,
            "complex": self._complex,
            "list": self._list,
            "tuple": self._tuple,
            "set": self._set,
            "frozenset": self._frozenset,
            "dict": self._dict,
            "name": self._name,
            "call": self._call,
            "new": self._new,
            "tensor": self._tensor,
            "ref": self._ref,
        }

    def value(self, item: Any, place: int | None = None) -> object:
        """One value; `place` is where it is kept for references, before its parts are read."""
        if item is None or isinstance(item, (bool, int, str)):
            return item
        if not isinstance(item, list) or not item:
            raise ValueError(f"{str(item)[:40]!r} is no value")
        kind, *parts = item
        if kind == "def":
            self._defined.append(None)
            return self.value(parts[0], len(self._defined) - 1)
        return self._by_kind[kind](place, *parts)

    def _keep(self, place: int | None, made: object) -> Any:
        if place is not None:
            self._defined[place] = made
        return made

    def _int(self, _place: int | None, digits: str) -> object:
        if len(digits) > 2_000:
            raise ValueError("an int of too many digits")
        return int(digits)

    def _float(self, _place: int | None, digits: str) -> object:
        return struct.unpack(">d", bytes.fromhex(digits))[0]

    def _bytes(self, _place: int | None, digits: str) -> object:
        return bytes.fromhex(digits)

    def _complex(self, _place: int | None, digits: str) -> object:
        return complex(*struct.unpack(">dd", bytes.fromhex(digits)))

    def _list(self, place: int | None, items: list[Any]) -> object:
        made: list[object] = self._keep(place, [])
        made.extend(map(self.value, items))
        return made

    def _tuple(self, _place: int | None, items: list[Any]) -> object:
        return tuple(map(self.value, items))

    def _set(self, place: int | None, items: list[Any]) -> object:
        made = self._keep(place, SequenceStandIn("set", [], is_set=True))
        made.extend(map(self.value, items))
        return made

    def _frozenset(self, _place: int | None, items: list[Any]) -> object:
        return SequenceStandIn("frozenset", list(map(self.value, items)), is_set=True)

    def _dict(self, place: int | None, pairs: list[Any]) -> object:
        made: dict[object, object] = self._keep(place, {})
        for key, item in pairs:
            made[self.value(key)] = self.value(item)
        return made

    def _name(self, _place: int | None, module: str, name: str) -> object:
        outer, _, last = name.rpartition(".")
        if outer:
            return self._find("builtins", "getattr")(self._name(None, module, outer), last)
        return self._find(module, name)

    def _call(self, place: int | None, function: Any, args: list[Any], *rest: Any) -> object:
        called: Any = self.value(function)
        if not isinstance(called, (StandInType, Record)):
            raise TypeError("a call of something that cannot be called")
        made = self._keep(place, called(*map(self.value, args)))
        return self._fill(made, *rest)

    def _new(self, place: int | None, function: Any, args: list[Any], *rest: Any) -> object:
        made_by: Any = self.value(function)
        if not isinstance(made_by, StandInType):
            raise TypeError("an object of something that is no class")
        kwargs = {str(key): self.value(item) for key, item in rest[3]} if len(rest) > 3 else {}
        make: Callable[..., object] = made_by.__new__
        made = self._keep(place, make(made_by, *map(self.value, args), **kwargs))
        return self._fill(made, *rest[:3])

    def _fill(self, made: Any, items: list[Any] | None, pairs: list[Any] | None, states: list[Any]) -> object:
        if not isinstance(made, Record) and (items or pairs or states):
            raise TypeError("something is done to a plain value")
        if items is not None:
            made.extend([self.value(item) for item in items])
        for key, item in pairs or ():
            made[self.value(key)] = self.value(item)
        for state in states:
            made.__setstate__(self.value(state))
        return made

    def _tensor(self, _place: int | None, name: str, flags: int = 0) -> object:
        number = self._rows.get((name, flags))
        if number is None:
            number = self._tensors[name]
            if name in self._used:
                number = self._another_row(number)
            self._used.add(name)
            self._session.tensors.flags[number] = int(_FLAGS[flags]) if flags else 0
            self._rows[name, flags] = number
        return TensorStandIn(number)

    def _another_row(self, number: int) -> int:
        tensors = self._session.tensors
        added = self._session.add_tensor(
            tensors.dtype[number], tensors.shape[number], tensors.stride[number], tensors.storage[number]
        )
        if number in tensors.problem:
            tensors.problem[added] = tensors.problem[number]
        return added

    def _ref(self, _place: int | None, nth: int) -> object:
        if nth < 0:
            raise IndexError("a reference before the first")
        return self._defined[nth]
