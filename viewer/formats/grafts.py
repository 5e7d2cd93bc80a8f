"""The graphs of several files, each in its place in the graph of the whole.

A whole that was composed has a tree and no graph of its own; what its tree shows as texts (dates, numpy arrays,
objects) is in the graphs of its parts alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewer.checkpoint.nodes import NodeTable
from viewer.formats.graph import children
from viewer.formats.pickle.standins import StandInType, StorageStandIn, TensorStandIn


@dataclass(frozen=True, slots=True)
class PlacedGraft:
    """A node of a part, with all below it, at a node of the whole.

    Attributes
    ----------
    node
        Of the whole.
    part, part_node
        The part's tree, and the node there.
    tensor, storage
        What the numbers of the part's tensors and storages move by.
    """

    node: int
    part: NodeTable
    part_node: int
    tensor: int
    storage: int


class PartGraphs:
    """Finds what stands at a node of a part, with the numbers of the whole.

    Parameters
    ----------
    graphs
        Of the parts that have one, with their trees. They are changed: nobody else may use them.
    """

    def __init__(self, graphs: Sequence[tuple[object, NodeTable]]) -> None:
        self._graphs = {id(nodes): root for root, nodes in graphs}
        self._moved: set[int] = set()
        self._below: dict[int, list[object]] = {}

    def has(self, nodes: NodeTable) -> bool:
        """Whether a part has a graph of its own."""
        return id(nodes) in self._graphs

    def add(self, nodes: NodeTable, root: object) -> None:
        """Note the graph that was made for a part that is composed itself."""
        self._graphs[id(nodes)] = root

    def object_at(self, graft: PlacedGraft) -> object:
        """The object of a graft."""
        root = self._graphs[id(graft.part)]
        if id(graft.part) not in self._moved:
            self._moved.add(id(graft.part))
            if graft.tensor or graft.storage:
                _move_numbers(root, graft.tensor, graft.storage)
        rows = []
        at = graft.part_node
        while graft.part.parent[at] >= 0:
            rows.append(graft.part.row(at))
            at = graft.part.parent[at]
        item = root
        for row in reversed(rows):
            below = self._below.get(id(item))
            if below is None:
                below = self._below[id(item)] = [child for _, child in children(item) or ()]
            item = below[row]
        return item


def _move_numbers(root: object, tensor: int, storage: int) -> None:
    """Add to the numbers of all tensors and storages in a graph."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        item = stack.pop()
        if item is None or isinstance(item, (str, int, float, complex, bytes, StandInType)) or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, TensorStandIn):
            item.number += tensor
        elif isinstance(item, StorageStandIn):
            item.number += storage
        if isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, (list, tuple, set, frozenset)):
            stack.extend(item)
        stack.extend(vars(item).values() if hasattr(item, "__dict__") else ())
        stack.extend(
            getattr(item, name, None) for kind in type(item).__mro__ for name in kind.__dict__.get("__slots__", ())
        )
