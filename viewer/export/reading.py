"""From a file's object graph to its content as values (docs/canonical-format.md, section 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import OtherKey
from viewer.errors import LimitExceeded
from viewer.export import graph_parts as parts
from viewer.export.findings import Findings
from viewer.export.names import WEIGHTS_ONLY, is_immutable, is_known, written_name
from viewer.export.objects import NormalObject, normal_object, plain_value
from viewer.export.options import ExportOptions
from viewer.export.order import in_order, pairs_in_order
from viewer.export.tensors import TensorReader
from viewer.export.values import CallValue, DictValue, ListValue, NameValue, SetValue, Value
from viewer.formats.pickle.names import constant_of
from viewer.formats.pickle.standins import (
    Group,
    KeyStandIn,
    MappingStandIn,
    NameStandIn,
    ObjectStandIn,
    Problem,
    ScalarStandIn,
    SequenceStandIn,
    StandInType,
    StorageStandIn,
    TensorStandIn,
    Text,
)

_DEEPEST: Final = 200
"""Levels of nesting. Whole modules reach some 50; each level takes Python three frames or four."""

_MOST_INT_BITS: Final = 8 * 255
"""Longer ints need an opcode that weights_only does not know."""


class _Dropped:
    """Stands for a value that is left out."""


DROPPED: Final = _Dropped()


class ContentReader:
    """Reads one graph.

    Attributes
    ----------
    findings
        What is noticed on the way.
    """

    def __init__(self, checkpoint: Checkpoint, options: ExportOptions) -> None:
        self.options = options
        self.findings = Findings()
        self.tensors = TensorReader(checkpoint, options, self.findings, self.value)
        self._split = {use.dotted: (use.module, use.name) for use in checkpoint.globals}
        self._made: dict[int, Value] = {}
        self._kept: list[object] = []  # keeps those ids theirs
        self._open: set[int] = set()
        self._depth = 0
        self._by_type: dict[type, Callable[[object], Value]] = {}

    def read(self, root: object) -> Value:
        """The content below a graph's root."""
        value = self.value(root)
        self.tensors.note_all()
        return None if value is DROPPED else value

    def value(self, item: object) -> Value:
        """The value of one object, or DROPPED."""
        kind = type(item)
        if item is None or kind in (bool, str, float, complex, bytes):
            return item
        if kind is int:
            return self._int(item)
        if isinstance(item, StandInType):
            return self._reference(item)
        made = self._made.get(id(item))
        if made is None:
            self._depth += 1
            if self._depth > _DEEPEST:
                raise LimitExceeded(
                    f"the content is nested more than {_DEEPEST} levels deep at {self.findings.path[:200]}",
                    advice="Select a part of it",
                )
            made = self._container(item)
            self._depth -= 1
        return made

    def keep(self, item: object, value: Value) -> Value:
        """Note the value of an object that may be met again, before its parts are read."""
        self._made[id(item)] = value
        self._kept.append(item)
        return value

    @contextmanager
    def under(self, key: object) -> Iterator[None]:
        """Read below a key."""
        self.findings.keys.append(parts.shown_key(key))
        yield
        self.findings.keys.pop()

    def items(self, items: Iterable[object]) -> list[Value]:
        """The values of a list's items; what is dropped leaves None, so that the others keep their places."""
        made = []
        keys = self.findings.keys
        for nth, item in enumerate(items):
            keys.append(nth)
            value = self.value(item)
            keys.pop()
            made.append(None if value is DROPPED else value)
        return made

    def pairs(self, pairs: Iterable[tuple[object, object]]) -> list[tuple[Value, Value]]:
        """The entries of a dict, sorted if asked; a key that comes again replaces the value of the first."""
        made: dict[object, tuple[Value, Value]] = {}
        keys = self.findings.keys
        for key, item in pairs:
            keys.append(parts.shown_key(key))
            name, value = self.value(key), self.value(item)
            keys.pop()
            if value is not DROPPED and name is not DROPPED:
                same = parts.key_identity(name)
                made[same] = (made[same][0] if same in made else name, value)
        found = list(made.values())
        return pairs_in_order(found) if self.options.sort_keys else found

    def _int(self, number: object) -> Value:
        assert isinstance(number, int)
        if number.bit_length() >= _MOST_INT_BITS:
            self.findings.add("needs-trust", "an int of more than 255 bytes")
        return number

    def _container(self, item: object) -> Value:
        if isinstance(item, tuple):
            return self._closed(item, self._tuple)
        if isinstance(item, list):
            made = self.keep(item, ListValue())
            made.items = self.items(item)
            return made
        if isinstance(item, MappingStandIn):
            return self._mapping(item)
        if isinstance(item, dict):
            made = self.keep(item, DictValue())
            made.pairs = self.pairs(item.items())
            return made
        if isinstance(item, TensorStandIn):
            return self.tensors.tensor(self, item)
        if isinstance(item, KeyStandIn):
            return self.value(item.key)
        if isinstance(item, (set, frozenset)):
            return self._set(item, item, frozen=isinstance(item, frozenset))
        if isinstance(item, SequenceStandIn):
            return self._sequence(item)
        if isinstance(item, ObjectStandIn):
            return self._object(item)
        if isinstance(item, StorageStandIn):
            return self.keep(item, self.tensors.storage(item))
        return self._other(item)

    def _closed(self, item: object, read: Callable[[object], Value]) -> Value:
        """Read something that must not contain itself."""
        self._enter(item)
        value = read(item)
        self._open.discard(id(item))
        return self.keep(item, value)

    def _enter(self, item: object) -> None:
        if id(item) in self._open:
            raise LimitExceeded(
                f"at {self.findings.path[:200] or 'the root'} a tuple or an object contains itself, "
                "which has no canonical form",
                advice="Select another part of it",
            )
        self._open.add(id(item))

    def _tuple(self, item: object) -> Value:
        assert isinstance(item, tuple)
        return tuple(self.items(item))

    def _set(self, item: object, members: Iterable[object], *, frozen: bool) -> Value:
        if frozen:
            self._needs_trust("builtins.frozenset")
        made = self.keep(item, SetValue([], frozen))
        values = [value for value in map(self.value, members) if value is not DROPPED]
        unique = {parts.key_identity(value): value for value in values}
        made.members = in_order(unique.values())
        return made

    def _mapping(self, item: MappingStandIn) -> Value:
        given = parts.pairs_of(item.given)
        if given is None:
            return self.cannot(f"a {item.type_name} made of something that is no mapping")
        pairs = [*given, *item.items()]
        if item.type_name == "dict":
            plain = self.keep(item, DictValue())
            plain.pairs = self.pairs(pairs)
            return plain
        made = self.keep(item, CallValue(self._named(*item.type_name.rsplit(".", 1))))
        if item.type_name == "collections.Counter":
            made.args = (DictValue(self.pairs(pairs)),)
        elif item.type_name == "collections.defaultdict":
            if self.options.objects == "plain":
                plain = self.keep(item, DictValue())
                plain.pairs = self.pairs(pairs)
                self.findings.add("changed", "a defaultdict becomes a dict")
                return plain
            self._needs_trust(item.type_name)
            factory = self.value((item.facts or {}).get("default_factory"))
            made.args = (None if factory is DROPPED else factory,)
            made.pairs = self.pairs(pairs)
        else:
            made.pairs = self.pairs(pairs)
        if item.state is not None:
            made.states = [self._attributes(item.state)]
        return made

    def _attributes(self, state: object) -> Value:
        if not isinstance(state, dict):
            return self.value(state)
        made = self.keep(state, DictValue())
        pairs: list[tuple[Value, Value]] = []
        for key, item in state.items():
            self.findings.keys.append(OtherKey(f".{key}"[:100]))
            value = self.value(item)
            self.findings.keys.pop()
            if value is not DROPPED:
                pairs.append((self.value(key), value))
        made.pairs = pairs_in_order(pairs) if self.options.sort_keys else pairs
        return made

    def _sequence(self, item: SequenceStandIn) -> Value:
        entries = [*parts.entries_of(item.given), *(item.items or ())]
        if item.is_set:
            return self._set(item, entries, frozen=item.type_name == "frozenset")
        if item.type_name == "tuple":
            return self._closed(item, lambda _: tuple(self.items(entries)))
        if item.type_name == "torch.Size":
            return self._closed(
                item, lambda _: CallValue(NameValue("torch", "Size"), (tuple(self.items(entries)),), immutable=True)
            )
        if item.type_name == "collections.deque" and self.options.objects != "plain":
            self._needs_trust(item.type_name)
            maxlen = (item.facts or {}).get("maxlen")
            args = ((),) if maxlen is None else ((), self.value(maxlen))
            deque = self.keep(item, CallValue(NameValue("collections", "deque"), args))
            deque.items = self.items(entries)
            return deque
        if item.type_name not in ("list", "collections.deque"):
            return self.cannot(f"a {item.type_name} that is not whole")
        made = self.keep(item, ListValue())
        made.items = self.items(entries)
        return made

    def _reference(self, item: StandInType) -> Value:
        """A class or function that the file names without calling it, or a constant of torch."""
        constant = constant_of(item)
        if constant is not None:
            name = constant[1].removeprefix("torch.")
            if constant[0] == "torch.layout":
                return parts.layout_value(name)
            self._needs_trust(f"torch.{name}")
            return NameValue("torch", name)
        named = self._named(*self._split.get(item.dotted, item.dotted.rpartition(".")[::2]))
        if is_known(named.module, named.name):
            if self.options.objects == "plain" and named.dotted not in WEIGHTS_ONLY:
                self.findings.add("changed", f"a reference to {named.dotted} becomes a text")
                return named.dotted
            self._needs_trust(named.dotted)
            return named
        return self._by_policy(f"a reference to {named.dotted}", lambda: named, lambda: named.dotted)

    def _object(self, item: ObjectStandIn) -> Value:
        normal = normal_object(item)
        function = normal.function
        if isinstance(function, StandInType) and function.dotted == "persistent id":
            return self.cannot("a persistent id that names no storage")
        if not isinstance(function, StandInType):
            return self._by_policy("an object made by calling another one", lambda: self._kept_object(item, normal))
        module, name = written_name(*self._split.get(function.dotted, function.dotted.rpartition(".")[::2]))
        dotted = f"{module}.{name}"
        if dotted == "builtins.getattr":
            return self._attribute_of(item, normal)
        if is_known(module, name):
            if self.options.objects == "plain" and dotted not in WEIGHTS_ONLY:
                self.findings.add("changed", f"{parts.with_article(dotted)} becomes plain data")
                return self._closed(item, lambda _: plain_value(self, item, normal, dotted))
            self._needs_trust(dotted)
            return self._kept_object(item, normal)
        return self._by_policy(
            f"an object of the class {dotted}",
            lambda: self._kept_object(item, normal),
            lambda: plain_value(self, item, normal, dotted),
        )

    def _attribute_of(self, item: ObjectStandIn, normal: NormalObject) -> Value:
        """`getattr(Outer, "Inner")`: how classes in classes and enum members are named."""
        owner, name = (*normal.args, None, None)[:2]
        outer = self.value(owner) if isinstance(owner, (StandInType, ObjectStandIn)) else None
        if isinstance(outer, NameValue) and type(name) is str and name and "\n" not in name:
            return self.keep(item, NameValue(outer.module, f"{outer.name}.{name}"))
        if isinstance(outer, str):
            return f"{outer}.{name}"
        return DROPPED if outer is DROPPED else self.cannot("a name that is looked up in an object")

    def _kept_object(self, item: ObjectStandIn, normal: NormalObject) -> Value:
        """The same call again."""
        from viewer.export.numpy_forms import numpy_value

        function = self.value_of_function(normal.function)
        known = numpy_value(item, normal, function)
        if known is not None:
            return self.keep(item, known)
        immutable = isinstance(function, NameValue) and is_immutable(function.module, function.name)

        self._enter(item)
        with self.under(OtherKey(".args")):
            args = tuple(self.items(normal.args))
        self._open.discard(id(item))
        made = CallValue(function, args, is_new=normal.is_new, immutable=immutable)
        self.keep(item, made)
        if normal.kwargs:
            made.kwargs = DictValue(self.pairs(normal.kwargs.items()))
        if normal.items:
            made.items = self.items(normal.items)
        if normal.pairs:
            made.pairs = self.pairs(normal.pairs)
        made.states = [self._state(state) for state in normal.states]
        return made

    def _state(self, state: object) -> Value:
        if isinstance(state, dict):
            known = self._made.get(id(state))
            if known is not None:
                return known
            made = self.keep(state, DictValue())
            made.pairs = self.pairs(state.items())
            return made
        value = self.value(state)
        return None if value is DROPPED else value

    def value_of_function(self, function: object) -> Value:
        """What is called, by name; no policy applies to it, since it applied to the object."""
        if isinstance(function, StandInType):
            return self._named(*self._split.get(function.dotted, function.dotted.rpartition(".")[::2]))
        return self.value(function)

    def _named(self, module: str, name: str) -> NameValue:
        return NameValue(*written_name(module, name))

    def _by_policy(self, what: str, keep: Callable[[], Value], plain: Callable[[], Value] | None = None) -> Value:
        policy = self.options.objects
        if policy == "keep":
            self.findings.add("needs-trust", what)
            return keep()
        if policy == "plain" and plain is not None:
            self.findings.add("changed", f"{what} becomes plain data")
            return plain()
        if policy == "drop":
            self.findings.add("dropped", what)
            return DROPPED
        return self.cannot(what)

    def cannot(self, what: str) -> Value:
        """Something that cannot be written; left out where that was asked for."""
        if self.options.objects == "drop":
            self.findings.add("dropped", what)
            return DROPPED
        self.findings.add("cannot", what)
        return None

    def _needs_trust(self, dotted: str) -> None:
        if dotted not in WEIGHTS_ONLY:
            self.findings.add("needs-trust", parts.with_article(dotted), once=True)

    def _other(self, item: object) -> Value:
        if isinstance(item, bytearray):
            return self.keep(item, parts.bytearray_value(bytes(item)))
        if isinstance(item, ScalarStandIn):
            made = parts.scalar_value(item)
            return self.cannot(f"a {item.type_name}, of which only the text is known") if made is None else made
        if isinstance(item, NameStandIn):
            module, _, name = item.dotted.rpartition(".")
            return self._by_policy(
                f"a reference to {item.dotted}", lambda: NameValue(module, name), lambda: item.dotted
            )
        if isinstance(item, Group):
            made = self.keep(item, DictValue())
            made.pairs = self.pairs(item.members.items())
            return made
        if isinstance(item, Text):
            return item.text
        return self.cannot(item.message if isinstance(item, Problem) else f"a {type(item).__name__}")
