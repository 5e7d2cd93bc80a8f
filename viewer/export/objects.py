"""Objects of a pickle: one form however they were made, and their state as plain dicts and lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from viewer.export.order import pairs_in_order
from viewer.export.values import DictValue, ListValue, Value
from viewer.formats.pickle import PickleSession
from viewer.formats.pickle.known import MISFITS
from viewer.formats.pickle.names import plain_name
from viewer.formats.pickle.plain_shapes import PLAIN_SHAPES
from viewer.formats.pickle.standins import CalledStandIn, ObjectStandIn, ScalarStandIn, StandInType

if TYPE_CHECKING:
    from viewer.export.reading import ContentReader

_PLAIN_OBJECT: Final = ("__builtin__.object", "builtins.object")


@dataclass(slots=True)
class NormalObject:
    """An object as its class, the arguments it was made with, and what was done to it afterwards.

    Attributes
    ----------
    function
        A StandInType, or another object that was called.
    is_new
        True where the class's `__new__` alone was called.
    """

    function: object
    args: tuple[object, ...]
    kwargs: dict[str, object] | None
    is_new: bool
    states: list[object] = field(default_factory=list)
    items: list[object] | None = None
    pairs: list[tuple[object, object]] | None = None


def normal_object(item: ObjectStandIn) -> NormalObject:
    """The one form of an object: what copyreg made is as if an opcode had made it."""
    normal = NormalObject(
        item.made_by,
        item.args,
        item.kwargs,
        # What is no class cannot be made by `__new__`: a method that was reached through its class was called.
        type(item) is not CalledStandIn and isinstance(item.made_by, StandInType),
        [state for state in item.state or () if state is not None],
        item.items,
        item.pairs,
    )
    args = item.args
    name = _plain(item.made_by)
    if name == "copyreg._reconstructor" and len(args) == 3 and _plain(args[1]) in _PLAIN_OBJECT:
        normal.function, normal.args, normal.is_new = args[0], (), True
    elif name == "copyreg.__newobj__" and args:
        normal.function, normal.args, normal.is_new = args[0], args[1:], True
    elif name == "copyreg.__newobj_ex__" and len(args) == 3 and type(args[1]) is tuple and type(args[2]) is dict:
        normal.function, normal.args, normal.kwargs, normal.is_new = args[0], args[1], args[2] or None, True
    return normal


def _plain(made_by: object) -> str:
    if not isinstance(made_by, StandInType):
        return ""
    return plain_name(*made_by.dotted.rpartition(".")[::2])


def plain_value(reader: ContentReader, item: ObjectStandIn, normal: NormalObject, dotted: str) -> Value:
    """An object as plain data: a number or tensor of numpy's, the text of a date or path, or else what it holds.

    Its state becomes a dict, what was appended a list, what was set by key a dict; of several, the state comes first,
    and the others stand in it as "items" and "pairs". Of one that has only arguments, these are taken: the one that
    there is, or a list of them.
    """
    from viewer.export.numpy_forms import plain_numpy

    made = plain_numpy(reader, normal, dotted)
    if made is not None:
        return made
    shown = _scalar_of(item)
    if shown is not None:
        return shown.text
    return _parts_of(reader, normal)


def _parts_of(reader: ContentReader, normal: NormalObject) -> Value:
    state = _state_pairs(normal)
    if not state and not normal.kwargs:
        if normal.items and not normal.pairs:
            return ListValue(reader.items(normal.items))
        if normal.pairs and not normal.items:
            return DictValue(reader.pairs(normal.pairs))
        if not normal.items and not normal.pairs and normal.args:
            items = reader.items(normal.args)
            return items[0] if len(items) == 1 else ListValue(items)
    pairs = reader.pairs([*state, *(normal.kwargs or {}).items()])
    if normal.items:
        pairs.append((_free_name("items", pairs), ListValue(reader.items(normal.items))))
    if normal.pairs:
        pairs.append((_free_name("pairs", pairs), DictValue(reader.pairs(normal.pairs))))
    return DictValue(pairs_in_order(pairs) if reader.options.sort_keys else pairs)


def _free_name(name: str, pairs: list[tuple[Value, Value]]) -> str:
    """The name with as many underscores behind it as no attribute has."""
    taken = {key for key, _ in pairs if isinstance(key, str)}
    while name in taken:
        name += "_"
    return name


def _state_pairs(normal: NormalObject) -> list[tuple[object, object]]:
    """The attributes: a dict, or a dict (or None) and a dict of slots, as object.__reduce_ex__ gives them."""
    pairs: list[tuple[object, object]] = []
    for state in normal.states:
        if isinstance(state, dict):
            pairs += state.items()
        elif type(state) is tuple and len(state) == 2 and all(isinstance(part, (dict, type(None))) for part in state):
            for part in state:
                pairs += (part or {}).items()
        else:
            pairs.append(("state", state))
    return pairs


def _scalar_of(item: object) -> ScalarStandIn | None:
    """The text of a date, a path, a number of the standard library …; None for any other object."""
    if not isinstance(item, ObjectStandIn):
        return None
    normal = normal_object(item)
    shape = PLAIN_SHAPES.get(_plain(normal.function))
    if shape is None:
        return None
    args = [_scalar_of(arg) or arg for arg in normal.args]
    try:
        made = shape(PickleSession())(*args)
    except MISFITS:
        return None
    if not isinstance(made, ScalarStandIn):
        return None
    for state in normal.states:
        made.__setstate__(state)
    return made
