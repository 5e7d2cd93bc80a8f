"""The plain values that stand directly in a container, as rows to read at a glance. No Qt."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.gui.details.cell import Cell
from viewer.gui.format import format_count, format_exact
from viewer.gui.tree.display import label_of

MOST_ROWS: Final = 100
_SEARCHED: Final = 5_000
"""Entries of a container to look at: a table of small values is of use for settings, not for a vocabulary."""
_IN_A_ROW: Final = 6
"""Values of a short list that stand in one row: betas, milestones."""
_LONGEST: Final = 120
HEADS: Final = ("name", "value", "type")


def small_value_rows(checkpoint: Checkpoint, node: int) -> tuple[list[tuple[Cell, ...]], int]:
    """Rows of (name, value, type), and how many values more there are among the entries looked at.

    Values are scalars, and lists, tuples and sets that hold nothing but scalars; of a long one the first few are
    shown with the number of all.
    """
    nodes = checkpoint.nodes
    first = nodes.first_child[node]
    rows: list[tuple[Cell, ...]] = []
    n_more = 0
    for child in range(first, first + min(nodes.n_children[node], _SEARCHED)):
        if not _is_small(checkpoint, child):
            continue
        if len(rows) == MOST_ROWS:
            n_more += 1
            continue
        shown, exact = _value(checkpoint, child)
        label = label_of(nodes.key[child])
        rows.append((Cell(label, muted=True), Cell(shown, exact), Cell(nodes.type_name(child), plain=True)))
    return rows, n_more


def _is_small(checkpoint: Checkpoint, node: int) -> bool:
    nodes = checkpoint.nodes
    kind = nodes.kind[node]
    if kind in (Kind.SEQUENCE, Kind.SET):
        first = nodes.first_child[node]
        few = nodes.kind[first : first + min(nodes.n_children[node], _SEARCHED)].tobytes()
        return few.count(Kind.SCALAR) == len(few)
    return kind == Kind.SCALAR


def _value(checkpoint: Checkpoint, node: int) -> tuple[str, str]:
    """What to show, and the exact text where that is another."""
    nodes = checkpoint.nodes
    if nodes.kind[node] == Kind.SCALAR:
        return _text(nodes.value[node])
    first, count = nodes.first_child[node], nodes.n_children[node]
    parts = [_text(nodes.value[child])[0] for child in range(first, first + min(count, _IN_A_ROW))]
    if count > _IN_A_ROW:
        parts.append(f"… {format_count(count)} in all")
    return f"[{', '.join(parts)}]", ""


def _text(value: object) -> tuple[str, str]:
    if isinstance(value, (str, bytes)) and len(value) > _LONGEST:
        unit = "characters" if isinstance(value, str) else "bytes"
        return f"{value[:_LONGEST]!r} … {format_count(len(value))} {unit}", ""
    exact = format_exact(value)
    return (exact, "") if len(exact) <= _LONGEST else (f"{exact[:_LONGEST]}…", exact)
