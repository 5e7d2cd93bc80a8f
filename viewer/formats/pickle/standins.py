"""Inert objects that stand in for whatever a pickle names.

Two kinds, and nothing else of ours, ever lie on the unpickler's stack:

* Classes of the metaclass `StandInType`, one for each global. Calling one (REDUCE, OBJ, INST, NEWOBJ, NEWOBJ_EX)
  returns a record of the call, or a known shape rebuilt by our own code.
* Records: instances of the few slotted classes below. BUILD, APPEND, SETITEM and so on only fill their slots.

Both answer every opcode themselves, so that no opcode can reach an attribute of ours: `__setstate__` is what BUILD
looks for first, and on a class the metaclass's data descriptors come before the class's own functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Sink: TypeAlias = Callable[..., None]


def _swallow(*_: object) -> None:
    """What BUILD, APPEND and ADD on a class itself end in."""


class _ClassLevel:
    """A data descriptor: on the metaclass it hides the function of the same name that a class gives its instances."""

    def __get__(self, instance: object, owner: type) -> Sink:
        return _swallow

    def __set__(self, instance: object, value: object) -> None:
        raise AttributeError("stand-ins are read-only")


class StandInType(type):
    """The type of every stand-in class.

    Attributes
    ----------
    dotted
        Module and name as the file writes them.
    """

    dotted: str

    __setstate__ = _ClassLevel()
    append = _ClassLevel()
    extend = _ClassLevel()
    add = _ClassLevel()

    def __setitem__(cls, key: object, value: object) -> None:
        """SETITEM on a class: nothing."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError("stand-ins are read-only")

    def __repr__(cls) -> str:
        return f"<stand-in for {cls.dotted}>"


class Record:
    """An instance of something that the file names. Its subclasses are told apart by type.

    Records are hashed and compared by identity, so that any of them may be a dict key at no cost.
    """

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        """BUILD."""

    def append(self, item: object) -> None:
        """APPEND."""

    def extend(self, items: Iterable[object]) -> None:
        """APPENDS."""

    def add(self, item: object) -> None:
        """ADDITEMS."""

    def __setitem__(self, key: object, value: object) -> None:
        """SETITEM and SETITEMS."""

    def __call__(self, /, *args: object, **kwargs: object) -> object:
        """REDUCE on an instance: a record of the call."""
        return ObjectStandIn(self, args, kwargs)


class ObjectStandIn(Record):
    """An instance of a class that is not known, or a known one called in an unknown way.

    Attributes
    ----------
    made_by
        The stand-in class, or whatever else was called.
    args, kwargs
        The arguments it was made with.
    state
        What BUILD set: a list of the states given, in order; None where there was none.
    items
        What was appended or added; None where nothing was.
    pairs
        What was set by key; None where nothing was.
    """

    __slots__ = ("args", "items", "kwargs", "made_by", "pairs", "state")

    def __init__(
        self, made_by: object, args: tuple[object, ...] = (), kwargs: dict[str, object] | None = None
    ) -> None:
        self.made_by = made_by
        self.args = args
        self.kwargs = kwargs or None
        self.state: list[object] | None = None
        self.items: list[object] | None = None
        self.pairs: list[tuple[object, object]] | None = None

    def __setstate__(self, state: object) -> None:
        if self.state is None:
            self.state = [state]
        else:
            self.state.append(state)

    def append(self, item: object) -> None:
        if self.items is None:
            self.items = [item]
        else:
            self.items.append(item)

    add = append

    def extend(self, items: Iterable[object]) -> None:
        if self.items is None:
            self.items = []
        self.items.extend(items)

    def __setitem__(self, key: object, value: object) -> None:
        if self.pairs is None:
            self.pairs = []
        self.pairs.append((key, value))

    @property
    def type_name(self) -> str:
        return self.made_by.dotted if isinstance(self.made_by, StandInType) else "object"


class CalledStandIn(ObjectStandIn):
    """An object that was made by a call of its class, where it matters that it was not made by `__new__` alone."""

    __slots__ = ()


class CallingType(StandInType):
    """The type of stand-in classes that tell a call of them (REDUCE) from `__new__` alone (NEWOBJ)."""

    def __call__(cls, /, *args: object, **kwargs: object) -> object:
        make: Callable[..., object] = cls.__new__
        made = make(cls, *args, **kwargs)
        if type(made) is ObjectStandIn:
            made.__class__ = CalledStandIn
        return made


class TensorStandIn(Record):
    """A tensor of the session's table.

    Attributes
    ----------
    number
        Its row in the TensorTable.
    parts
        Children to show below it, by name: attributes, inner tensors of a wrapper, indices and values of a sparse
        one. None where there are none.
    """

    __slots__ = ("number", "parts")

    def __init__(self, number: int, parts: dict[str, object] | None = None) -> None:
        self.number = number
        self.parts = parts

    def __setstate__(self, state: object) -> None:
        parts = self.parts
        if parts is None:
            parts = self.parts = {}
        name, nth = "state", 1
        while name in parts:
            nth += 1
            name = f"state {nth}"
        parts[name] = state


