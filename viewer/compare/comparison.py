"""A comparison as it grows: the structure, the results so far, and the counts that follow. Standard library only, for
the window, the command line and scripts alike."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.compare.results import (
    SAME_NUMBERS,
    STATUS_NAMES,
    Measures,
    Note,
    Overview,
    PairResult,
    Rows,
    Status,
    Structure,
    ValueBatch,
)

N_STATUS: Final = len(Status)
NOTHING: Final = -1


class Comparison:
    """Two checkpoints side by side.

    Attributes
    ----------
    a, b
        The checkpoints (without blobs in the window).
    structure
        Its rows' statuses are kept up to date here.
    results
        Of the rows whose values were compared, by row.
    settled
        (bits, numbers) of rows that needed no values.
    """

    def __init__(self, a: Checkpoint, b: Checkpoint, structure: Structure) -> None:
        self.a = a
        self.b = b
        self.structure = structure
        self.results: dict[int, PairResult] = {}
        self._roll_up = _roll_up(structure.rows)
        self.overview: Overview | None = None

    @property
    def rows(self) -> Rows:
        return self.structure.rows

    def add(self, batch: ValueBatch) -> None:
        """Take in results; the statuses of their rows and the roll-ups of the rows above change."""
        if batch.renamed:
            surer = {pair.row_a for pair in batch.renamed} | {pair.row_b for pair in batch.renamed}
            kept = [pair for pair in self.structure.renamed if not surer & {pair.row_a, pair.row_b}]
            self.structure.renamed = [*batch.renamed, *kept]
        for result in batch.results:
            self.results[result.row] = result
            self.set_status(result.row, result.status)

    def set_status(self, row: int, status: Status) -> None:
        rows = self.rows
        before = rows.status[row]
        rows.status[row] = status
        if before == status or not rows.counted[row]:
            return
        above = row
        while above >= 0:
            self._roll_up[before][above] -= 1
            self._roll_up[status][above] += 1
            above = rows.parent[above]

    def status(self, row: int) -> Status:
        return Status(self.rows.status[row])

    def counts_below(self, row: int) -> tuple[int, ...]:
        """Counted rows at and below a row, by `Status`, all of them in its order."""
        return tuple(column[row] for column in self._roll_up)

    def path_a(self, row: int) -> str | None:
        node = self.rows.node_a[row]
        return None if node == NOTHING else self.a.path_of(node)

    def path_b(self, row: int) -> str | None:
        node = self.rows.node_b[row]
        return None if node == NOTHING else self.b.path_of(node)

    def notes(self, row: int) -> tuple[Note, ...]:
        return self.structure.notes.get(row, ())

    def measures(self, row: int) -> Measures | None:
        result = self.results.get(row)
        return None if result is None else result.measures

    def verdicts(self, row: int) -> tuple[bool | None, bool | None]:
        """(bits, numbers); None where it is not known."""
        result = self.results.get(row)
        if result is not None:
            return result.bits, result.numbers
        status = self.status(row)
        if status == Status.UNREAD:
            return None, None
        if status == Status.KIND:
            return False, row in self.structure.same_numbers
        return status == Status.IDENTICAL, status in SAME_NUMBERS

    def is_unreadable(self, row: int) -> bool:
        """Whether a row is unread because its values, or those of its partner, cannot be read."""
        if self.status(row) != Status.UNREAD:
            return False
        return row in self.results or any(note.aspect == "problem" for note in self.notes(row))

    def counted_rows(self) -> Iterator[int]:
        """Rows that totals count, in tree order: those that a report lists."""
        rows = self.rows
        stack = [0]
        while stack:
            row = stack.pop()
            if rows.counted[row]:
                yield row
            stack.extend(reversed(rows.children(row)))

    def totals(self) -> tuple[int, ...]:
        return self.counts_below(0)

    def verdict(self) -> tuple[bool | None, bool | None, bool | None]:
        """(bits, numbers, close) of everything: False as soon as one row says so, None while a row is unread."""
        bits = numbers = close = True
        open_rows = False
        for row in self.counted_rows():
            row_bits, row_numbers = self.verdicts(row)
            if row_bits is None:
                open_rows = True
                continue
            measures = self.measures(row)
            bits = bits and row_bits
            numbers = numbers and bool(row_numbers)
            close = close and (bool(row_numbers) or (measures is not None and bool(measures.within)))
        return _known(bits, open_rows), _known(numbers, open_rows), _known(close, open_rows)


def _known(value: bool, open_rows: bool) -> bool | None:
    return None if value and open_rows else value


def _roll_up(rows: Rows) -> list[array[int]]:
    """For each status, how many counted rows at and below each row have it."""
    counts = [array("q", bytes(8 * len(rows))) for _ in range(N_STATUS)]
    parent = rows.parent
    inner: set[int] = set()
    # Leaves first: most rows are leaves of few parents, and add one to one column.
    for row, (status, counted) in enumerate(zip(rows.status, rows.counted, strict=True)):
        if counted:
            counts[status][row] = 1
    n_children = rows.n_children
    inner.update(row for row in range(len(rows)) if n_children[row])
    for row in range(len(rows) - 1, 0, -1):
        above = parent[row]
        if row in inner:
            for column in counts:
                column[above] += column[row]
        elif rows.counted[row]:
            counts[rows.status[row]][above] += 1
    return counts


def status_name(status: int) -> str:
    return STATUS_NAMES[status]
