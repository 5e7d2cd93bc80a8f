"""From a loaded graph to the node table: breadth first, without recursion, every object once.

* A list, dict, set or object that is met again, in a cycle or shared, is a LINK to where it is shown. So is a tuple,
  unless it holds a few leaves only: those are shown again.
* Attributes of dict subclasses (the `_metadata` of a state_dict) and facts about known containers (the `maxlen` of a
  deque) are children under `OtherKey("._metadata")`, a key that no dict key has the form of.
* What lies deeper than `Limits.tree_depth` or beyond `Limits.nodes` is one PROBLEM row that says how much it is.
"""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from viewer.checkpoint.nodes import Key, Kind, NodeTable, OtherKey
from viewer.checkpoint.tensors import TensorFlag, TensorTable
from viewer.formats.content import ContentLimits
from viewer.formats.graph import (
    PLAIN_LEAVES,
    Attribute,
    Describer,
    Pairs,
    children,
    is_plain_dict,
    may_have_children,
)
from viewer.formats.limits import LIMITS, Limits
from viewer.formats.pickle.standins import KeyStandIn, OrderedDictStandIn, TensorStandIn

if TYPE_CHECKING:
    from viewer.formats.pickle.session import PickleSession

_BATCH: Final = 50_000
_FEW: Final = 6
_LONG_TEXT: Final = 256
_LISTS: Final = (list, tuple)
_SCALAR: Final = int(Kind.SCALAR)
_TENSOR: Final = int(Kind.TENSOR)
_PARAMETER: Final = int(TensorFlag.PARAMETER)
_CONTAINERS: Final = frozenset(map(int, (Kind.MAPPING, Kind.SEQUENCE, Kind.SET, Kind.OBJECT, Kind.GROUP)))


def build_nodes(root: object, tables: PickleSession | TensorTable, limits: Limits = LIMITS) -> NodeTable:
    """The node table of a graph.

    Parameters
    ----------
    root
        Builtins and stand-ins (see `viewer.formats.pickle`).
    tables
        The session that made them, or its tensors.
    """
    builder = _Builder(tables if isinstance(tables, TensorTable) else tables.tensors, limits)
    # Nothing that is made here is garbage before the end: collecting in between only costs.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        builder.build(root)
        nodes = builder.table()
    finally:
        if was_enabled:
            gc.enable()
    if isinstance(limits, ContentLimits):
        limits.graphs.append((root, nodes))
    return nodes


