"""Two texts side by side as one: what went is struck out, what came is underlined, and both have their colours."""

from __future__ import annotations

import difflib
import html
import re
from typing import Final

from viewer.gui.format import format_count
from viewer.gui.theme import Theme
from viewer.report.wording import common_length

_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")
_MAX_WORDS: Final = 6_000
"""The time to compare grows with the square of their number."""
_MAX_SHOWN: Final = 100_000
_AROUND: Final = 400
"""Characters that are shown beside a difference."""
_LONGEST_SAME: Final = 1_500


def word_diff(a: str, b: str) -> list[tuple[str, str]]:
    """Pieces of both texts: ("=", …) in both, ("−", …) only on the left, ("+", …) only on the right.

    Longer texts are compared line by line.
    """
    head = _word_start(a, common_length(a, b))
    a, b, start = a[head:], b[head:], a[:head]
    tail = _word_start(a[::-1], common_length(a[::-1], b[::-1]))
    a, b, end = a[: len(a) - tail], b[: len(b) - tail], a[len(a) - tail :]
    pieces = [("=", start), *_word_diff(a, b), ("=", end)]
    return [(sign, text) for sign, text in pieces if text]


def _word_start(text: str, at: int) -> int:
    """The place before the word that `at` stands in, where it is a word."""
    while at and not text[at - 1].isspace():
        at -= 1
    return at


def _word_diff(a: str, b: str) -> list[tuple[str, str]]:
    left, right = _WORD.findall(a), _WORD.findall(b)
    if len(left) + len(right) > _MAX_WORDS:
        left, right = a.splitlines(keepends=True), b.splitlines(keepends=True)
    if len(left) + len(right) > _MAX_WORDS:
        return [("−", a), ("+", b)]
    pieces: list[tuple[str, str]] = []
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for what, start_a, end_a, start_b, end_b in matcher.get_opcodes():
        if what == "equal":
            pieces.append(("=", "".join(left[start_a:end_a])))
            continue
        if start_a < end_a:
            pieces.append(("−", "".join(left[start_a:end_a])))
        if start_b < end_b:
            pieces.append(("+", "".join(right[start_b:end_b])))
    return pieces


def diff_html(a: str, b: str, theme: Theme) -> str:
    """The difference as rich text. The texts come from the files, so all of them is escaped."""
    start = 0
    if max(len(a), len(b)) > _MAX_SHOWN:
        start = max(0, common_length(a, b) - _AROUND)
    end = start + _MAX_SHOWN
    pieces = word_diff(a[start:end], b[start:end])
    colors = {"−": theme.color("left").name(), "+": theme.color("right").name()}
    parts = [_left_out(start)] if start else []
    for number, (sign, text) in enumerate(pieces):
        if sign == "=":
            is_cut = number == len(pieces) - 1 and max(len(a), len(b)) > end
            parts.append(_same_html(text, before=bool(number), after=number < len(pieces) - 1 or is_cut))
            continue
        shown, tag = html.escape(text), "s" if sign == "−" else "u"
        parts.append(f'<span style="color:{colors[sign]}">{sign}<{tag}>{shown}</{tag}></span>')
    cut = "<p>… cut here</p>" if max(len(a), len(b)) > end else ""
    return f'<pre style="white-space: pre-wrap">{"".join(parts)}</pre>{cut}'


def _same_html(text: str, *, before: bool, after: bool) -> str:
    """A piece that both have; of a long one what stands near to a difference.

    Parameters
    ----------
    before, after
        Whether a difference stands before it and after it.
    """
    if len(text) <= _LONGEST_SAME or not (before or after):
        return html.escape(text)
    head, tail = text[:_AROUND] if before else "", text[-_AROUND:] if after else ""
    return html.escape(head) + _left_out(len(text) - len(head) - len(tail)) + html.escape(tail)


def _left_out(count: int) -> str:
    return f"<i>… {format_count(count)} characters that are the same …</i>"
