"""What a closed row tells of the rows inside: counts by verdict, the largest difference, the share that changed."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.compare.comparison import N_STATUS, NOTHING, Comparison
from viewer.compare.results import Status
from viewer.gui.compare.table import GROUP, WHOLE, CompareTable
from viewer.task import Progress, Task
from viewer.tensors.results import Number

UNKNOWN: Final = -1.0
_SLICE: Final = 2048


def is_floating(comparison: Comparison, row: int) -> bool:
    """Whether a row is a tensor of floating-point or complex numbers on one of the sides."""
    rows = comparison.rows
    for side, node in ((comparison.a, rows.node_a[row]), (comparison.b, rows.node_b[row])):
        if node != NOTHING and side.nodes.kind[node] == Kind.TENSOR:
            number = side.nodes.value[node]
            assert isinstance(number, int)
            if DTYPES[side.tensors.dtype[number]].kind in ("float", "complex", "quantized"):
                return True
    return False


class RollUps:
    """Sums over the entries at and below each entry, kept up to date as results come.

    Attributes
    ----------
    max_abs
        The largest |a−b| of the floating-point tensors inside; None before the first. Counters and states of random
        generators are integers, and their differences would hide all others.
    max_rel
        The largest ‖a−b‖/‖a‖ of them, which the norm of all of them together cannot exceed; UNKNOWN before the first.
    differ, compared
        Elements that are other numbers, of so many that were compared.
    """

    def __init__(self, table: CompareTable) -> None:
        self._table = table
        size = len(table)
        self._counts = [array("q", bytes(8 * size)) for _ in range(N_STATUS)]
        self._seen = array("b", [-1]) * len(table.comparison.rows)
        self._measured = bytearray(len(table.comparison.rows))
        self.max_abs: list[Number | None] = [None] * size
        self.max_rel = array("d", [UNKNOWN]) * size
        self.differ = array("q", bytes(8 * size))
        self.compared = array("q", bytes(8 * size))

    def fill_task(self) -> Task[RollUps]:
        """Take in everything that the comparison knows."""
        total = len(self._seen)
        for start in range(0, total, _SLICE):
            self.take(range(start, min(start + _SLICE, total)))
            yield Progress(start, total, "rows")
        return self

    def take(self, rows: Iterable[int]) -> None:
        """Results of these rows came, or statuses of theirs changed."""
        table, comparison = self._table, self._table.comparison
        counted, statuses, parent = comparison.rows.counted, comparison.rows.status, table.parent
        for row in rows:
            entry = table.entry_of_row[row]
            before, now = self._seen[row], statuses[row]
            if counted[row] and before != now:
                self._seen[row] = now
                above = entry
                while above >= 0:
                    if before >= 0:
                        self._counts[before][above] -= 1
                    self._counts[now][above] += 1
                    above = parent[above]
            measures = comparison.measures(row)
            if measures is None or self._measured[row]:
                continue
            self._measured[row] = 1
            relative = UNKNOWN if measures.rel_norm is None else measures.rel_norm
            is_float = is_floating(comparison, row)
            above = entry
            while above >= 0:
                largest = self.max_abs[above]
                if is_float and (largest is None or measures.max_abs > largest):
                    self.max_abs[above] = measures.max_abs
                if is_float and relative > self.max_rel[above]:
                    self.max_rel[above] = relative
                self.differ[above] += measures.differ
                self.compared[above] += measures.count
                above = parent[above]

    @property
    def is_complete(self) -> bool:
        """Whether all values were compared that can be."""
        return self._table.comparison.overview is not None

    def counts(self, entry: int) -> tuple[int, ...]:
        """Counted rows at and below an entry, by `Status`."""
        at = self.place(entry)
        return tuple(column[at] for column in self._counts)

    def is_sum(self, entry: int) -> bool:
        """Whether an entry stands for what is inside it."""
        return bool(self._table.n_children[entry]) or (
            entry == WHOLE and self._table.comparison.rows.n_children[0] > 0
        )

    def worst(self, entry: int) -> Status:
        """The last status, in the order of `Status`, of the rows at and below an entry."""
        at = self.place(entry)
        for status in reversed(Status):
            if self._counts[status][at]:
                return status
        row = self._table.row[entry]
        return Status.IDENTICAL if row == GROUP else self._table.comparison.status(row)

    def scale(self, entry: int) -> float:
        """The largest relative norm of what an entry is compared with: everything in the same part of the file (a
        model's change is small against that of its optimizer's moments), or everything there is."""
        table = self._table
        while table.parent[entry] > 0:
            entry = table.parent[entry]
        is_part = table.row[entry] != GROUP and table.n_children[entry] > 0
        return self.max_rel[entry if is_part else 0]

    def place(self, entry: int) -> int:
        """Where an entry's sums stand: those of everything are the invisible root's."""
        return 0 if entry == WHOLE else entry
