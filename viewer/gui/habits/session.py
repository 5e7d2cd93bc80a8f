"""What is open, as texts that a settings file or a note for the next start can hold, and opening it again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from viewer.gui.recent import Pair

if TYPE_CHECKING:
    from viewer.gui.documents import DocumentTabs


def session_of(tabs: DocumentTabs) -> list[str]:
    """A text for each tab from left to right: the path of a file, or the sides of a comparison. The tab in front is
    marked with a star."""
    texts = []
    for index in range(tabs.count()):
        widget = tabs.widget(index)
        page = next((page for page in tabs.pages if page is widget), None)
        star = "*" if index == tabs.currentIndex() else " "
        if page is not None:
            texts.append(star + json.dumps(str(page.path)))
            continue
        comparison = next(each for each in tabs.comparisons if each is widget)
        left, right = ((str(side.path), side.part) for side in comparison.sides)
        texts.append(star + Pair(left, right).to_text())
    return texts


def reopen(tabs: DocumentTabs, texts: Iterable[str]) -> None:
    """Open it again, beside what is open. Texts that make no sense are passed over."""
    front = None
    for text in texts:
        try:
            found = json.loads(text[1:])
        except ValueError:
            continue
        before = tabs.count()
        if isinstance(found, str) and Path(found).is_absolute():
            tabs.open_paths([found])
        elif (pair := Pair.from_text(text[1:])) is not None:
            open_pair(tabs, pair)
        if text.startswith("*") and tabs.count() > before:
            front = tabs.currentWidget()
    if front is not None:
        tabs.setCurrentWidget(front)


def open_pair(tabs: DocumentTabs, pair: Pair) -> None:
    """Compare two sides once more."""
    from viewer.gui.compare.session import Side

    (left, left_part), (right, right_part) = pair.sides
    tabs.compare_sides(Side(Path(left), left_part), Side(Path(right), right_part))
