"""The words, glyphs and colours of verdicts, and which rows a chip stands for. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.compare.comparison import Comparison
from viewer.compare.results import GLYPHS, SAME_NUMBERS, Measures, Note, Status
from viewer.gui.format import format_count

WORDS: Final = {
    Status.IDENTICAL: "identical",
    Status.EQUAL: "equal, other bits",
    Status.CLOSE: "close",
    Status.UNREAD: "not compared yet",
    Status.CHANGED: "changed",
    Status.DTYPE: "other dtype",
    Status.SHAPE: "other shape",
    Status.KIND: "other kind",
    Status.ADDED: "only right",
    Status.REMOVED: "only left",
}

TOKENS: Final = {
    Status.IDENTICAL: "identical",
    Status.EQUAL: "close",
    Status.CLOSE: "close",
    Status.UNREAD: "pending",
    Status.CHANGED: "changed",
    Status.DTYPE: "incompatible",
    Status.SHAPE: "incompatible",
    Status.KIND: "incompatible",
    Status.ADDED: "added",
    Status.REMOVED: "removed",
}
"""Names of colours in `viewer.gui.theme.Tokens`."""

DIFFERENCES: Final = frozenset(Status) - SAME_NUMBERS - {Status.UNREAD}
"""What the next difference may be: other numbers, another type, or one side alone."""

_TOLD: Final = 2
"""Verdicts that a row tells of what is inside it; the others are counted together."""
_SHOWN_BY_VERDICT: Final = frozenset({"dtype", "shape", "kind", "value", "problem"})


@dataclass(frozen=True, slots=True)
class Chip:
    """One way to narrow the tree.

    Attributes
    ----------
    statuses
        What it leaves; None for everything.
    """

    text: str
    tip: str
    statuses: frozenset[Status] | None


CHIPS: Final = (
    Chip("All", "Everything in either file", None),
    Chip("Differences", "Whatever is not the same numbers on both sides", DIFFERENCES),
    Chip("Changed", "The same type and shape, other values", frozenset({Status.CHANGED, Status.CLOSE})),
    Chip("Only left", "What the right file does not have", frozenset({Status.REMOVED})),
    Chip("Only right", "What the left file does not have", frozenset({Status.ADDED})),
    Chip(
        "dtype/shape",
        "Another dtype, shape or kind of thing",
        frozenset({Status.DTYPE, Status.SHAPE, Status.KIND}),
    ),
)


def chip_count(chip: Chip, totals: tuple[int, ...]) -> int:
    """How many counted rows a chip leaves."""
    return sum(
        total for status, total in enumerate(totals) if chip.statuses is None or Status(status) in chip.statuses
    )


def verdict_text(comparison: Comparison, row: int) -> str:
    """Glyph and words of a row itself: "≠ changed", "… not compared yet (same checksum)"."""
    status = comparison.status(row)
    return f"{GLYPHS[status]} {_own_words(comparison, row, status)}"


def word_of(status: Status, *, complete: bool) -> str:
    """The word of a verdict; what is unread when a comparison is complete cannot be read."""
    return "cannot be compared" if complete and status == Status.UNREAD else WORDS[status]


def summed_text(worst: Status, counts: tuple[int, ...], alone: str, *, complete: bool) -> str:
    """Glyph and words of what is inside: "≠ 12 changed · 1 only left".

    Parameters
    ----------
    alone
        What is said where only one row is counted; "" for the words of `worst`.
    complete
        Whether all values were compared that can be.
    """
    total = sum(counts)
    if total <= 1:
        return alone or f"{GLYPHS[worst]} {word_of(worst, complete=complete)}"
    if total > counts[worst]:
        words = _summed(counts, complete=complete)
    elif worst == Status.IDENTICAL:
        words = WORDS[worst]
    else:
        words = f"{format_count(counts[worst])} {word_of(worst, complete=complete)}"
    return f"{GLYPHS[worst]} {words}"


def _own_words(comparison: Comparison, row: int, status: Status) -> str:
    result = comparison.results.get(row)
    words = WORDS[status]
    if status == Status.UNREAD:
        if comparison.is_unreadable(row):
            words = "cannot be compared"
        elif comparison.rows.same_checksum[row]:
            words += " (same checksum)"
    elif status == Status.DTYPE and result is not None and result.measures is not None:
        measures = result.measures
        if not measures.differ:
            words += ", same numbers"
        elif measures.rounded_to_b or measures.rounded_to_a:
            words += ", rounded"
    elif status == Status.KIND and comparison.verdicts(row)[1]:
        words += ", same values"
    others = [
        note.aspect.replace("_", " ")
        for note in comparison.notes(row)
        if note.aspect not in _SHOWN_BY_VERDICT and not (note.aspect == "name" and _is_moved(note))
    ]
    return f"{words} · other {', '.join(others)}" if others else words


def rounding_words(measures: Measures | None) -> str:
    """What "rounded" means for a pair of two dtypes; "" where it is not said."""
    if measures is None or not measures.differ:
        return ""
    if measures.rounded_to_b:
        return "The right is exactly the left, rounded to its dtype"
    return "The left is exactly the right, rounded to its dtype" if measures.rounded_to_a else ""


def _is_moved(note: Note) -> bool:
    """Whether only what stands before the last part of a name is another."""
    return note.a.rpartition(".")[2] == note.b.rpartition(".")[2]


def _summed(counts: tuple[int, ...], *, complete: bool) -> str:
    """The differences among counts by status, those that a person wants to see most first."""
    found = [status for status in reversed(Status) if counts[status] and status not in SAME_NUMBERS]
    if not found:
        return f"{format_count(counts[Status.EQUAL])} {WORDS[Status.EQUAL]}"
    shown = _TOLD if len(found) <= _TOLD else 1
    told = [f"{format_count(counts[status])} {word_of(status, complete=complete)}" for status in found[:shown]]
    rest = sum(counts[status] for status in found[shown:])
    return " · ".join([*told, f"{format_count(rest)} more"] if rest else told)
