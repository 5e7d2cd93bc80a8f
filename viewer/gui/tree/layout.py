"""Lays out the rows of a checkpoint: groups, order, ranges, sums.

A generator, so that the window can do it between two paints: a million rows never hold it for more than some
milliseconds at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key, Kind
from viewer.gui.tree import grouping
from viewer.gui.tree.display import DisplayOptions, DisplayTable, label_of
from viewer.gui.tree.grouping import Group
from viewer.gui.tree.natural import natural_order_task
from viewer.gui.tree.rollup import roll_up_task
from viewer.task import Progress, Task

MAX_SIBLINGS: Final = 10_000
"""More siblings are shown in ranges: a tree view lays out every row of an open parent, at about 2 us each."""

_NAMED_KINDS: Final = (Kind.MAPPING, Kind.GROUP, Kind.OBJECT)
_SLICE: Final = 1024

_T = TypeVar("_T")
_Steps: TypeAlias = Generator[Progress, None, _T]


@dataclass(slots=True)
class _Rows:
    """Siblings to be: label and node of each (-1 for a group of ours), and the groups by position."""

    labels: Sequence[str] = ()
    nodes: Sequence[int] = ()
    groups: dict[int, Group] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)

    def ordered(self, order: Sequence[int]) -> _Rows:
        place = {position: row for row, position in enumerate(order)} if self.groups else {}
        return _Rows(
            [self.labels[position] for position in order],
            [self.nodes[position] for position in order],
            {place[position]: group for position, group in self.groups.items()},
        )

    def part(self, start: int, stop: int) -> _Rows:
        groups = {position - start: group for position, group in self.groups.items() if start <= position < stop}
        return _Rows(self.labels[start:stop], self.nodes[start:stop], groups)


_NO_ROWS: Final = _Rows()


def build_task(checkpoint: Checkpoint, options: DisplayOptions) -> Task[DisplayTable]:
    """Lay out the rows of a checkpoint; progress counts rows."""
    layout = _Layout(checkpoint, options)
    yield from layout.run()
    yield from roll_up_task(layout.table)
    return layout.table


class _Layout:
    def __init__(self, checkpoint: Checkpoint, options: DisplayOptions) -> None:
        self.nodes = checkpoint.nodes
        self.options = options
        self.table = DisplayTable(checkpoint)
        # What is inside a row that is no node; taken out when the row's turn comes.
        self.inside: dict[int, Group | _Rows] = {}

    def run(self) -> _Steps[None]:
        table = self.table
        has_root_row = not self.nodes.n_children[0]  # a file that holds a single tensor or value: the only row
        self._append(-1, _Rows([""], [-1 if has_root_row else 0]))
        if has_root_row:
            self._append(0, _Rows([self.nodes.type_name(0)], [0]))
        row = done = 0
        while row < len(table.label):
            node = table.node[row]
            if row in self.inside or (node >= 0 and self.nodes.n_children[node]):
                rows = yield from self._rows_inside(row, node)
                if len(rows) > MAX_SIBLINGS:
                    self._append_ranges(row, rows)
                else:
                    self._append(row, rows)
                done += len(rows)
            row += 1
            done += 1
            if done >= _SLICE:
                done = 0
                yield self._progress()
        yield from self._number_nodes()

    def _rows_inside(self, row: int, node: int) -> _Steps[_Rows]:
        inside = self.inside.pop(row, None)
        if isinstance(inside, _Rows):
            return inside
        if inside is not None:
            return (yield from self._in_order(_Rows(*grouping.expand(inside))))
        nodes = self.nodes
        first = nodes.first_child[node]
        keys = nodes.key[first : first + nodes.n_children[node]]
        if nodes.kind[node] not in _NAMED_KINDS:
            return (yield from self._as_they_are(keys, first))
        count = grouping.count_entries(keys)
        rows = yield from self._entries(keys[:count], first)
        attributes = keys[count:]
        if not attributes:
            return rows
        nodes_of_attributes = range(first + count, first + len(keys))
        return _Rows([*rows.labels, *map(label_of, attributes)], [*rows.nodes, *nodes_of_attributes], rows.groups)

    def _entries(self, keys: list[Key], first: int) -> _Steps[_Rows]:
        """The rows of a mapping's entries: grouped and sorted where all of them are names."""
        joined = grouping.join_names(keys)
        if joined is None:
            return (yield from self._as_they_are(keys, first))
        if self.options.grouped and grouping.is_dotted(joined):
            group = yield from self._paced(grouping.split_names(keys, first))
            rows = _Rows(*grouping.expand(group))
        else:
            rows = yield from self._as_they_are(keys, first)
        return (yield from self._in_order(rows))

    def _as_they_are(self, keys: list[Key], first: int) -> _Steps[_Rows]:
        labels: list[str] = []
        for start in range(0, len(keys), _SLICE):
            labels += map(label_of, keys[start : start + _SLICE])
            if start:
                yield self._progress()
        return _Rows(labels, range(first, first + len(keys)))

    def _in_order(self, rows: _Rows) -> _Steps[_Rows]:
        if not self.options.natural or len(rows) < 2:
            return rows
        order = yield from self._paced(natural_order_task(rows.labels))
        return rows if order is None else rows.ordered(order)

    def _append(self, parent: int, rows: _Rows) -> None:
        table = self.table
        first, count = len(table.label), len(rows)
        if parent >= 0:
            table.first_child[parent] = first
            table.n_children[parent] = count
        table.label.extend(rows.labels)
        table.node.extend(rows.nodes)
        table.parent.extend([parent] * count)
        table.first_child.extend([0] * count)
        table.n_children.extend([0] * count)
        for position, group in rows.groups.items():
            self.inside[first + position] = group

    def _append_ranges(self, row: int, rows: _Rows) -> None:
        bounds = [(start, min(start + MAX_SIBLINGS, len(rows))) for start in range(0, len(rows), MAX_SIBLINGS)]
        self._append(row, _Rows([f"{start + 1:,} – {stop:,}" for start, stop in bounds], [-1] * len(bounds)))
        for number, (start, stop) in zip(self.table.children(row), bounds, strict=True):
            self.table.ranges.add(number)
            self.inside[number] = rows.part(start, stop)

    def _number_nodes(self) -> _Steps[None]:
        row_of_node = array("q", [-1]) * len(self.nodes)
        table = self.table
        for start in range(0, len(table), 8 * _SLICE):
            for row, node in enumerate(table.node[start : start + 8 * _SLICE], start):
                if node >= 0:
                    row_of_node[node] = row
            yield self._progress()
        if table.node[0] == 0:
            row_of_node[0] = -1  # the root is not to be seen
        table.row_of_node = row_of_node

    def _paced(self, steps: Generator[None, None, _T]) -> _Steps[_T]:
        """The steps' result; their yields become progress."""
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                result: _T = stop.value
                return result
            yield self._progress()

    def _progress(self) -> Progress:
        return Progress(len(self.table.label), len(self.nodes), "rows")
