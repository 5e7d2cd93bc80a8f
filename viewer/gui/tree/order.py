"""Tensors in the order of one of their figures: a flat list, since the largest of all is what is looked for, wherever
it stands. Free of Qt."""

from __future__ import annotations

import heapq
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.gui.tree.columns import TITLES, Column
from viewer.gui.tree.display import DisplayTable
from viewer.gui.tree.filter import Shape
from viewer.gui.tree.scan_cells import figure
from viewer.task import Progress, Task

MAX_LISTED: Final = 10_000
"""Tensors in the list: the view lays out every row, at about 3 us each."""
_SLICE: Final = 4096
_TEXTS: Final = frozenset({Column.TYPE})


@dataclass(frozen=True, slots=True)
class Order:
    """By which column, and which way."""

    column: Column
    descending: bool

    @property
    def words(self) -> str:
        """By max, largest first."""
        if self.column in _TEXTS:
            way = "Z to A" if self.descending else "A to Z"
        else:
            way = "largest first" if self.descending else "smallest first"
        of = " (most elements along the first axes)" if self.column == Column.SHAPE else ""
        return f"by {TITLES[self.column]}{of}, {way}"


def next_order(before: Order | None, column: Column) -> Order | None:
    """What a click on the head of a column makes of the order: the first click shows what is looked for most often,
    the second the other end, the third the tree again. Histograms have no order."""
    if column == Column.NAME:
        return None
    if column == Column.HISTOGRAM:
        return before
    first = column not in _TEXTS
    if before is None or before.column != column:
        return Order(column, first)
    return Order(column, not first) if before.descending == first else None


def order_task(table: DisplayTable, shape: Shape, order: Order) -> Task[Shape]:
    """The tensors of a shape in order; those without the figure come last, whichever way."""
    keyed: list[tuple[Any, int]] = []
    without: list[int] = []
    for position in range(1, len(shape)):
        row = shape.rows[position]
        if table.kind(row) == Kind.TENSOR and (shape.n_matches is None or not shape.n_children[position]):
            key = _key(table, row, order.column)
            if key is None:
                without.append(row)
            else:
                keyed.append((key, row))
        if position % _SLICE == 0:
            yield Progress(position, len(shape), "rows")
    ordered = yield from _sorted(keyed, order)
    n_found = len(ordered) + len(without)
    ordered += without[: max(0, MAX_LISTED - len(ordered))]
    return flat(ordered[:MAX_LISTED], n_found)


def flat(rows: list[int], n_matches: int) -> Shape:
    """A list of rows without the tree around them."""
    count = len(rows)
    return Shape(
        [0, *rows], [-1] + [0] * count, [1] + [0] * count, [count] + [0] * count, n_matches=n_matches, is_flat=True
    )


def _key(table: DisplayTable, row: int, column: Column) -> Any:
    number = table.tensor(row)
    assert number is not None
    tensors = table.checkpoint.tensors
    if column == Column.TYPE:
        return DTYPES[tensors.dtype[number]].name
    if column == Column.SHAPE:
        return tensors.shape[number]
    if column == Column.ELEMENTS:
        return table.elements[row]
    if column == Column.SIZE:
        return table.nbytes[row]
    found = table.scan.get(number)
    if found is None or found.problem is not None:
        return None
    return figure(found, column)


def _sorted(keyed: list[tuple[Any, int]], order: Order) -> Generator[Progress, None, list[int]]:
    # One sort of all would hold the window; short runs that are merged do not.
    runs = []
    for start in range(0, len(keyed), _SLICE):
        runs.append(sorted(keyed[start : start + _SLICE], key=_first, reverse=order.descending))
        yield Progress(start, len(keyed), "rows")
    ordered: list[int] = []
    for _, row in heapq.merge(*runs, key=_first, reverse=order.descending):
        ordered.append(row)
        if len(ordered) % _SLICE == 0:
            yield Progress(len(ordered), len(keyed), "rows")
    return ordered


def _first(pair: tuple[Any, int]) -> Any:
    return pair[0]
