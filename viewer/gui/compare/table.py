"""The rows of a comparison as they are shown: dotted names folded into groups, siblings in natural order.

Three numberings: a *row* is the comparison's, an *entry* is one of this table (a row or a group of ours), a
*position* is an entry's place among those that chips and filter leave (`shown.py`). Free of Qt.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from viewer.checkpoint.nodes import Key, Kind, OtherKey
from viewer.compare.comparison import NOTHING, Comparison
from viewer.gui.tree import grouping
from viewer.gui.tree.display import DisplayOptions
from viewer.gui.tree.grouping import Group
from viewer.gui.tree.natural import natural_order_task
from viewer.task import Progress, Task

GROUP: Final = -1
"""The row of an entry that is a group of ours."""
WHOLE: Final = 1
"""The entry that stands for everything: row 0."""

MAX_SIBLINGS: Final = 10_000
_NAMED_KINDS: Final = (Kind.MAPPING, Kind.GROUP, Kind.OBJECT)
_SLICE: Final = 1024

_T = TypeVar("_T")
_Steps: TypeAlias = Generator[Progress, None, _T]
_Names: TypeAlias = tuple[Group, Sequence[int]]


@dataclass(slots=True)
class CompareTable:
    """Columns over all entries. Entry 0 is the invisible parent of the outermost ones.

    Attributes
    ----------
    row
        Row of the comparison; GROUP for a group of ours.
    parent, first_child, n_children
        As in `Rows`, in entries.
    entry_of_row
        The entry that shows a row.
    """

    comparison: Comparison
    row: array[int] = field(default_factory=lambda: array("q"))
    label: list[str] = field(default_factory=list)
    parent: array[int] = field(default_factory=lambda: array("q"))
    first_child: array[int] = field(default_factory=lambda: array("q"))
    n_children: array[int] = field(default_factory=lambda: array("q"))
    entry_of_row: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.label)

    def children(self, entry: int) -> range:
        first = self.first_child[entry]
        return range(first, first + self.n_children[entry])

    def name_of(self, entry: int) -> str:
        """A group's names from the outside in: "encoder.layers.0"; a row's path."""
        row = self.row[entry]
        if row != GROUP:
            comparison = self.comparison
            path = comparison.path_a(row)
            return (comparison.path_b(row) if path is None else path) or ""
        above = self.parent[entry]
        if above > WHOLE and self.row[above] == GROUP:
            return f"{self.name_of(above)}.{self.label[entry]}"
        return self.label[entry]


def label_of(key: Key) -> str:
    """A key as a row's name: "fc.weight", "[3]"."""
    if isinstance(key, OtherKey):
        return key.text
    return f"[{key}]" if isinstance(key, int) else key


def build_task(comparison: Comparison, options: DisplayOptions) -> Task[CompareTable]:
    """Lay out the entries; progress counts rows."""
    layout = _Layout(comparison, options)
    yield from layout.run()
    return layout.table


@dataclass(slots=True)
class _Siblings:
    """Entries to be.

    Attributes
    ----------
    labels, rows
        Of each; GROUP for a group of ours.
    groups
        These, by place: names in groups, and the rows that the numbers among them stand for.
    """

    labels: Sequence[str] = ()
    rows: Sequence[int] = ()
    groups: dict[int, _Names] = field(default_factory=dict)

    def part(self, start: int, stop: int) -> _Siblings:
        groups = {place - start: group for place, group in self.groups.items() if start <= place < stop}
        return _Siblings(self.labels[start:stop], self.rows[start:stop], groups)


