"""Which entries are shown, and in which order: those that a chip and a name leave, and what they stand in. No Qt."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from viewer.compare.results import Status
from viewer.gui.compare.cells import Column
from viewer.gui.compare.rollups import UNKNOWN, RollUps
from viewer.gui.compare.table import GROUP, WHOLE, CompareTable
from viewer.gui.tree.filter import FilterSpec
from viewer.task import Progress, Task

SORTED_BY: Final = (Column.VERDICT, Column.MAX_ABS, Column.REL_NORM, Column.SHARE)
"""Columns by which siblings can be sorted, the largest first."""

_SLICE: Final = 512


@dataclass(frozen=True, slots=True)
class Shown:
    """Entries as the view sees them. Index = position; position 0 is the invisible entry 0.

    Attributes
    ----------
    entries
        The entry at each position.
    positions
        The position of each entry of the table; -1 where it is not shown.
    n_matches
        How many entries match by themselves; None where nothing is filtered.
    """

    entries: Sequence[int]
    positions: Sequence[int]
    parent: Sequence[int]
    first_child: Sequence[int]
    n_children: Sequence[int]
    n_matches: int | None = None

    def position_of(self, entry: int) -> int | None:
        """Where an entry stands; None where it is not shown."""
        position = self.positions[entry] if 0 <= entry < len(self.positions) else -1
        return position if position >= 0 else None

    def children(self, position: int) -> range:
        first = self.first_child[position]
        return range(first, first + self.n_children[position])


NOTHING_SHOWN: Final = Shown((0,), (0,), (-1,), (0,), (0,))
"""The root alone, which is never seen."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person wants to see.

    Attributes
    ----------
    statuses
        Verdicts; None for all.
    spec
        Names.
    by
        The column to sort siblings by, the largest first; None for natural order.
    """

    statuses: frozenset[Status] | None = None
    spec: FilterSpec = FilterSpec()  # noqa: RUF009  # frozen
    by: Column | None = None

    @property
    def filters(self) -> bool:
        return self.statuses is not None or not self.spec.is_empty


def texts_task(table: CompareTable) -> Task[list[str]]:
    """What the name filter looks into, by entry: the path as it is read on screen, in lower case."""
    texts = [""] * len(table)
    for entry in range(WHOLE + 1, len(table)):
        parent = table.parent[entry]
        above, label = texts[parent], table.label[entry].lower()
        joint = "" if not above or label.startswith("[") else "." if table.row[parent] == GROUP else "/"
        texts[entry] = f"{above}{joint}{label}"
        if entry % _SLICE == 0:
            yield Progress(entry, len(table), "rows")
    return texts


def shown_task(table: CompareTable, rollups: RollUps, wanted: Wanted, texts: Sequence[str]) -> Task[Shown]:
    """The entries that have one of the statuses and the name looked for, with all that they stand in.

    An entry without a verdict of its own matches by its name only where every status is wanted.
    """
    if not wanted.filters and wanted.by is None:
        whole = range(len(table))
        return Shown(whole, whole, table.parent, table.first_child, table.n_children)
    keep, matches = bytearray(b"\1" * len(table)), None
    if wanted.filters:
        keep, matches = yield from _kept_task(table, wanted, texts)
    entries, positions = array("q", [0]), array("q", [-1]) * len(table)
    positions[0] = 0
    parent, first_child, n_children = array("q", [-1]), array("q"), array("q")
    position = 0
    while position < len(entries):
        entry = entries[position]
        inside: Sequence[int] = table.children(entry)
        if wanted.filters:
            inside = [child for child in inside if keep[child]]
        if wanted.by is not None:
            inside = _sorted(inside, rollups, wanted.by)
        first_child.append(len(entries) if inside else 0)
        n_children.append(len(inside))
        for place, child in enumerate(inside, len(entries)):
            positions[child] = place
        entries.extend(inside)
        parent.extend([position] * len(inside))
        position += 1
        if position % _SLICE == 0:
            yield Progress(position, len(table), "rows")
    return Shown(entries, positions, parent, first_child, n_children, matches)


def _kept_task(table: CompareTable, wanted: Wanted, texts: Sequence[str]) -> Task[tuple[bytearray, int]]:
    rows, statuses, spec = table.comparison.rows, wanted.statuses, wanted.spec
    keep, matches = bytearray(len(table)), 0
    for entry in range(len(table) - 1, 0, -1):
        row = table.row[entry]
        if statuses is not None and not (row != GROUP and rows.counted[row] and rows.status[row] in statuses):
            matched = False
        else:
            matched = _named(spec, texts[entry]) and not (entry == WHOLE and statuses is None)
        matches += matched
        if matched or keep[entry]:
            keep[entry] = 1
            keep[table.parent[entry]] = 1
        if entry % _SLICE == 0:
            yield Progress(len(table) - entry, len(table), "rows")
    return keep, matches


def _named(spec: FilterSpec, text: str) -> bool:
    if spec.pattern is not None and spec.pattern.search(text) is None:
        return False
    return all(word in text for word in spec.words)


def _sorted(entries: Sequence[int], rollups: RollUps, by: Column) -> list[int]:
    """Siblings with the largest first; those of which nothing is known come last. Equal ones keep their order."""

    def size(entry: int) -> float:
        at = rollups.place(entry)
        if entry == WHOLE:
            return float("inf")  # stays on top
        if by == Column.VERDICT:
            return float(rollups.worst(entry))
        if by == Column.MAX_ABS:
            largest = rollups.max_abs[at]
            return UNKNOWN if largest is None else _as_float(largest)
        if by == Column.REL_NORM:
            return rollups.max_rel[at]
        return rollups.differ[at] / rollups.compared[at] if rollups.compared[at] else UNKNOWN

    return sorted(entries, key=size, reverse=True)


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def first_expanded(shown: Shown, at_most: int) -> list[int]:
    """Positions to open at the start: level by level, as long as no more than so many rows appear."""
    opened: list[int] = []
    level, visible = [0], 0
    while level:
        visible += sum(shown.n_children[position] for position in level)
        if visible > at_most:
            break
        opened += level
        level = [child for position in level for child in shown.children(position) if shown.n_children[child]]
    return opened[1:]


def tree_order(shown: Shown) -> Iterator[int]:
    """The entries from top to bottom, as if all were open."""
    stack = [0]
    while stack:
        position = stack.pop()
        yield shown.entries[position]
        stack.extend(reversed(shown.children(position)))