class _Builder:
    """Columns as lists while they grow: those are the fastest to extend by a few entries."""

    def __init__(self, tensors: TensorTable, limits: Limits) -> None:
        self.tensors = tensors
        self.limits = limits
        self.kinds: list[int] = []
        self.types: list[int] = []
        self.parents: list[int] = []
        self.keys: list[Key] = []
        self.values: list[object] = []
        self.families: list[tuple[int, int, int]] = []  # parent, first child, how many
        self.type_ids: dict[str, int] = {}
        self.leaf_ids: dict[type, int] = {kind: self._type_id(kind.__name__) for kind in PLAIN_LEAVES}
        self.tensor_ids = {0: self._type_id("tensor"), _PARAMETER: self._type_id("Parameter")}
        self.containers: dict[type, tuple[int, int]] = {
            dict: (int(Kind.MAPPING), self._type_id("dict")),
            list: (int(Kind.SEQUENCE), self._type_id("list")),
            tuple: (int(Kind.SEQUENCE), self._type_id("tuple")),
            OrderedDictStandIn: (int(Kind.MAPPING), self._type_id("OrderedDict")),
        }
        self.shown: dict[int, int] = {}  # by id: the node that shows a container; the graph is alive meanwhile
        self.ended = 0  # how many entries were left out when the tree reached its limit; 0 while it has not
        self.describer = Describer(tensors, limits)
        self.sound_texts: set[int] = set()  # by id: long texts that are not ASCII and were looked at
        self.level: list[tuple[int, object]] = []  # containers of the next level, whose children are still to come

    def build(self, root: object) -> None:
        self._append_all([("", root)], -1)
        self.keys[0] = ""
        depth = 0
        while self.level:
            level, self.level = self.level, []
            depth += 1
            for nth, (at, item) in enumerate(level):
                first = len(self.kinds)
                if depth >= self.limits.tree_depth:
                    if may_have_children(item):
                        self._append_problem(at, f"what is nested more than {depth:,} levels deep is not shown")
                elif isinstance(item, _LISTS) and len(item) + first < self.limits.nodes:
                    self._append(range(len(item)), item, at)
                elif is_plain_dict(item) and len(item) + first < self.limits.nodes:
                    self._append_keyed(list(item), list(item.values()), at, {})
                else:
                    self._append_all(children(item) or (), at)
                if self.ended:
                    others = len(level) - nth - 1 + len(self.level)
                    self.values[-1] = f"{self.values[-1]}, nor is what {others:,} other entries hold"
                if len(self.kinds) > first:
                    self.families.append((at, first, len(self.kinds) - first))
                if self.ended:
                    return

    def table(self) -> NodeTable:
        count = len(self.kinds)
        first_child, n_children = array("q", bytes(8 * count)), array("q", bytes(8 * count))
        for parent, first, number in self.families:
            first_child[parent] = first
            n_children[parent] = number
        return NodeTable(
            kind=array("B", self.kinds),
            type_id=array("L", self.types),
            parent=array("q", self.parents),
            first_child=first_child,
            n_children=n_children,
            key=self.keys,
            value=self.values,
            types=list(self.type_ids),
        )

    def _type_id(self, name: str) -> int:
        return self.type_ids.setdefault(name, len(self.type_ids))

    def _append_all(self, pairs: Pairs, parent: int) -> None:
        """Rows for children, in batches; at the limit, one row that says how many are left out."""
        counts: dict[Key, int] = {}
        iterator = iter(pairs)
        while True:
            room = self.limits.nodes - len(self.kinds)
            batch = list(islice(iterator, max(min(room, _BATCH), 0)))
            if not batch:
                left = sum(1 for _ in iterator)
                if left:
                    self.ended = left
                    message = f"the tree ends at {self.limits.nodes:,} rows: {left:,} more entries here are not shown"
                    self._append_problem(parent, message)
                return
            self._append_keyed([key for key, _ in batch], [item for _, item in batch], parent, counts)

    def _append_keyed(self, keys: list[Any], items: list[object], parent: int, counts: dict[Key, int]) -> None:
        kinds = set(map(type, keys))
        if not counts and len(items) < _BATCH and kinds == {str} and all(map(str.isascii, keys)):
            self._append(keys, items, parent)
        else:
            self._append([self._key(key, counts) for key in keys], items, parent)

    def _append(self, keys: Iterable[Key], items: Sequence[object], parent: int) -> None:
        count = len(items)
        first = len(self.kinds)
        leaf_id = self.leaf_ids.get
        if count <= _FEW:
            self.keys += keys
            for item in items:
                type_id = leaf_id(type(item), -1)
                self.kinds.append(_SCALAR)
                self.parents.append(parent)
                self.values.append(item)
                self.types.append(type_id)
                if type_id < 0:
                    self.types[-1] = self._special(len(self.types) - 1, item)
                elif type(item) is str and not item.isascii():
                    self._check_text(len(self.types) - 1, item)
            return
        types = [leaf_id(type(item), -1) for item in items]
        self.kinds += [_SCALAR] * count
        self.parents += [parent] * count
        self.keys += keys
        self.values += items
        if -1 in types and not self._all_plain_tensors(first, items, types):
            for nth, type_id in enumerate(types):
                if type_id < 0:
                    types[nth] = self._special(first + nth, items[nth])
        self.types += types
        if self.leaf_ids[str] in types:
            for nth, item in enumerate(items):
                if type(item) is str and not item.isascii():
                    self._check_text(first + nth, item)

    def _all_plain_tensors(self, first: int, items: Sequence[Any], types: list[int]) -> bool:
        """Fill the rows at once where all items are tensors without parts or facts, as in every state_dict."""
        if set(map(type, items)) != {TensorStandIn} or self.tensors.extra or any(item.parts for item in items):
            return False
        numbers = [item.number for item in items]
        self.values[first:] = numbers
        self.kinds[first:] = [_TENSOR] * len(items)
        flags = self.tensors.flags
        types[:] = [self.tensor_ids[flags[number] & _PARAMETER] for number in numbers]
        return True

    def _special(self, node: int, item: object) -> int:
        """Fill the row of what is no plain leaf; returns its type id."""
        if isinstance(item, KeyStandIn):
            item = item.key
            if type(item) in self.leaf_ids:
                self.values[node] = item
                return self.leaf_ids[type(item)]
        known = self.containers.get(type(item))
        value: object
        if known is not None:
            kind, type_id = known
            value = None
        elif type(item) is TensorStandIn and item.parts is None and item.number not in self.tensors.extra:
            self.kinds[node] = _TENSOR
            self.values[node] = item.number
            return self.tensor_ids[self.tensors.flags[item.number] & _PARAMETER]
        else:
            kind, type_name, value = self.describer.show(item)
            type_id = self._type_id(type_name)
            if kind == Kind.TENSOR and getattr(item, "parts", None) and id(item) not in self.shown:
                self.shown[id(item)] = node
                self.level.append((node, item))
        if kind in _CONTAINERS:
            before = self.shown.setdefault(id(item), node)
            if before == node or self._is_small(item):
                if may_have_children(item):
                    self.level.append((node, item))
            else:
                kind, value = Kind.LINK, before
        self.kinds[node] = kind
        self.values[node] = value
        return type_id

    def _is_small(self, item: object) -> bool:
        leaves = self.leaf_ids
        return (
            type(item) is tuple
            and len(item) <= self.limits.shared_leaves
            and all(type(part) in leaves for part in item)
        )

    def _key(self, key: object, counts: dict[Key, int]) -> Key:
        """The key under which a child is shown; no two siblings have the same."""
        shown: Key
        if type(key) is int or (type(key) is str and self._is_text(key)):
            shown = key
            if shown not in counts:
                counts[shown] = 1
                return shown
            shown = OtherKey(self.describer.key_text(key))
        elif isinstance(key, Attribute):
            shown = OtherKey(f".{key}"[: self.limits.key_nchars])
        elif type(key) is str:
            shown = OtherKey(self.describer.key_text(_python_2_bytes(key)))
        else:
            shown = OtherKey(self.describer.key_text(key))
        nth = counts[shown] = counts.get(shown, 0) + 1
        return OtherKey(shown.text, nth)

    def _is_text(self, text: str) -> bool:
        """Whether a text can be encoded: a str of Python 2 that is not UTF-8 holds lone surrogates."""
        if text.isascii() or id(text) in self.sound_texts:
            return True
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return False
        if len(text) > _LONG_TEXT:
            self.sound_texts.add(id(text))
        return True

    def _check_text(self, node: int, text: str) -> None:
        if not self._is_text(text):
            raw = _python_2_bytes(text)
            self.values[node] = raw
            self.types[node] = self._type_id(type(raw).__name__)

    def _append_problem(self, parent: int, message: str) -> None:
        self.kinds.append(Kind.PROBLEM)
        self.types.append(self._type_id("problem"))
        self.parents.append(parent)
        self.keys.append(OtherKey("…"))
        self.values.append(message)


def _python_2_bytes(text: str) -> bytes | str:
    """A str of Python 2 that is not UTF-8 as the bytes that it was; other lone surrogates are written as escapes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