class _Layout:
    def __init__(self, comparison: Comparison, options: DisplayOptions) -> None:
        self._comparison = comparison
        self._rows = comparison.rows
        self._options = options
        self.table = CompareTable(comparison)
        # What is inside an entry that is no row; taken out when the entry's turn comes.
        self._inside: dict[int, _Names | _Siblings] = {}

    def run(self) -> Task[None]:
        rows, table = self._rows, self.table
        table.entry_of_row = array("q", bytes(8 * len(rows)))
        for column, value in ((table.row, GROUP), (table.parent, -1), (table.first_child, 0), (table.n_children, 0)):
            column.append(value)
        table.label.append("")
        top = (yield from self._inside_row(0)) if rows.n_children[0] else _Siblings()
        if len(top.labels) > MAX_SIBLINGS:
            top, parts = _ranges(top)
            self._inside.update((WHOLE + 1 + place, part) for place, part in enumerate(parts))
        groups = {place + 1: group for place, group in top.groups.items()}
        self._append(0, _Siblings([_whole_label(self._comparison), *top.labels], [0, *top.rows], groups))
        entry = WHOLE + 1
        while entry < len(table):
            found = yield from self._inside_entry(entry)
            if len(found.labels) > MAX_SIBLINGS:
                found, parts = _ranges(found)
                self._inside.update(enumerate(parts, len(table)))
            if found.labels:
                self._append(entry, found)
            entry += 1
            if entry % _SLICE == 0:
                yield Progress(entry, len(rows), "rows")

    def _inside_entry(self, entry: int) -> _Steps[_Siblings]:
        inside = self._inside.pop(entry, None)
        if isinstance(inside, _Siblings):
            return inside
        if inside is not None:
            return (yield from self._ordered(_expanded(inside)))
        row = self.table.row[entry]
        return (yield from self._inside_row(row)) if self._rows.n_children[row] else _Siblings()

    def _inside_row(self, row: int) -> _Steps[_Siblings]:
        """The rows inside a row, grouped where their names are dotted."""
        rows = self._rows
        children = rows.children(row)
        keys = rows.key[children.start : children.stop]
        if not self._is_named(row) or not all(isinstance(key, (str, OtherKey)) for key in keys):
            names = self._comparison.structure.parameter_names
            labels = [
                f"{names[number]} {label_of(key)}" if number in names else label_of(key)
                for number, key in zip(children, keys, strict=True)
            ]
            return _Siblings(labels, children)
        numbers = [number for number, key in zip(children, keys, strict=True) if isinstance(key, str)]
        others = [number for number, key in zip(children, keys, strict=True) if not isinstance(key, str)]
        texts = [key for key in keys if isinstance(key, str)]
        found = _Siblings(texts, numbers)
        if self._options.grouped and grouping.is_dotted(" ".join(texts)):
            found = _expanded(((yield from _paced(grouping.split_names(texts, 0))), numbers))
        found = yield from self._ordered(found)
        attributes = [label_of(rows.key[number]) for number in others]
        return _Siblings([*found.labels, *attributes], [*found.rows, *others], found.groups)

    def _is_named(self, row: int) -> bool:
        """Whether what is inside has names, and no order that means something."""
        comparison, node = self._comparison, self._rows.node_a[row]
        if node == NOTHING:
            return comparison.b.nodes.kind[self._rows.node_b[row]] in _NAMED_KINDS
        return comparison.a.nodes.kind[node] in _NAMED_KINDS

    def _ordered(self, found: _Siblings) -> _Steps[_Siblings]:
        if not self._options.natural or len(found.labels) < 2:
            return found
        order = yield from _paced(natural_order_task(found.labels))
        if order is None:
            return found
        place = {old: new for new, old in enumerate(order)} if found.groups else {}
        return _Siblings(
            [found.labels[old] for old in order],
            [found.rows[old] for old in order],
            {place[old]: group for old, group in found.groups.items()},
        )

    def _append(self, parent: int, found: _Siblings) -> None:
        table = self.table
        first, count = len(table), len(found.labels)
        table.first_child[parent] = first
        table.n_children[parent] = count
        table.label.extend(found.labels)
        table.row.extend(found.rows)
        table.parent.extend([parent] * count)
        table.first_child.extend([0] * count)
        table.n_children.extend([0] * count)
        for entry, row in enumerate(found.rows, first):
            if row != GROUP:
                table.entry_of_row[row] = entry
        for place, group in found.groups.items():
            self._inside[first + place] = group


def _ranges(found: _Siblings) -> tuple[_Siblings, list[_Siblings]]:
    """Very many siblings as ranges of them, and what is in each: a view lays out every row of an open parent."""
    count = len(found.labels)
    bounds = [(start, min(start + MAX_SIBLINGS, count)) for start in range(0, count, MAX_SIBLINGS)]
    labels = [f"{start + 1:,} – {stop:,}" for start, stop in bounds]
    return _Siblings(labels, [GROUP] * len(bounds)), [found.part(start, stop) for start, stop in bounds]


def _expanded(names: _Names) -> _Siblings:
    """The entries inside a group."""
    group, numbers = names
    labels, places, inner = grouping.expand(group)
    rows = [numbers[place] if place >= 0 else GROUP for place in places]
    return _Siblings(labels, rows, {place: (inside, numbers) for place, inside in inner.items()})


def _paced(steps: Generator[None, None, _T]) -> _Steps[_T]:
    """The steps' result; their yields become progress."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: _T = stop.value
            return result
        yield Progress(0, 0, "rows")


def _whole_label(comparison: Comparison) -> str:
    """What the entry for everything is called: a single tensor by its name, else "Overview"."""
    if comparison.rows.n_children[0]:
        return "Overview"
    options = comparison.structure.options
    return options.select_a or options.select_b or "(the whole file)"