class StorageStandIn(Record):
    """A storage of the session's table, as one place in the pickle refers to it.

    Attributes
    ----------
    number
        Its row in the StorageTable.
    dtype
        Code of the dtype that this reference reads it as.
    first
        Where this view begins, in elements (legacy files cut views out of a root storage).
    """

    __slots__ = ("dtype", "first", "number")

    def __init__(self, number: int, dtype: int, first: int = 0) -> None:
        self.number = number
        self.dtype = dtype
        self.first = first


class ScalarStandIn(Record):
    """A plain value of a type that is not a builtin, kept as its text.

    Attributes
    ----------
    type_name, text
        "datetime.datetime", "2024-05-06 07:08:09".
    value
        A builtin value that says the same (the int of a numpy.int64), or None.
    """

    __slots__ = ("text", "type_name", "value")

    def __init__(self, type_name: str, text: str, value: object = None) -> None:
        self.type_name = type_name
        self.text = text
        self.value = value


class SequenceStandIn(Record):
    """A sequence or set of a known type: deque, torch.Size, set, frozenset, bytearray …

    Attributes
    ----------
    type_name
        "collections.deque".
    given
        The list, tuple, set or dict that it was made from: the object of the pickle, never a copy.
    items
        What was appended afterwards; None where nothing was.
    facts
        Further children by name ("maxlen"); None where there are none.
    is_set
        True for set and frozenset.
    """

    __slots__ = ("facts", "given", "is_set", "items", "type_name")

    def __init__(
        self, type_name: str, given: object = (), *, is_set: bool = False, facts: dict[str, object] | None = None
    ) -> None:
        self.type_name = type_name
        self.given = given
        self.is_set = is_set
        self.items: list[object] | None = None
        self.facts = facts

    def append(self, item: object) -> None:
        if self.items is None:
            self.items = []
        self.items.append(item)

    add = append

    def extend(self, items: Iterable[object]) -> None:
        if self.items is None:
            self.items = []
        self.items.extend(items)

    def __setstate__(self, state: object) -> None:
        if self.facts is None:
            self.facts = {}
        self.facts.setdefault("state", state)


class MappingStandIn(dict[Any, Any], Record):
    """A mapping of a known type: OrderedDict, defaultdict, Counter … A real dict, so that SETITEMS stays in C.

    Attributes
    ----------
    type_name
        "collections.OrderedDict".
    given
        The list of pairs or the dict that it was made from: the object of the pickle, never a copy. None if empty.
    state
        What BUILD gave (the attributes of the instance); None where nothing was.
    facts
        Further children by name ("default_factory"); None where there are none.
    """

    # Class attributes, not slots: the empty OrderedDict of hooks beside each tensor then costs no assignment.
    type_name: str = "dict"
    given: object = None
    state: object = None
    facts: dict[str, object] | None = None

    __setitem__ = dict.__setitem__

    def __setstate__(self, state: object) -> None:
        self.state = state


class OrderedDictStandIn(MappingStandIn):
    """An OrderedDict, the most frequent of all."""

    type_name = "collections.OrderedDict"


def make_mapping(type_name: str, given: object = None, facts: dict[str, object] | None = None) -> MappingStandIn:
    """An empty mapping of this type."""
    made = MappingStandIn()
    made.type_name = type_name
    made.given = given
    made.facts = facts
    return made


class NameStandIn(Record):
    """A name that the pickle reaches through another one, as `getattr(models.Color, "RED")` does.

    Attributes
    ----------
    dotted
        "models.Color.RED".
    """

    __slots__ = ("dotted",)

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted


class KeyStandIn(Record):
    """A dict key or set member that cannot be hashed, or only at too high a cost.

    Attributes
    ----------
    key
        The object itself.
    """

    __slots__ = ("key",)

    def __init__(self, key: object) -> None:
        self.key = key


class OutOfBand(bytes):
    """A buffer that the pickle expects from outside of it (NEXT_BUFFER), and that the file does not hold."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        """BUILD: nothing."""


class Group(Record):
    """A grouping of ours: a folder of an archive, the parts of a file.

    Attributes
    ----------
    members
        Any objects that may stand in a graph, by name.
    type_name
        What the type column shows.
    """

    __slots__ = ("members", "type_name")

    def __init__(self, members: dict[str, object], type_name: str = "group") -> None:
        self.members = members
        self.type_name = type_name


class Text(Record):
    """A source file or other long text."""

    __slots__ = ("text", "type_name")

    def __init__(self, text: str, type_name: str = "text") -> None:
        self.text = text
        self.type_name = type_name


class Problem(Record):
    """Something that cannot be read.

    Attributes
    ----------
    message
        Why.
    """

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message
