"""Which rows a filter leaves: those that match, and what they stand in.

The text of a row is its path as it is read on screen, in lower case (`model/layer1.0.conv1.weight`), so everything
inside a matching group matches too. Free of Qt; a proxy model would ask for every row by itself, some hundred times
slower.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Final

from viewer.checkpoint.dtypes import DTYPE_CODE
from viewer.checkpoint.nodes import Kind
from viewer.errors import ViewerError
from viewer.gui.scan_troubles import NO_TROUBLE, Trouble
from viewer.gui.tree.display import DisplayTable
from viewer.gui.tree.value_filter import NO_CONDITION, ValueFilter, take_conditions
from viewer.task import Progress, Task

_SLICE: Final = 16_384
"""Rows between two yields; about 2 ms of substring search."""

_REPEATED_REPEAT: Final = re.compile(r"[+*}]\)+(?:[+*]|\{\d+,)")


class BadFilter(ViewerError):
    """A filter that cannot be understood."""


@dataclass(frozen=True, slots=True)
class FilterSpec:
    """What is looked for.

    Attributes
    ----------
    words
        All of them must be in a row's text; in lower case.
    pattern
        Must be found in a row's text; None without one.
    dtype
        Name of the dtype that a row must have; "" for any.
    values
        What a scan must have found of a row's tensor.
    """

    words: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    dtype: str = ""
    values: ValueFilter = NO_CONDITION

    @property
    def is_empty(self) -> bool:
        return not self.words and self.pattern is None and not self.dtype and self.values.is_empty


def parse_filter(text: str, dtype: str = "", troubles: Trouble = NO_TROUBLE) -> FilterSpec:
    """What a person typed: words and conditions on values, or a regular expression between slashes.

    Raises
    ------
    BadFilter
        When the regular expression cannot be compiled, or could take forever.
    """
    text = text.strip()
    if len(text) < 2 or not (text.startswith("/") and text.endswith("/")):
        text, values = take_conditions(text, troubles)
        return FilterSpec(tuple(text.lower().split()), dtype=dtype, values=values)
    inner = text[1:-1]
    # The search cannot be interrupted, and `(a+)+` takes exponential time on a text that almost matches.
    if _REPEATED_REPEAT.search(inner):
        raise BadFilter("a repeat of a repeat can take forever", advice="Write it with a single + or *")
    try:
        pattern = re.compile(inner, re.IGNORECASE | re.MULTILINE) if inner else None
        return FilterSpec(pattern=pattern, dtype=dtype, values=ValueFilter(any_of=troubles))
    except (re.error, OverflowError, RecursionError) as error:
        raise BadFilter(f"not a regular expression: {error}") from error


@dataclass(slots=True)
class Shape:
    """A tree of rows as the view sees it: everything, or what a filter left. Index = position.

    Attributes
    ----------
    rows
        The row of the display table at each position, ascending; position 0 is the invisible row 0.
    parent, first_child, n_children
        As in the display table, in positions.
    n_matches
        How many rows match by themselves; None where nothing is filtered.
    is_flat
        True for a list of rows in an order of its own: `rows` do not ascend, and names are whole paths.
    """

    rows: Sequence[int]
    parent: Sequence[int]
    first_child: Sequence[int]
    n_children: Sequence[int]
    n_matches: int | None = None
    is_flat: bool = False
    _positions: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def position_of(self, row: int) -> int | None:
        """Where a row of the display table stands; None where it is filtered away."""
        if isinstance(self.rows, range):
            return row
        if self.is_flat:
            if not self._positions:
                self._positions.update((other, position) for position, other in enumerate(self.rows))
            return self._positions.get(row)
        low, high = 0, len(self.rows)
        while low < high:
            middle = (low + high) // 2
            if self.rows[middle] < row:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self.rows) and self.rows[low] == row else None


def whole(table: DisplayTable) -> Shape:
    """All rows."""
    return Shape(range(len(table)), table.parent, table.first_child, table.n_children)


def texts_task(table: DisplayTable) -> Task[list[str]]:
    """The text of each row that a filter looks into: its path; in a state of an optimizer, also that with the name of
    the parameter in place of the state's number, on a line of its own."""
    texts: list[str] = [""]
    named: dict[int, str] = {}
    states = {} if table.marks is None else table.marks.names_of_states()
    for row in range(1, len(table)):
        parent = table.parent[row]
        above = texts[parent]
        if row in table.ranges:
            texts.append(above)
        else:
            label = table.label[row].lower()
            if above and not label.startswith("["):
                label = ("." if _is_inside_prefix(table, parent) else "/") + label
            texts.append(above + label)
            if name := states.get(table.node[row]):
                named[row] = f"{above}/{name.lower()}"
            elif parent in named:
                named[row] = named[parent] + label
        if row % _SLICE == 0:
            yield Progress(row, len(table), "rows")
    for row, path in named.items():
        texts[row] += "\n" + path
    return texts


