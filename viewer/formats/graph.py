"""How each object of a loaded graph is shown: its kind, type and value, and its children with their keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, TypeGuard

from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import TensorFlag, TensorTable
from viewer.formats.bounded_text import TextMaker
from viewer.formats.limits import Limits
from viewer.formats.pickle.names import constant_of, modern_name
from viewer.formats.pickle.numpy_dtypes import DtypeRecord
from viewer.formats.pickle.numpy_shapes import ArrayRecord
from viewer.formats.pickle.persistent import PersistentId
from viewer.formats.pickle.standins import (
    Group,
    KeyStandIn,
    MappingStandIn,
    NameStandIn,
    ObjectStandIn,
    OutOfBand,
    Problem,
    ScalarStandIn,
    SequenceStandIn,
    StandInType,
    StorageStandIn,
    TensorStandIn,
    Text,
)

Shown = tuple[Kind, str, object]
"""Kind, type name and value of a row."""

Pairs = Iterable[tuple[object, object]]
"""Keys, as the file has them, and children."""

PLAIN_LEAVES: Final = (type(None), bool, int, float, complex, str)

_NOTE_NCHARS: Final = 200
_ORDER_VISITS: Final = 1_000_000


class Attribute(str):
    """A key that is no dict key: the name of an attribute of a dict, a fact about a deque. Shown as ".name"."""

    __slots__ = ()


class Describer:
    """Says what the row of any object but a `PLAIN_LEAVES` shows.

    What it has worked out for an object it keeps: the same megabytes may stand in a million rows.
    """

    def __init__(self, tensors: TensorTable, limits: Limits) -> None:
        self._tensors = tensors
        self._limits = limits
        self._texts = TextMaker(limits.text_visits)
        self._keys: dict[int, str] = {}
        self._values: dict[int, object] = {}

    def key_text(self, key: object) -> str:
        """The text of a dict key that is neither text nor an int."""
        if isinstance(key, KeyStandIn):
            key = key.key
        text = self._keys.get(id(key))
        if text is None:
            text = self._keys[id(key)] = self._texts.text(key, self._limits.key_nchars)
        return text

    def show(self, item: object) -> Shown:
        """Kind, type name and value of the row."""
        if isinstance(item, TensorStandIn):
            return Kind.TENSOR, self._tensor_type(item.number), item.number
        if isinstance(item, MappingStandIn):
            return Kind.MAPPING, _plain(item.type_name), None
        if isinstance(item, (set, frozenset)):
            return Kind.SET, type(item).__name__, None
        if isinstance(item, ObjectStandIn):
            return Kind.OBJECT, modern_name(item.type_name), self._note(item)
        if isinstance(item, SequenceStandIn):
            return Kind.SET if item.is_set else Kind.SEQUENCE, _plain(item.type_name), None
        if isinstance(item, Group):
            return Kind.GROUP, item.type_name, None
        if isinstance(item, ArrayRecord):
            if item.number is not None:
                return Kind.TENSOR, item.type_name, item.number
            return Kind.OBJECT, item.type_name, item.note
        return self._show_leaf(item)

    def _show_leaf(self, item: object) -> Shown:
        if isinstance(item, OutOfBand):
            return Kind.PROBLEM, "buffer", "its bytes lie outside the pickle and are not in the file"
        if isinstance(item, (bytes, bytearray)):
            return Kind.SCALAR, type(item).__name__, self._bytes_value(item)
        if isinstance(item, ScalarStandIn):
            value = item.value
            if value is None:
                value = self._short_text(item.text)
            elif isinstance(value, bytes):
                value = self._bytes_value(value)
            return Kind.SCALAR, item.type_name, value
        if isinstance(item, StorageStandIn):
            return Kind.STORAGE, "storage", item.number
        if isinstance(item, StandInType):
            constant = constant_of(item)
            return (Kind.SCALAR, *constant) if constant else (Kind.REFERENCE, "name", modern_name(item.dotted))
        if isinstance(item, NameStandIn):
            return Kind.REFERENCE, "name", modern_name(item.dotted)
        if isinstance(item, DtypeRecord):
            return Kind.SCALAR, "numpy.dtype", item.text
        if isinstance(item, Text):
            return Kind.TEXT, item.type_name, item.text
        if isinstance(item, Problem):
            return Kind.PROBLEM, "problem", item.message
        return Kind.PROBLEM, type(item).__name__, "an object that cannot be shown"

    def _tensor_type(self, number: int) -> str:
        extra = self._tensors.extra.get(number)
        if extra is not None and "type" in extra:
            return str(extra["type"])
        if self._tensors.flags[number] & TensorFlag.PARAMETER:
            return "Parameter"
        return "tensor"

    def _note(self, item: ObjectStandIn) -> str | None:
        """A call with plain arguments as one line: enum members, functools.partial, objects of unknown kinds."""
        if item.type_name == "functools.partial":
            return self._partial_note(item)
        if item.args and not item.kwargs and item.state is None and len(item.args) <= 8:
            return self._texts.text(item, _NOTE_NCHARS)
        return None

    def _partial_note(self, item: ObjectStandIn) -> str:
        # functools.py:partial.__reduce__: (function,), then the state (function, args, keywords, attributes)
        state = item.state[0] if item.state else None
        if type(state) is not tuple or len(state) < 3:
            return self._texts.text(item, _NOTE_NCHARS)
        function, args, keywords = state[:3]
        parts = [self._texts.text(function, 80)]
        if type(args) is tuple:
            parts += [self._texts.text(arg, 40) for arg in args[:8]]
        if type(keywords) is dict:
            for key in islice(keywords, 8):
                if type(key) is str:
                    parts.append(f"{key[:40]}={self._texts.text(keywords[key], 40)}")
        return f"functools.partial({', '.join(parts)})"[:_NOTE_NCHARS]

    def _bytes_value(self, raw: bytes | bytearray) -> object:
        if isinstance(raw, bytes) and len(raw) <= self._limits.bytes_nbytes:
            return raw
        value = self._values.get(id(raw))
        if value is None:
            value = bytes(raw)
            if len(raw) > self._limits.bytes_nbytes:
                value = f"{value[:32]!r}… {len(raw):,} bytes, SHA-256 {hashlib.sha256(raw).hexdigest()}"
            self._values[id(raw)] = value
        return value

    def _short_text(self, text: str) -> object:
        if len(text) <= self._limits.text_nchars:
            return text
        value = self._values.get(id(text))
        if value is None:
            value = self._values[id(text)] = text[: self._limits.text_nchars] + "…"
        return value


def _plain(type_name: str) -> str:
    """Containers that everyone knows without their module: "OrderedDict", "deque"."""
    return type_name.removeprefix("collections.")


def may_have_children(item: object) -> bool:
    """A quick answer that is never wrongly no."""
    if isinstance(item, (list, tuple, set, frozenset)) or is_plain_dict(item):
        return bool(item)
    return True


def is_plain_dict(item: object) -> TypeGuard[dict[object, object]]:
    """Whether the children of a mapping are its items and nothing else."""
    if isinstance(item, MappingStandIn):
        return item.given is None and item.state is None and item.facts is None
    return isinstance(item, dict)


def children(item: object) -> Pairs | None:
    """The children of an object that may have some, with their keys; None for a leaf."""
    if isinstance(item, MappingStandIn):
        return _mapping_children(item)
    if isinstance(item, dict):
        return item.items()
    if isinstance(item, (list, tuple)):
        return enumerate(item)
    if isinstance(item, (set, frozenset)):
        return enumerate(in_order(item))
    if isinstance(item, (TensorStandIn, ArrayRecord)):
        return None if item.parts is None else item.parts.items()
    if isinstance(item, ObjectStandIn):
        return _object_children(item)
    if isinstance(item, SequenceStandIn):
        return _sequence_children(item)
    if isinstance(item, Group):
        return item.members.items()
    return None


def in_order(items: Iterable[object]) -> Sequence[object]:
    """The members of a set in an order that does not differ from run to run."""
    listed = [item.key if isinstance(item, KeyStandIn) else item for item in items]
    kinds = {type(item) for item in listed}
    if kinds <= {int, float, bool} or kinds == {str} or kinds == {bytes}:
        return sorted(listed)  # type: ignore[type-var]
    texts = TextMaker(_ORDER_VISITS)
    return sorted(listed, key=lambda item: (type(item).__name__, texts.text(item, 100)))


def _pairs_of(given: object) -> Pairs:
    """The entries of what a mapping was made from: a dict, or a list of pairs as Python 2 wrote OrderedDicts."""
    if isinstance(given, dict):
        return given.items()
    if isinstance(given, SequenceStandIn):
        given = given.given
    if isinstance(given, (list, tuple)):
        if all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in given):
            return [(pair[0], pair[1]) for pair in given]
        return enumerate(given)
    return () if given is None else [(Attribute("given"), given)]


def _mapping_children(item: MappingStandIn) -> Pairs:
    if is_plain_dict(item):
        return item.items()
    pairs = [*_pairs_of(item.given), *item.items()]
    if item.facts:
        pairs += [(Attribute(name), value) for name, value in item.facts.items()]
    if isinstance(item.state, dict):
        pairs += [(Attribute(name) if type(name) is str else name, value) for name, value in item.state.items()]
    elif item.state is not None:
        pairs.append((Attribute("state"), item.state))
    return pairs


def _sequence_children(item: SequenceStandIn) -> Pairs:
    given = item.given
    entries: Iterable[object]
    if isinstance(given, (list, tuple)):
        entries = given
    elif isinstance(given, (set, frozenset, dict)):
        entries = in_order(given)
    elif isinstance(given, SequenceStandIn) and isinstance(given.given, (list, tuple)):
        entries = given.given
    else:
        entries = () if given is None else (given,)
    if item.items:
        entries = [*entries, *item.items]
    if item.is_set:
        entries = in_order(entries)
    pairs: list[tuple[object, object]] = list(enumerate(entries))
    if item.facts:
        pairs += [(Attribute(name), value) for name, value in item.facts.items()]
    return pairs


def _object_children(item: ObjectStandIn) -> Pairs:
    pairs: list[tuple[object, object]] = []
    if item.made_by is not None and not isinstance(item.made_by, (StandInType, str)):
        pairs.append((Attribute("called"), item.made_by))
    if item.args:
        if item.made_by is PersistentId:
            pairs.append(("id", item.args[0]))
        else:
            pairs.append(("args", item.args))
    if item.kwargs:
        pairs.append(("kwargs", item.kwargs))
    for state in item.state or ():
        pairs += _state_children(state)
    if item.items:
        pairs += enumerate(item.items)
    if item.pairs:
        pairs += item.pairs
    return pairs


def _state_children(state: object) -> Pairs:
    if isinstance(state, dict):
        return state.items()
    # object.__reduce_ex__ gives (attributes, slots) where a class has __slots__.
    if type(state) is tuple and len(state) == 2 and isinstance(state[1], dict):
        if state[0] is None:
            return state[1].items()
        if isinstance(state[0], dict):
            return [*state[0].items(), *state[1].items()]
    return () if state is None else [("state", state)]
