"""Which rows to open, and where a row is after the tree was laid out another way. Free of Qt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from viewer.gui.tree.display import DisplayTable

_MAX_OPEN_AT_START: Final = 24
"""Rows that fit on a small screen: the outermost level is opened while no more than these show."""


def open_at_start(table: DisplayTable) -> Iterable[int]:
    """The outermost rows, while what they hold fits on a screen beside them; always a single one."""
    top = list(table.children(0))
    if len(top) == 1:
        return top
    shown = len(top)
    opened = []
    for row in top:
        shown += table.n_children[row]
        if shown <= _MAX_OPEN_AT_START and table.n_children[row]:
            opened.append(row)
    return opened


def same_row(before: DisplayTable, row: int, now: DisplayTable) -> int | None:
    """Where a row of an earlier layout of the same checkpoint is now."""
    if not row:
        return None
    node = before.node[row]
    return now.row_of_node[node] if node >= 0 else now.row_at(before.labels_to(row))
