"""The tree of a checkpoint as columns of numbers: one entry per node, no object per node.

Nodes are numbered breadth first: node 0 is the root, the children of a node are consecutive, and a parent's
number is always below its children's. So `row` is a subtraction, a roll-up is one backward loop, and a million
nodes cost some tens of MB and pickle in a blink.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias


class Kind(IntEnum):
    """What a node is; `NodeTable.value` says what its value column then holds."""

    MAPPING = 0
    """dict and its relatives. Value: None."""
    SEQUENCE = 1
    """list, tuple, deque, torch.Size … Value: None."""
    SET = 2
    """set and frozenset; children are keyed by position. Value: None."""
    OBJECT = 3
    """An instance of a class that the file names; children are its state. Value: a one-line note or None."""
    TENSOR = 4
    """Value: the index of the tensor in the checkpoint's TensorTable."""
    STORAGE = 5
    """A storage saved by itself. Value: its index in the StorageTable."""
    SCALAR = 6
    """None, bool, int, float, complex, str, bytes and other plain values. Value: the value itself, or its text
    where the type is not a builtin (datetime, Decimal …)."""
    REFERENCE = 7
    """A class or function that the file names without making anything of it. Value: its dotted name."""
    LINK = 8
    """A container shown elsewhere already (shared or cyclic). Value: the number of that node."""
    PROBLEM = 9
    """Something that cannot be read. Value: the message."""
    GROUP = 10
    """A grouping of ours: a folder of an archive, a module prefix of dotted names. Value: None."""
    TEXT = 11
    """A source file or other long read-only text. Value: the text."""


LEAF_KINDS = frozenset({Kind.TENSOR, Kind.STORAGE, Kind.SCALAR, Kind.REFERENCE, Kind.LINK, Kind.PROBLEM, Kind.TEXT})
"""Kinds that usually have no children (a tensor may: attributes, the parts of a sparse or wrapped one)."""


@dataclass(frozen=True, slots=True)
class OtherKey:
    """A dict key that is neither str nor int.

    Attributes
    ----------
    text
        Its repr, at most a few hundred characters.
    nth
        1 for the first sibling with this text, 2 for the next … so that siblings never share a key.
    """

    text: str
    nth: int = 1


Key: TypeAlias = str | int | OtherKey
"""What leads from a parent to a child: a str or int dict key, a list index, an attribute name, or OtherKey."""


@dataclass(slots=True)
class NodeTable:
    """Columns over all nodes; index = node number.

    Attributes
    ----------
    kind
        A `Kind` each.
    type_id
        Index into `types`.
    parent
        Number of the parent; -1 for the root.
    first_child, n_children
        The children are first_child … first_child + n_children - 1; first_child is 0 where there are none.
    key
        The `Key` under which the parent holds the node; "" for the root.
    value
        See `Kind`.
    types
        Names of types: "dict", "tensor", "Parameter", "int", "models.net.TinyNet" …
    """

    kind: array[int] = field(default_factory=lambda: array("B"))
    type_id: array[int] = field(default_factory=lambda: array("L"))
    parent: array[int] = field(default_factory=lambda: array("q"))
    first_child: array[int] = field(default_factory=lambda: array("q"))
    n_children: array[int] = field(default_factory=lambda: array("q"))
    key: list[Key] = field(default_factory=list)
    value: list[object] = field(default_factory=list)
    types: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.kind)

    def row(self, node: int) -> int:
        """Position among the siblings; 0 for the root."""
        parent = self.parent[node]
        return 0 if parent < 0 else node - self.first_child[parent]

    def children(self, node: int) -> range:
        first = self.first_child[node]
        return range(first, first + self.n_children[node])

    def type_name(self, node: int) -> str:
        return self.types[self.type_id[node]]

    def keys_to(self, node: int) -> tuple[Key, ...]:
        """The keys from the root to `node`; empty for the root."""
        keys: list[Key] = []
        while (parent := self.parent[node]) >= 0:
            keys.append(self.key[node])
            node = parent
        return tuple(reversed(keys))

    def tree_order(self, root: int = 0) -> Iterator[int]:
        """`root` and everything below it, parents before children, siblings in order, depth first."""
        stack = [root]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(self.children(node)))
