"""Two texts side by side as one: what went is struck out, what came is underlined, and both have their colours."""

from __future__ import annotations

import difflib
import html
import re
from typing import Final

from viewer.gui.theme import Theme

_WORD: Final = re.compile(r"\s+|\w+|[^\w\s]")
_MAX_WORDS: Final = 6_000
"""The time to compare grows with the square of their number."""
_MAX_SHOWN: Final = 100_000


def word_diff(a: str, b: str) -> list[tuple[str, str]]:
    """Pieces of both texts: ("=", …) in both, ("−", …) only on the left, ("+", …) only on the right.

    Longer texts are compared line by line.
    """
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
    colors = {"−": theme.color("left").name(), "+": theme.color("right").name()}
    parts = []
    for sign, text in word_diff(a[:_MAX_SHOWN], b[:_MAX_SHOWN]):
        shown = html.escape(text)
        if sign == "−":
            parts.append(f'<span style="color:{colors[sign]}">−<s>{shown}</s></span>')
        elif sign == "+":
            parts.append(f'<span style="color:{colors[sign]}">+<u>{shown}</u></span>')
        else:
            parts.append(shown)
    cut = "<p>… cut here</p>" if max(len(a), len(b)) > _MAX_SHOWN else ""
    return f'<pre style="white-space: pre-wrap">{"".join(parts)}</pre>{cut}'