def _is_inside_prefix(table: DisplayTable, parent: int) -> bool:
    while parent in table.ranges:
        parent = table.parent[parent]
    return table.is_prefix(parent)


def filter_task(table: DisplayTable, texts: Sequence[str], spec: FilterSpec) -> Task[Shape]:
    """The rows that match, with all rows above them."""
    if spec.is_empty:
        return whole(table)
    hits = yield from _matches(texts, spec)
    if spec.dtype:
        hits = yield from _of_dtype(table, hits, DTYPE_CODE[spec.dtype])
    if not spec.values.is_empty:
        hits = yield from _of_values(table, hits, spec.values)
    keep = bytearray(len(table))
    keep[0] = 1
    for seen, hit in enumerate(hits):
        row = hit
        while not keep[row]:
            keep[row] = 1
            row = table.parent[row]
        if seen % _SLICE == _SLICE - 1:
            yield Progress(seen, len(hits), "rows")
    return (yield from _shape_of(table, keep, len(hits)))


def _matches(texts: Sequence[str], spec: FilterSpec) -> Generator[Progress, None, Sequence[int]]:
    if not spec.words and spec.pattern is None:
        return range(1, len(texts))
    hits: list[int] = []
    for start in range(0, len(texts), _SLICE):
        numbered = enumerate(texts[start : start + _SLICE], start)
        if spec.pattern is not None:
            search = spec.pattern.search
            hits += [row for row, text in numbered if search(text)]
        else:
            first, *others = spec.words
            found = [row for row, text in numbered if first in text]
            for word in others:
                found = [row for row in found if word in texts[row]]
            hits += found
        yield Progress(start, len(texts), "rows")
    return hits[1:] if hits and hits[0] == 0 else hits


def _of_dtype(table: DisplayTable, rows: Sequence[int], code: int) -> Generator[Progress, None, list[int]]:
    nodes, dtypes = table.checkpoint.nodes, table.checkpoint.tensors.dtype
    kept: list[int] = []
    for seen, row in enumerate(rows):
        node = table.node[row]
        if node >= 0 and nodes.kind[node] == Kind.TENSOR:
            number = nodes.value[node]
            assert isinstance(number, int)
            if dtypes[number] == code:
                kept.append(row)
        if seen % _SLICE == _SLICE - 1:
            yield Progress(seen, len(rows), "rows")
    return kept


def _of_values(table: DisplayTable, rows: Sequence[int], values: ValueFilter) -> Generator[Progress, None, list[int]]:
    kept: list[int] = []
    for seen, row in enumerate(rows):
        number = table.tensor(row)
        found = None if number is None else table.scan.get(number)
        if found is not None and values.matches(found):
            kept.append(row)
        if seen % _SLICE == _SLICE - 1:
            yield Progress(seen, len(rows), "rows")
    return kept


def _shape_of(table: DisplayTable, keep: bytearray, n_matches: int) -> Generator[Progress, None, Shape]:
    rows = array("q", compress(range(len(table)), keep))
    position = {0: 0}
    parent, first, count = array("q", [-1]), array("q", [0]), array("q", [0])
    for place in range(1, len(rows)):
        row = rows[place]
        above = position[table.parent[row]]
        parent.append(above)
        first.append(0)
        count.append(0)
        if not count[above]:
            first[above] = place
        count[above] += 1
        if table.n_children[row]:
            position[row] = place
        if place % _SLICE == 0:
            yield Progress(place, len(rows), "rows")
    return Shape(rows, parent, first, count, n_matches)
