"""The line above the tree: what was found, what is known so far, or how far it got. Escaped rich text, no Qt."""

from __future__ import annotations

import html

from viewer.compare.comparison import Comparison
from viewer.compare.overview import sentence
from viewer.compare.results import Status
from viewer.gui.compare.verdicts import DIFFERENCES
from viewer.gui.format import format_count


def told_text(comparison: Comparison | None, ended: str = "") -> str:
    """What is said of a comparison.

    Parameters
    ----------
    ended
        Why it ended before it was complete ("Cancelled"); "" while it runs or where it is complete.
    """
    if comparison is None:
        return html.escape(f"{ended}: nothing was compared")
    if comparison.overview is not None:
        before = f"{ended}; what is shown was compared before: " if ended else ""
        return _emphasised(before + comparison.overview.sentence)
    if not ended:
        # Not the whole sentence, which walks through all rows: this comes five times a second.
        totals = comparison.totals()
        differ = sum(totals[status] for status in DIFFERENCES)
        found = "one difference" if differ == 1 else f"{format_count(differ)} differences"
        return f"<b>So far {found}</b>; {format_count(totals[Status.UNREAD])} not compared yet"
    wanted = [row for row, is_value in enumerate(comparison.rows.is_value) if is_value]
    done = format_count(sum(row in comparison.results for row in wanted))
    return _emphasised(f"{ended}, {done} of {format_count(len(wanted))} tensors compared: {sentence(comparison)}")


def _emphasised(text: str) -> str:
    """A sentence, its first part in bold."""
    first, mark, rest = text.partition("; ")
    return f"<b>{html.escape(first[:1].upper() + first[1:])}</b>{mark}{html.escape(rest)}"
