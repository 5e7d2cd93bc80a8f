"""Which rows of an optimizer's table show, and in what order. Free of Qt; tasks, for there may be 100,000."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from heapq import merge
from typing import Final, TypeAlias

from viewer.checkpoint.meaning.results import MISFITS
from viewer.gui.meaning.entry_cells import EntryColumn, sort_key
from viewer.gui.meaning.entry_rows import EntryRows
from viewer.task import Progress, Task

_STEP: Final = 1_000
_Keyed: TypeAlias = tuple[tuple[int, float, str], int]
"""A row after what it sorts by."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A chip that narrows the table.

    Attributes
    ----------
    wanted
        Whether a row shows.
    """

    id: str
    text: str
    tip: str
    wanted: Callable[[EntryRows, int], bool]


def _all(_rows: EntryRows, _row: int) -> bool:
    return True


def _misfit(rows: EntryRows, row: int) -> bool:
    return rows.fits(row) == MISFITS


def _unsure(rows: EntryRows, row: int) -> bool:
    return not rows.sure[row]


def _stranger(rows: EntryRows, row: int) -> bool:
    return bool(rows.stranger[row])


def _unstated(rows: EntryRows, row: int) -> bool:
    return not rows.is_entry(row)


def _groupless(rows: EntryRows, row: int) -> bool:
    return rows.is_entry(row) and rows.group(row) < 0


CHOICES: Final = (
    Choice("all", "All", "Every entry, and the model's parameters without one", _all),
    Choice("misfits", "✕ Do not fit", "Entries whose moments have another shape than their parameter", _misfit),
    Choice("unsure", "? Not certain", "Entries of which it is not certain whose they are", _unsure),
    Choice("strangers", "✕ Not in the model", "State for parameters that the model does not have", _stranger),
    Choice(
        "unstated", "○ Without state", "Parameters of the model that no entry is for: frozen, or left out", _unstated
    ),
    Choice("groupless", "In no group", "State that belongs to no group", _groupless),
)


def counts_task(rows: EntryRows) -> Task[list[int]]:
    """How many rows each choice leaves."""
    counts = [0] * len(CHOICES)
    for row in range(len(rows)):
        for nth, choice in enumerate(CHOICES):
            counts[nth] += choice.wanted(rows, row)
        if row % _STEP == 0:
            yield Progress(row, len(rows), "rows")
    return counts


def order_task(
    rows: EntryRows, choice: Choice, words: str, column: EntryColumn | None, *, descending: bool = False
) -> Task[array[int]]:
    """The rows that show, in their order.

    Parameters
    ----------
    words
        All must be in the name, the candidates or the id of a row, in any case.
    column
        To sort by; None for the order of the file.
    """
    wanted = words.casefold().split()
    shown = array("q")
    candidates = rows.optimizer.entries.candidates
    for row in range(len(rows)):
        if choice.wanted(rows, row):
            if wanted:
                text = f"{rows.id_text(row)} {rows.names[row]}"
                if not rows.sure[row]:
                    text += " " + " ".join(candidates[row])
                text = text.casefold()
            if not wanted or all(word in text for word in wanted):
                shown.append(row)
        if row % _STEP == 0:
            yield Progress(row, len(rows), "rows")
    if column is None:
        return shown
    keyed = yield from _sorted_task(rows, shown, column)
    if descending:
        keyed.reverse()
        # What has no value stays last: the first of its key, the rank, is above 0.
        for rank in range(1, 1 + max((key[0] for key, _ in keyed), default=0)):
            keyed = [pair for pair in keyed if pair[0][0] != rank] + [pair for pair in keyed if pair[0][0] == rank]
            yield Progress(rank, 0, "ranks")
    return array("q", [row for _, row in keyed])


def _sorted_task(rows: EntryRows, shown: array[int], column: EntryColumn) -> Task[list[_Keyed]]:
    """Sort runs and merge them: sorting 100,000 rows at once would hold the window for a tenth of a second."""
    runs: list[list[_Keyed]] = []
    for start in range(0, len(shown), _STEP):
        part = shown[start : start + _STEP]
        runs.append(sorted((sort_key(rows, row, column), row) for row in part))
        yield Progress(start, len(shown), "rows")
    order: list[_Keyed] = []
    for keyed in merge(*runs):
        order.append(keyed)
        if len(order) % _STEP == 0:
            yield Progress(len(order), len(shown), "rows")
    return order
