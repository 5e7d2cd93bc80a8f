"""Which node of one checkpoint stands for which of the other.

Nodes under equal keys of matched containers are matched; then, of what is left, leaves whose names are the same when
nested and dotted names are taken as one. Rename rules change names before either. What has no partner is a row of its
own.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key, Kind, NodeTable
from viewer.compare.names import Name, Renames, rename, split_name
from viewer.compare.optimizers import (
    OptimizerIds,
    matching_keys,
    named_by_either,
    optimizer_ids,
    position_warning,
)
from viewer.compare.results import RenameRule, Rows

NOTHING = -1


@dataclass(slots=True)
class Side:
    """One of the two sides.

    Attributes
    ----------
    root
        The node to compare.
    renames
        New names of leaves.
    left
        Roots of subtrees without a partner.
    partner
        The other side's leaf by leaf, of leaves matched by name and not by place.
    """

    checkpoint: Checkpoint
    root: int
    renames: Renames = field(default_factory=Renames)
    left: list[int] = field(default_factory=list)
    partner: dict[int, int] = field(default_factory=dict)

    @property
    def nodes(self) -> NodeTable:
        return self.checkpoint.nodes

    def left_leaves(self) -> list[int]:
        return [node for top in self.left for node in leaves_below(self.nodes, top)]

    def name_of(self, node: int) -> Name:
        """The keys that lead from the compared root to a node, or its new name."""
        renamed = self.renames.names.get(node)
        if renamed is not None:
            return renamed
        keys: list[Key] = []
        while node != self.root:
            keys.append(self.nodes.key[node])
            node = self.nodes.parent[node]
        return tuple(reversed(keys))


@dataclass(slots=True)
class Alignment:
    """Rows without statuses, and what to say about how they came about.

    Attributes
    ----------
    parameters_a, parameters_b
        Nodes that hold an optimizer's number for a parameter, with what that parameter is matched by: the numbers
        themselves mean nothing.
    parameter_names
        Of rows that are an optimizer's entries, where they are known.
    """

    rows: Rows
    a: Side
    b: Side
    parameters_a: dict[int, Key]
    parameters_b: dict[int, Key]
    warnings: list[str] = field(default_factory=list)
    parameter_names: dict[int, str] = field(default_factory=dict)


def leaves_below(nodes: NodeTable, top: int) -> Iterable[int]:
    """Nodes without children, and tensors, at and below a node, in tree order."""
    n_children, kind = nodes.n_children, nodes.kind
    if not n_children[top]:
        return (top,)
    return [node for node in nodes.tree_order(top) if not n_children[node] or kind[node] == Kind.TENSOR]


def align(
    a: Checkpoint, b: Checkpoint, *, root_a: int = 0, root_b: int = 0, rules: tuple[RenameRule, ...] = ()
) -> Alignment:
    """Match the nodes below two roots."""
    left, right = Side(a, root_a), Side(b, root_b)
    if rules:
        for side, name in ((left, "a"), (right, "b")):
            leaves = list(leaves_below(side.nodes, side.root))
            side.renames = rename(side.checkpoint, side.root, leaves, rules, name)
    builder = _Builder(left, right)
    builder.walk_both()
    _match_names(left, right)
    builder.add_left_over()
    warnings = [*left.renames.warnings, *right.renames.warnings, *builder.warnings]
    rows = builder.rows()
    names = builder.parameter_names(rows)
    return Alignment(rows, left, right, builder.parameters_a, builder.parameters_b, warnings, names)


def _match_names(left: Side, right: Side) -> None:
    """Match leaves without a partner by name; a name that stands for several leaves of one side matches none."""
    if not left.left or not right.left:
        return
    by_name = _unique_names(left)
    for name, node_b in _unique_names(right).items():
        node_a = by_name.get(name)
        if node_a is not None:
            left.partner[node_a] = node_b
            right.partner[node_b] = node_a


def _unique_names(side: Side) -> dict[Name, int]:
    found: dict[Name, int] = {}
    twice: set[Name] = set()
    for node in side.left_leaves():
        name = split_name(side.name_of(node))
        if name in found:
            twice.add(name)
        found[name] = node
    for name in twice:
        del found[name]
    return found


class _Builder:
    """Collects rows in tree order and numbers them breadth first at the end."""

    def __init__(self, left: Side, right: Side) -> None:
        self._left = left
        self._right = right
        self._node_a: list[int] = []
        self._node_b: list[int] = []
        self._below: list[list[int]] = []
        self._over: list[tuple[int, list[int], list[int]]] = []
        self._matching: dict[int, dict[Key, Key]] = {}
        self._matching_b: dict[int, dict[Key, Key]] = {}
        self.parameters_a: dict[int, Key] = {}
        self.parameters_b: dict[int, Key] = {}
        self.names_a: dict[int, str] = {}
        self.names_b: dict[int, str] = {}
        self.warnings: list[str] = []

    def walk_both(self) -> None:
        """Pair nodes from the roots down; what has no partner waits in `_over` and in the sides' `left`."""
        a, b = self._left.nodes, self._right.nodes
        stack = [self._add(self._left.root, self._right.root)]
        while stack:
            row = stack.pop()
            node_a, node_b = self._node_a[row], self._node_b[row]
            if not a.n_children[node_a] and not b.n_children[node_b]:
                continue
            below = self._below[row]
            pairs, only_a, only_b = self._pairs(node_a, node_b)
            for child_a, child_b in pairs:
                child = self._add(child_a, child_b)
                below.append(child)
                if a.n_children[child_a] or b.n_children[child_b]:
                    stack.append(child)
            if only_a or only_b:
                self._over.append((row, only_a, only_b))
                self._left.left += only_a
                self._right.left += only_b

    def add_left_over(self) -> None:
        """Rows for what stands on one side alone, and for the leaves matched by name, at a's place."""
        for row, only_a, only_b in self._over:
            for top in only_a:
                self._add_subtree(row, top, self._left, is_a=True)
            for top in only_b:
                self._add_subtree(row, top, self._right, is_a=False)

    def rows(self) -> Rows:
        """All rows, numbered breadth first."""
        order = [0]
        rows = Rows()
        parent = [NOTHING]
        keys_a, keys_b = self._left.nodes.key, self._right.nodes.key
        for number, old in enumerate(order):  # grows while it is walked
            below = self._below[old]
            rows.first_child.append(len(order) if below else 0)
            rows.n_children.append(len(below))
            order += below
            parent += [number] * len(below)
            node_a = self._node_a[old]
            rows.key.append(keys_a[node_a] if node_a != NOTHING else keys_b[self._node_b[old]])
        rows.key[0] = ""
        rows.node_a = array("q", [self._node_a[old] for old in order])
        rows.node_b = array("q", [self._node_b[old] for old in order])
        rows.parent = array("q", parent)
        empty = bytes(len(order))
        rows.status, rows.is_value = array("B", empty), array("B", empty)
        rows.counted, rows.same_checksum = array("B", empty), array("B", empty)
        return rows

    def _add(self, node_a: int, node_b: int) -> int:
        self._node_a.append(node_a)
        self._node_b.append(node_b)
        self._below.append([])
        return len(self._below) - 1

    def _pairs(self, node_a: int, node_b: int) -> tuple[Iterable[tuple[int, int]], list[int], list[int]]:
        """The children of two matched nodes: pairs, and those of one side alone."""
        a, b = self._left.nodes, self._right.nodes
        children_a, children_b = a.children(node_a), b.children(node_b)
        keys_a = a.key[children_a.start : children_a.stop]
        keys_b = b.key[children_b.start : children_b.stop]
        self._note_optimizer(node_a, node_b)
        map_a, map_b = self._matching.get(node_a), self._matching_b.get(node_b)
        if map_a is not None and map_b is not None:
            keys_a = [map_a.get(key, key) for key in keys_a]
            keys_b = [map_b.get(key, key) for key in keys_b]
        renamed_a, renamed_b = self._left.renames.names, self._right.renames.names
        if keys_a == keys_b and not renamed_a and not renamed_b:
            return zip(children_a, children_b, strict=True), [], []
        by_key = dict(zip(keys_b, children_b, strict=True))
        pairs: list[tuple[int, int]] = []
        only_a: list[int] = []
        for key, child in zip(keys_a, children_a, strict=True):
            other = by_key.get(key)
            if other is None or child in renamed_a or other in renamed_b:
                only_a.append(child)
            else:
                del by_key[key]
                pairs.append((child, other))
        return pairs, only_a, list(by_key.values())

    def _note_optimizer(self, node_a: int, node_b: int) -> None:
        left, right = self._left.checkpoint, self._right.checkpoint
        ids_a = optimizer_ids(left, node_a)
        ids_b = None if ids_a is None else optimizer_ids(right, node_b)
        if ids_a is None or ids_b is None:
            return
        if not (ids_a.names and ids_b.names):
            ids_a, ids_b, notes = named_by_either(left, node_a, ids_a, right, node_b, ids_b)
            self.warnings += notes
        self._note_names(self._left, ids_a, self.names_a)
        self._note_names(self._right, ids_b, self.names_b)
        keys_a, keys_b = matching_keys(ids_a, ids_b)
        self._matching[ids_a.state], self._matching_b[ids_b.state] = keys_a, keys_b
        self.parameters_a.update((place, keys_a[at]) for place, at in zip(ids_a.places, ids_a.order, strict=True))
        self.parameters_b.update((place, keys_b[at]) for place, at in zip(ids_b.places, ids_b.order, strict=True))
        warning = position_warning(left, ids_a, right, ids_b)
        if warning is not None:
            self.warnings.append(warning)

    @staticmethod
    def _note_names(side: Side, ids: OptimizerIds, names: dict[int, str]) -> None:
        nodes = side.nodes
        for entry in nodes.children(ids.state):
            key = nodes.key[entry]
            if isinstance(key, int) and key in ids.names:
                names[entry] = ids.names[key]

    def parameter_names(self, rows: Rows) -> dict[int, str]:
        """Names of parameters by row, of the optimizer's entries that have one."""
        found: dict[int, str] = {}
        if self.names_a or self.names_b:
            for row, (node_a, node_b) in enumerate(zip(rows.node_a, rows.node_b, strict=True)):
                name = self.names_a.get(node_a) or self.names_b.get(node_b)
                if name is not None:
                    found[row] = name
        return found

    def _add_subtree(self, parent: int, top: int, side: Side, *, is_a: bool) -> None:
        """Rows for a subtree of one side; b's leaves that stand at a's place are left out, and so are containers
        of b without anything else."""
        nodes = side.nodes
        order = list(nodes.tree_order(top))
        wanted = set(order)
        if not is_a:
            for node in reversed(order):
                children = nodes.children(node)
                if node in side.partner or (children and not any(child in wanted for child in children)):
                    wanted.discard(node)
        row_of: dict[int, int] = {}
        for node in order:
            if node not in wanted:
                continue
            if is_a:
                row = self._add(node, side.partner.get(node, NOTHING))
            else:
                row = self._add(NOTHING, node)
            row_of[node] = row
            above = row_of.get(nodes.parent[node], parent) if node != top else parent
            self._below[above].append(row)
