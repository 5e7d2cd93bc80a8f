"""What a comparison finds: plain picklable data that the window holds without numpy or torch.

Left is `a` and right is `b`, everywhere. Differences are b against a, and where a sign matters it is that of b - a.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Final, TypeAlias

from viewer.checkpoint.nodes import Key
from viewer.compare.options import WHOLE_FILES, CompareOptions, RenameRule, Tolerance
from viewer.tensors.results import Number

__all__ = [
    "GLYPHS",
    "SAME_NUMBERS",
    "STATUS_NAMES",
    "WHOLE_FILES",
    "CompareOptions",
    "Measures",
    "Note",
    "Overview",
    "PairResult",
    "Partial",
    "RenameOffer",
    "RenamePair",
    "RenameRule",
    "Rows",
    "Status",
    "Structure",
    "Tolerance",
    "ValueBatch",
]


class Status(IntEnum):
    """What became of one row. The order is from the least to the most that a person wants to see."""

    IDENTICAL = 0
    """The same bits."""
    EQUAL = 1
    """Other bits, the same numbers (0.0 and -0.0, or other patterns of NaN)."""
    CLOSE = 2
    """Other numbers, all within the tolerance that was asked for."""
    UNREAD = 3
    """Values that have not been compared, or cannot be."""
    CHANGED = 4
    DTYPE = 5
    """Another dtype. The values are compared all the same (see `PairResult`)."""
    SHAPE = 6
    KIND = 7
    """Another kind of thing: a tuple for a list, an int for a float, a tensor for a text."""
    ADDED = 8
    REMOVED = 9


STATUS_NAMES: tuple[str, ...] = tuple(status.name.lower() for status in Status)

GLYPHS: Final[dict[Status, str]] = {
    Status.IDENTICAL: "=",
    Status.EQUAL: "≈",
    Status.CLOSE: "≈",
    Status.UNREAD: "…",
    Status.CHANGED: "≠",
    Status.DTYPE: "⇄",
    Status.SHAPE: "⇄",
    Status.KIND: "⇄",
    Status.ADDED: "+",
    Status.REMOVED: "−",
}
"""The sign of each verdict, in text, pages and the window: colour is never the only one."""

SAME_NUMBERS = frozenset({Status.IDENTICAL, Status.EQUAL})


@dataclass(frozen=True, slots=True)
class Note:
    """A fact in which the two sides of a row differ, beside its status.

    Attributes
    ----------
    aspect
        "dtype", "shape", "kind", "value", "stride", "requires_grad", "parameter", "device", "sharing", "order",
        "name", "layout", "problem" …
    a, b
        Both sides in words.
    """

    aspect: str
    a: str
    b: str


@dataclass(slots=True)
class Rows:
    """The aligned tree as columns; index = row number. Rows are numbered breadth first like nodes: row 0 is the root,
    the children of a row are consecutive, and a parent's number is below its children's.

    Attributes
    ----------
    node_a, node_b
        Node numbers in the two checkpoints; -1 where that side has none.
    parent, first_child, n_children
        As in `NodeTable`.
    key
        The key under which the row stands below its parent row: a's, or b's where a has none. A row whose names
        differ stands where a has it, and has a Note "name".
    status
        A `Status` each.
    is_value
        1 for rows whose tensor values are compared after the structure.
    counted
        1 for rows that totals and roll-ups count: leaves, and containers that differ themselves.
    same_checksum
        1 for UNREAD rows whose records have the same length and checksum in both files.
    """

    node_a: array[int] = field(default_factory=lambda: array("q"))
    node_b: array[int] = field(default_factory=lambda: array("q"))
    parent: array[int] = field(default_factory=lambda: array("q"))
    first_child: array[int] = field(default_factory=lambda: array("q"))
    n_children: array[int] = field(default_factory=lambda: array("q"))
    key: list[Key] = field(default_factory=list)
    status: array[int] = field(default_factory=lambda: array("B"))
    is_value: array[int] = field(default_factory=lambda: array("B"))
    counted: array[int] = field(default_factory=lambda: array("B"))
    same_checksum: array[int] = field(default_factory=lambda: array("B"))

    def __len__(self) -> int:
        return len(self.node_a)

    def children(self, row: int) -> range:
        first = self.first_child[row]
        return range(first, first + self.n_children[row])


@dataclass(frozen=True, slots=True)
class RenameOffer:
    """A rule that would explain names that do not match; nobody has applied it.

    Attributes
    ----------
    matches
        How many rows of one side alone would find their partner.
    same_shape
        Of these, how many tensors have the same shape.
    example
        One pair of paths that would match.
    """

    rule: RenameRule
    matches: int
    same_shape: int
    example: tuple[str, str]


@dataclass(frozen=True, slots=True)
class RenamePair:
    """Two tensors that stand under other names and could be one.

    Attributes
    ----------
    row_a, row_b
        The row that only a has, and the row that only b has.
    reason
        "the same content", or "the only tensors of this shape".
    """

    row_a: int
    row_b: int
    reason: str


@dataclass(slots=True)
class Structure:
    """What the structures of two checkpoints tell; comes before any value is read.

    Attributes
    ----------
    path_a, path_b, container_a, container_b
        What is compared; `root_a` and `root_b` are the paths of the nodes within.
    notes
        By row, where there are any.
    offers
        Rename rules that would explain names without a partner.
    renamed
        Pairs of tensors under other names that look like one.
    warnings
        Sentences: collisions of rules, ids of optimizers that are positions …
    facts
        Differences between the files as such (container, byte order, names that pickles use).
    same_numbers
        Rows of another kind whose values are the same numbers all the same (1 for 1.0, a list for a tuple).
    value_nbytes
        Bytes of both sides that the value comparison will read.
    parameter_names
        Of rows that are an optimizer's entries: the parameter that each is of, where it is known.
    """

    path_a: Path
    path_b: Path
    container_a: str
    container_b: str
    options: CompareOptions
    rows: Rows
    notes: dict[int, tuple[Note, ...]] = field(default_factory=dict)
    offers: list[RenameOffer] = field(default_factory=list)
    renamed: list[RenamePair] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    facts: list[Note] = field(default_factory=list)
    same_numbers: set[int] = field(default_factory=set)
    value_nbytes: int = 0
    parameter_names: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measures:
    """How far two tensors of one shape are apart. What has no value is None; nothing here is nan.

    Sums and means are over the pairs of finite values (`compared`); pairs with a NaN or an infinity are counted
    apart. Integers are compared as integers: `max_abs` of two integer tensors is an exact int.

    Attributes
    ----------
    count
        Elements.
    compared
        Pairs of finite values.
    differ
        Pairs that are other numbers: NaN equals NaN, 0.0 equals -0.0, an infinity equals itself.
    differ_bits
        Elements with other bits; None for another dtype.
    max_abs, max_abs_index
        Largest |a - b| over all pairs without NaN (inf where an infinity met something else), and the flat index of
        the first pair that has it; index None where nothing differs.
    max_abs_finite, max_abs_finite_index
        The same over the pairs of finite values.
    mean_abs, rms
        Mean of |a - b|, root of the mean of (a - b)².
    max_rel, max_rel_to_a, max_rel_to_b
        Largest |a - b| over max(|a|, |b|), over |a| where that is not 0, over |b| where that is not 0.
    norm_a, norm_b, norm_diff
        Euclidean norms. Those of a and b are None for equal tensors, where nothing asks for them.
    rel_norm
        ‖a - b‖ / ‖a‖: 0.0 for equal tensors, None where only ‖a‖ is 0.
    cosine
        Of the angle between a and b: 1.0 for equal tensors, None where one norm is 0.
    max_ulp
        Largest distance in steps of the dtype; None for integers and for two dtypes.
    ulp_counts
        How many pairs are 0, 1, 2-3, 4-7, … steps apart; complex elements count as two. Empty where it was not asked.
    sign_flips
        Pairs of opposite sign, neither 0; None for complex.
    zero_signs
        Pairs of 0.0 and -0.0.
    both_nan, new_nan, lost_nan
        NaN in both, in b alone, in a alone.
    same_inf, new_inf, lost_inf, changed_inf
        The same infinity in both; an infinity in b alone (a is finite), in a alone; opposite ones.
    rounded_to_b, rounded_to_a
        For two dtypes: whether b is exactly a rounded to b's dtype, and whether a is b rounded to a's; None where
        the question makes no sense.
    within
        Whether every pair is within the tolerance; None where none was asked for.
    """

    count: int
    compared: int
    differ: int
    differ_bits: int | None
    max_abs: Number
    max_abs_index: int | None
    max_abs_finite: Number
    max_abs_finite_index: int | None
    mean_abs: float | None
    rms: float | None
    max_rel: float | None
    max_rel_to_a: float | None
    max_rel_to_b: float | None
    norm_a: float | None
    norm_b: float | None
    norm_diff: float | None
    rel_norm: float | None
    cosine: float | None
    max_ulp: int | None
    ulp_counts: tuple[int, ...]
    sign_flips: int | None
    zero_signs: int = 0
    both_nan: int = 0
    new_nan: int = 0
    lost_nan: int = 0
    same_inf: int = 0
    new_inf: int = 0
    lost_inf: int = 0
    changed_inf: int = 0
    rounded_to_b: bool | None = None
    rounded_to_a: bool | None = None
    within: bool | None = None

    @property
    def changed_share(self) -> float:
        """Elements that are other numbers, as a fraction of all."""
        return self.differ / self.count if self.count else 0.0


@dataclass(frozen=True, slots=True)
class PairResult:
    """The values of one row.

    Attributes
    ----------
    status
        The row's status from now on.
    bits, numbers
        The two verdicts: the same bytes of the resolved tensors; the same numbers. None where they are not known.
    measures
        None where the values were not compared element by element.
    problem
        Why not, where they should have been.
    """

    row: int
    status: Status
    bits: bool | None
    numbers: bool | None
    measures: Measures | None = None
    problem: str = ""


@dataclass(slots=True)
class ValueBatch:
    """Some more rows whose values have been compared; in the last one, tensors under two names with one content."""

    results: list[PairResult] = field(default_factory=list)
    renamed: list[RenamePair] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Overview:
    """A comparison in short.

    Attributes
    ----------
    sentence
        The verdict.
    totals
        Counted rows by `Status`, all of them in its order.
    same_bits, same_numbers
        Of everything compared; None while something is unread that could change it.
    close
        Whether all numbers are the same or within the tolerance.
    """

    sentence: str
    totals: tuple[int, ...]
    same_bits: bool | None
    same_numbers: bool | None
    close: bool | None


Partial: TypeAlias = Structure | ValueBatch
"""What `compare_task` gives on its way: the structure once, then batches."""
