"""What is noticed while a content is read: gathered in order, bounded in number."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.nodes import Key
from viewer.checkpoint.paths import format_path
from viewer.export.options import Finding, FindingKind

_MOST: Final = 10_000


class Findings:
    """Collects findings under the path that is being read.

    Attributes
    ----------
    keys
        From the root to where the reading is.
    """

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.found: list[Finding] = []
        self._left_out = 0
        self._said: set[tuple[str, str]] = set()

    @property
    def path(self) -> str:
        return format_path(self.keys)

    def add(self, kind: FindingKind, text: str, *, once: bool = False) -> None:
        """Note something here. With `once`, the same text is noted the first time only."""
        if once:
            if (kind, text) in self._said:
                return
            self._said.add((kind, text))
        if len(self.found) >= _MOST:
            self._left_out += 1
        else:
            self.found.append(Finding(kind, self.path, text))

    def add_whole(self, kind: FindingKind, text: str) -> None:
        """Note something about the whole."""
        self.found.append(Finding(kind, "", text))

    def all(self) -> list[Finding]:
        if self._left_out:
            return [*self.found, Finding("note", "", f"{self._left_out:,} further findings are not listed")]
        return self.found
