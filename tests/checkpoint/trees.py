"""Small node tables made by hand."""

from __future__ import annotations

from viewer.checkpoint.nodes import Key, Kind, NodeTable


def flat_mapping(keys: list[Key]) -> NodeTable:
    """A root mapping with one None leaf for each key."""
    nodes = NodeTable(types=["dict", "NoneType"])
    rows: list[tuple[int, int, int, int, int, Key]] = [(Kind.MAPPING, 0, -1, 1 if keys else 0, len(keys), "")]
    rows += [(Kind.SCALAR, 1, 0, 0, 0, key) for key in keys]
    for kind, type_id, parent, first, count, key in rows:
        nodes.kind.append(kind)
        nodes.type_id.append(type_id)
        nodes.parent.append(parent)
        nodes.first_child.append(first)
        nodes.n_children.append(count)
        nodes.key.append(key)
        nodes.value.append(None)
    return nodes
