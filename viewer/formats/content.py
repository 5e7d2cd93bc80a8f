"""A file's whole object graph: what the tree only shows, for whoever has to write it again.

The tree of a checkpoint shows some things as texts (dates, unusual keys, long byte strings). The graph that it was
made of holds everything; but it takes memory, and is dropped when the tree stands. So the file is read a second time,
with limits that ask the readers to keep it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key, Kind, NodeTable, OtherKey
from viewer.formats.grafts import PartGraphs, PlacedGraft
from viewer.formats.limits import Limits
from viewer.formats.pickle.standins import Group, Problem, TensorStandIn, make_mapping
from viewer.task import Task

_SHOWN_AS_TEXT = ("datetime.", "decimal.", "fractions.", "uuid.", "pathlib.", "numpy.")
_SHOWN_AS_TEXT_NAMES = frozenset(
    {
        "builtins.slice",
        "builtins.range",
        "builtins.xrange",
        "builtins.getattr",
        "copyreg._reconstructor",
        "copyreg.__newobj__",
        "copyreg.__newobj_ex__",
        "torch.nested._internal.nested_tensor._rebuild_njt",
    }
)


@dataclass(frozen=True, slots=True)
class ContentLimits(Limits):
    """Limits of a reading that keeps the graph.

    Attributes
    ----------
    graphs
        Filled by the reading: each graph of which a tree was made, and the tree.
    grafts
        Filled too: each tree that was composed, and what stands in it from the parts.
    """

    graphs: list[tuple[object, NodeTable]] = field(default_factory=list, compare=False)
    grafts: list[tuple[NodeTable, list[PlacedGraft]]] = field(default_factory=list, compare=False)


def keeps_calls(limits: Limits, plain: str) -> bool:
    """Whether a known shape is to stay the call that the pickle holds, because the shape would lose a part of it.

    Parameters
    ----------
    plain
        Its dotted name (`viewer.formats.pickle.names.plain_name`).
    """
    if not isinstance(limits, ContentLimits):
        return False
    return plain.startswith(_SHOWN_AS_TEXT) or plain in _SHOWN_AS_TEXT_NAMES


@dataclass(slots=True)
class Content:
    """A checkpoint and its graph.

    Attributes
    ----------
    checkpoint
        The tensors and storages that the graph refers to by number, and a tree of the graph as it is: numbers of
        tensors and nodes are not those of the same file opened to be looked at.
    root
        Builtins and stand-ins (see `viewer.formats.pickle`).
    """

    checkpoint: Checkpoint
    root: object


def content_task(path: str | os.PathLike[str]) -> Task[Content]:
    """Read a file's graph. Raises as `viewer.formats.opening.open_task` does."""
    from viewer.formats.opening import open_task

    limits = ContentLimits()
    checkpoint = yield from open_task(path, limits)
    for root, nodes in limits.graphs:
        if nodes is checkpoint.nodes:
            return Content(checkpoint, root)
    return Content(checkpoint, _composed_graph(checkpoint.nodes, limits, PartGraphs(limits.graphs)))


def _composed_graph(nodes: NodeTable, limits: ContentLimits, graphs: PartGraphs) -> object:
    """The graph of a checkpoint that was put together of several files: of its tree, and of their graphs."""
    placed = next((grafts for whole, grafts in limits.grafts if whole is nodes), [])
    for graft in placed:
        if not graphs.has(graft.part):
            graphs.add(graft.part, _composed_graph(graft.part, limits, graphs))
    return graph_of_nodes(nodes, {graft.node: graphs.object_at(graft) for graft in placed})


def graph_of_nodes(nodes: NodeTable, known: Mapping[int, object]) -> object:
    """A graph made of a tree. What the tree does not hold in full is a `Problem`.

    Parameters
    ----------
    known
        What stands at a node, where that is known better than the tree shows it.
    """
    made: list[object] = [None] * len(nodes)
    for node in reversed(range(len(nodes))):  # children have higher numbers than their parents
        made[node] = known[node] if node in known else _object_of(nodes, node, made)
    return made[0]


def _object_of(nodes: NodeTable, node: int, made: list[object]) -> object:
    kind, type_name, value = Kind(nodes.kind[node]), nodes.type_name(node), nodes.value[node]
    if kind == Kind.TENSOR and isinstance(value, int):
        return TensorStandIn(value)
    if kind == Kind.SCALAR and type(value).__name__ == type_name:
        return value
    if kind == Kind.MAPPING:
        return _mapping_of(nodes, node, made, type_name)
    if kind == Kind.GROUP:
        return Group({str(key): item for key, item in _members(nodes, node, made)}, type_name)
    if kind == Kind.SEQUENCE and type_name in ("list", "tuple"):
        items = [item for _, item in _members(nodes, node, made)]
        return items if type_name == "list" else tuple(items)
    if kind == Kind.PROBLEM:
        return Problem(str(value))
    return Problem(f"a {type_name} in a checkpoint of several files, of which only what is shown is known")


def _members(nodes: NodeTable, node: int, made: list[object]) -> Iterator[tuple[Key, object]]:
    for child in nodes.children(node):
        yield nodes.key[child], made[child]


def _mapping_of(nodes: NodeTable, node: int, made: list[object], type_name: str) -> object:
    entries: dict[object, object] = {}
    attributes: dict[str, object] = {}
    for key, item in _members(nodes, node, made):
        if not isinstance(key, OtherKey):
            entries[key] = item
        elif key.text.startswith("."):
            attributes[key.text[1:]] = item
        else:
            return Problem(f"a {type_name} with keys of which only the text is known")
    if type_name == "dict" and not attributes:
        return entries
    if type_name not in ("dict", "OrderedDict"):
        return Problem(f"a {type_name} in a checkpoint of several files, of which only what is shown is known")
    mapping = make_mapping("collections.OrderedDict" if type_name == "OrderedDict" else type_name)
    mapping.update(entries)
    mapping.state = attributes or None
    return mapping
