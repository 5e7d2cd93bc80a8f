"""How to compare: which parts, under which names, and how close numbers have to be. Plain picklable data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RenameRule:
    """A pattern for paths. Applied to the names of both sides, or of one, before they are matched.

    Attributes
    ----------
    pattern
        A regular expression (Python's `re`); every match in a path is replaced.
    replacement
        As `re.sub` takes it.
    side
        "a", "b", or "" for both.
    """

    pattern: str
    replacement: str
    side: str = ""

    def __str__(self) -> str:
        return f"{self.side + ':' if self.side else ''}{self.pattern}=>{self.replacement}"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """|a - b| <= atol + rtol · max(|a|, |b|), the same whichever file comes first."""

    rtol: float
    atol: float


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """How to compare.

    Attributes
    ----------
    select_a, select_b
        Paths of the nodes to compare; "" for the whole file.
    rules
        Renames to apply, in order.
    tolerance
        None for none: then no row is CLOSE.
    preset
        Take the tolerance of each pair of dtypes (see `viewer.compare.tolerance`); `tolerance` is then not looked at.
    structure_only
        Leave values unread.
    count_steps
        Fill `Measures.ulp_counts`, which takes a fifth of the time; the details of a pair always have it.
    """

    select_a: str = ""
    select_b: str = ""
    rules: tuple[RenameRule, ...] = ()
    tolerance: Tolerance | None = None
    preset: bool = False
    structure_only: bool = False
    count_steps: bool = False


WHOLE_FILES: Final = CompareOptions()
"""Everything, by bits and by numbers, without renames or tolerance."""
