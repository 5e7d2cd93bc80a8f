"""How each object of a loaded graph is shown: its kind, type and value, and its children with their keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import TensorFlag, TensorTable
from viewer.formats.bounded_text import bounded_text
from viewer.formats.limits import Limits
from viewer.formats.pickle.names import constant_of
from viewer.formats.pickle.numpy_shapes import ArrayRecord, DtypeRecord
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


class Attribute(str):
    """A key that is no dict key: the name of an attribute of a dict, a fact about a deque. Shown as ".name"."""

    __slots__ = ()


def show(item: object, tensors: TensorTable, limits: Limits) -> Shown:
    """What the row of any object but a `PLAIN_LEAVES` says."""
    if isinstance(item, TensorStandIn):
        return Kind.TENSOR, _tensor_type(item.number, tensors), item.number
    if isinstance(item, MappingStandIn):
        return Kind.MAPPING, item.type_name, None
    if isinstance(item, dict):
        return Kind.MAPPING, "dict", None
    if isinstance(item, (list, tuple)):
        return Kind.SEQUENCE, type(item).__name__, None
    if isinstance(item, (set, frozenset)):
        return Kind.SET, type(item).__name__, None
    if isinstance(item, ObjectStandIn):
        return Kind.OBJECT, item.type_name, _note(item)
    if isinstance(item, SequenceStandIn):
        return Kind.SET if item.is_set else Kind.SEQUENCE, item.type_name, None
    if isinstance(item, Group):
        return Kind.GROUP, item.type_name, None
    if isinstance(item, ArrayRecord):
        if item.number is not None:
            return Kind.TENSOR, item.type_name, item.number
        return Kind.OBJECT, item.type_name, item.note
    return _show_leaf(item, limits)


def _show_leaf(item: object, limits: Limits) -> Shown:
    if isinstance(item, OutOfBand):
        return Kind.PROBLEM, "buffer", "its bytes lie outside the pickle and are not in the file"
    if isinstance(item, (bytes, bytearray)):
        return Kind.SCALAR, type(item).__name__, _bytes_value(bytes(item), limits)
    if isinstance(item, ScalarStandIn):
        value = item.value
        if value is None:
            value = item.text[: limits.text_nchars]
        elif isinstance(value, bytes):
            value = _bytes_value(value, limits)
        return Kind.SCALAR, item.type_name, value
    if isinstance(item, StorageStandIn):
        return Kind.STORAGE, "storage", item.number
    if isinstance(item, StandInType):
        constant = constant_of(item)
        return (Kind.SCALAR, *constant) if constant else (Kind.REFERENCE, "name", item.dotted)
    if isinstance(item, NameStandIn):
        return Kind.REFERENCE, "name", item.dotted
    if isinstance(item, DtypeRecord):
        return Kind.SCALAR, "numpy.dtype", item.text
    if isinstance(item, Text):
        return Kind.TEXT, item.type_name, item.text
    if isinstance(item, Problem):
        return Kind.PROBLEM, "problem", item.message
    return Kind.PROBLEM, type(item).__name__, f"an object that cannot be shown: {bounded_text(item, _NOTE_NCHARS)}"


def _tensor_type(number: int, tensors: TensorTable) -> str:
    extra = tensors.extra.get(number)
    if extra is not None and "type" in extra:
        return str(extra["type"])
    if tensors.flags[number] & TensorFlag.PARAMETER:
        return "Parameter"
    return "tensor"


def _note(item: ObjectStandIn) -> str | None:
    """A call with plain arguments as one line: enum members, functools.partial, paths of unknown kinds."""
    if item.type_name == "functools.partial":
        return _partial_note(item)
    if item.args and not item.kwargs and item.state is None and len(item.args) <= 8:
        return bounded_text(item, _NOTE_NCHARS)
    return None


def _partial_note(item: ObjectStandIn) -> str:
    # functools.py:partial.__reduce__: (function,), then the state (function, args, keywords, attributes)
    state = item.state[0] if item.state else None
    if type(state) is not tuple or len(state) < 3:
        return bounded_text(item, _NOTE_NCHARS)
    function, args, keywords = state[:3]
    parts = [bounded_text(function, 80)]
    if type(args) is tuple:
        parts += [bounded_text(arg, 40) for arg in args[:8]]
    if type(keywords) is dict:
        parts += [f"{key}={bounded_text(value, 40)}" for key, value in list(keywords.items())[:8] if type(key) is str]
    return f"functools.partial({', '.join(parts)})"[:_NOTE_NCHARS]


def _bytes_value(raw: bytes, limits: Limits) -> object:
    if len(raw) <= limits.bytes_nbytes:
        return raw
    return f"{raw[:32]!r}… {len(raw):,} bytes, SHA-256 {hashlib.sha256(raw).hexdigest()}"


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
    return sorted(listed, key=_order)


def _order(item: object) -> tuple[str, str]:
    return type(item).__name__, bounded_text(item, 100)


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
    if item.given is None and item.facts is None and item.state is None:
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
