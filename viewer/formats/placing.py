"""Where in the tree the names stand that a file's pickles use: so that a person can look at what uses them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viewer.checkpoint.document import GlobalUse
from viewer.checkpoint.nodes import Kind, NodeTable
from viewer.formats.pickle.names import modern_name


def place_globals(uses: list[GlobalUse], nodes: NodeTable) -> list[GlobalUse]:
    """The same uses, those outside the table of harmless names with the first node that shows them.

    That is the first instance of the class (or result of the function), or the row that shows the name itself. A use
    that the tree does not show, such as a class in the key of a dict, keeps -1.
    """
    wanted = {modern_name(use.dotted) for use in uses if not use.harmless}
    if not wanted:
        return uses
    first = {}
    if not wanted.isdisjoint(nodes.types):
        # Of equal keys a dict keeps the last value, so backwards the first node of each type stays: one pass in C,
        # 30 ms for a million nodes.
        by_type = dict(zip(reversed(nodes.type_id), range(len(nodes) - 1, -1, -1), strict=True))
        first = {nodes.types[type_id]: node for type_id, node in by_type.items()}
    for node in _references(nodes):
        name = str(nodes.value[node])
        while name:  # `getattr(models.Color, "RED")` is shown as models.Color.RED
            if name in wanted:
                first[name] = min(node, first.get(name, node))
            name = name.rpartition(".")[0]
    return [use if use.harmless else replace(use, node=first.get(modern_name(use.dotted), -1)) for use in uses]


def _references(nodes: NodeTable) -> Iterator[int]:
    kinds = nodes.kind.tobytes()
    node = kinds.find(Kind.REFERENCE)
    while node >= 0:
        yield node
        node = kinds.find(Kind.REFERENCE, node + 1)
