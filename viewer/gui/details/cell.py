"""One cell of a small table. No Qt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes
    ----------
    exact
        What is hovered and copied; "" where `shown` is exact.
    plain
        True for words, which are not set in the face of numbers.
    right
        True for numbers that stand below each other.
    muted
        True for labels.
    """

    shown: str
    exact: str = ""
    plain: bool = False
    right: bool = False
    muted: bool = False

    @property
    def copied(self) -> str:
        return self.exact or self.shown
