"""Conditions on the values of tensors, as they are typed into the filter box. No Qt.

`|x|>100` and the like compare what a scan found; `has:nan` and `is:constant` ask for what deserves a look.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from viewer.gui.scan_troubles import NO_TROUBLE, Trouble, troubles_of
from viewer.tensors.scan_results import ScanRow

_OPERATORS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "≤": operator.le,
    "≥": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "=": operator.eq,
}
_COMPARED: Final = re.compile(
    r"(?<!\S)(\|x\||max|min|mean|std|norm|nan|inf|zeros)\s*(<=|>=|==|[<>=≤≥])\s*"
    r"([-+−]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)(?!\S)",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(r"(?<!\S)(?:has|is):(\w+)(?!\S)", re.IGNORECASE)
NAMES: Final = {
    "nan": Trouble.NAN,
    "inf": Trouble.INF,
    "zero": Trouble.ZERO,
    "zeros": Trouble.ZERO,
    "dead": Trouble.CONSTANT_ROWS,
    "constant": Trouble.CONSTANT | Trouble.ZERO,
    "unreadable": Trouble.UNREADABLE,
}
HELP: Final = (
    "After a scan of all values: has:nan  has:inf  is:zero  is:constant  is:dead (constant rows)\n"
    "and |x|>100  max>3  min<-1  mean>0.1  std<1e-6  norm>10  nan>0  zeros>5"
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure of a tensor against a number.

    Attributes
    ----------
    figure
        "|x|" (the largest magnitude, infinite where an element is), "max", "min", "mean", "std", "norm", "nan", "inf"
        or "zeros" (how many elements are).
    """

    figure: str
    sign: str
    number: float

    def holds(self, row: ScanRow) -> bool:
        """True where the figure is known and compares so."""
        figure = _figure(row, self.figure)
        return figure is not None and _OPERATORS[self.sign](figure, self.number)


@dataclass(frozen=True, slots=True)
class ValueFilter:
    """What a tensor must be like.

    Attributes
    ----------
    comparisons
        All must hold.
    troubles
        Each must be there: one of the kinds in each.
    any_of
        One of these kinds must be there, unless there are none.
    """

    comparisons: tuple[Comparison, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    any_of: Trouble = NO_TROUBLE

    @property
    def is_empty(self) -> bool:
        return not self.comparisons and not self.troubles and not self.any_of

    def matches(self, row: ScanRow) -> bool:
        """True for a tensor that is so."""
        if self.troubles or self.any_of:
            found = troubles_of(row)
            if self.any_of and not found & self.any_of:
                return False
            if not all(found & kinds for kinds in self.troubles):
                return False
        return all(comparison.holds(row) for comparison in self.comparisons)


NO_CONDITION: Final = ValueFilter()


def take_conditions(text: str, any_of: Trouble = NO_TROUBLE) -> tuple[str, ValueFilter]:
    """The text without its conditions, and those. What is no condition stays a word to look for in names."""
    comparisons = tuple(
        Comparison(found[1].lower(), found[2], float(found[3].replace("−", "-")))
        for found in _COMPARED.finditer(text)
    )
    text = _COMPARED.sub(" ", text)
    named = [found for found in _NAMED.finditer(text) if found[1].lower() in NAMES]
    for found in reversed(named):
        text = text[: found.start()] + " " + text[found.end() :]
    troubles = tuple(NAMES[found[1].lower()] for found in named)
    return text, ValueFilter(comparisons, troubles, any_of)


def _figure(row: ScanRow, name: str) -> float | None:
    if row.problem is not None:
        return None
    if name == "|x|":
        return magnitude(row)
    if name == "nan":
        return row.nan
    if name == "inf":
        return row.posinf + row.neginf
    if name == "zeros":
        return row.zeros
    figures = {"max": row.max, "min": row.min, "mean": row.mean, "std": row.std, "norm": row.l2}
    return figures[name]


def magnitude(row: ScanRow) -> float | None:
    """The largest magnitude of a tensor; None where it has no number."""
    if row.posinf or row.neginf:
        return float("inf")
    if row.min is None or row.max is None:
        return None
    return max(abs(row.min), abs(row.max))
