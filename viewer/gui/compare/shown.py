"""Which rows of an aligned tree are shown: those that a chip and a name leave, and what they stand in. Free of Qt."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from viewer.checkpoint.nodes import Key, OtherKey
from viewer.compare.comparison import Comparison
from viewer.compare.results import Rows, Status
from viewer.gui.tree.filter import FilterSpec, Shape

NO_ROWS: Shape = Shape((0,), (-1,), (0,), (0,))
"""The root alone, which is never seen."""


def label_of(key: Key) -> str:
    """A key as a row's name: "fc.weight", "[3]"."""
    if isinstance(key, OtherKey):
        return key.text
    return f"[{key}]" if isinstance(key, int) else key


def row_texts(rows: Rows) -> list[str]:
    """What the name filter looks into, by row: the path as it is read on screen, in lower case."""
    texts = [""] * len(rows)
    for row in range(1, len(rows)):
        label = label_of(rows.key[row]).lower()
        above = texts[rows.parent[row]]
        texts[row] = f"{above}/{label}" if above else label
    return texts


def shape_of(comparison: Comparison, statuses: frozenset[Status] | None, spec: FilterSpec, texts: list[str]) -> Shape:
    """The rows that have one of the statuses and the name looked for, with all rows above them.

    A row without a verdict of its own (a folder) matches by its name only where every status is wanted.
    """
    rows = comparison.rows
    if statuses is None and spec.is_empty:
        return Shape(range(len(rows)), rows.parent, rows.first_child, rows.n_children)
    keep = bytearray(len(rows))
    matches = 0
    for row in range(len(rows) - 1, 0, -1):
        if statuses is not None and not (rows.counted[row] and rows.status[row] in statuses):
            wanted = False
        else:
            wanted = _named(spec, texts[row])
        matches += wanted
        if wanted or keep[row]:
            keep[row] = 1
            keep[rows.parent[row]] = 1
    keep[0] = 1
    return _compressed(rows, keep, matches)


def first_expanded(shape: Shape, at_most: int) -> list[int]:
    """Positions to open at the start: level by level, as long as no more than so many rows appear."""
    opened: list[int] = []
    level, visible = [0], 0
    while level:
        visible += sum(shape.n_children[position] for position in level)
        if visible > at_most:
            break
        opened += level
        level = [
            child
            for position in level
            for child in range(shape.first_child[position], shape.first_child[position] + shape.n_children[position])
            if shape.n_children[child]
        ]
    return opened[1:]


def tree_order(shape: Shape) -> Iterator[int]:
    """The rows of a shape from top to bottom, as if all were open."""
    stack = [0]
    while stack:
        position = stack.pop()
        yield shape.rows[position]
        first = shape.first_child[position]
        stack.extend(range(first + shape.n_children[position] - 1, first - 1, -1))


def _named(spec: FilterSpec, text: str) -> bool:
    if spec.pattern is not None and spec.pattern.search(text) is None:
        return False
    return all(word in text for word in spec.words)


def _compressed(rows: Rows, keep: bytearray, matches: int) -> Shape:
    kept = array("q", (row for row in range(len(rows)) if keep[row]))
    position_of = dict(zip(kept, range(len(kept)), strict=True))
    parent = array("q", bytes(8 * len(kept)))
    first_child = array("q", bytes(8 * len(kept)))
    n_children = array("q", bytes(8 * len(kept)))
    parent[0] = -1
    for position in range(1, len(kept)):
        above = position_of[rows.parent[kept[position]]]
        parent[position] = above
        if not n_children[above]:
            first_child[above] = position
        n_children[above] += 1
    return Shape(kept, parent, first_child, n_children, matches)
