"""The text of each cell of the aligned tree, made when a row is painted. Free of Qt."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.compare.comparison import NOTHING, Comparison
from viewer.compare.results import Status
from viewer.gui.compare.rollups import UNKNOWN, RollUps
from viewer.gui.compare.table import GROUP, CompareTable
from viewer.gui.compare.verdicts import rounding_words, summed_text, verdict_text
from viewer.gui.format import format_count, format_exact, format_number, format_percent, format_shape
from viewer.report.wording import text_values, value_text
from viewer.tensors.results import Number

_DIGITS: Final = 4
_VALUE_LENGTH: Final = 80
_CELL_LENGTH: Final = 28
_WIDEST: Final = 13
"""Characters of a figure: what does not fit is cut in its middle by the view."""
_FLOAT_BITS: Final = 1024


class Column(IntEnum):
    """The columns, in their order."""

    NAME = 0
    LEFT = 1
    RIGHT = 2
    VERDICT = 3
    MAX_ABS = 4
    REL_NORM = 5
    SHARE = 6


TITLES: Final = {
    Column.NAME: "Name",
    Column.LEFT: "Left",
    Column.RIGHT: "Right",
    Column.VERDICT: "Verdict",
    Column.MAX_ABS: "max |a−b|",
    Column.REL_NORM: "‖a−b‖/‖a‖",
    Column.SHARE: "changed",
}

FIGURES: Final = frozenset({Column.MAX_ABS, Column.REL_NORM, Column.SHARE})


def cell(table: CompareTable, rollups: RollUps, entry: int, column: int) -> str:
    """The text of a cell; "" where there is nothing to say."""
    comparison, row = table.comparison, table.row[entry]
    if column == Column.NAME:
        name = table.label[entry]
        renamed = next((note.b for note in comparison.notes(row) if note.aspect == "name"), "")
        return f"{name} ⇄ {renamed}" if renamed and not renamed.endswith(name) else name
    if column in (Column.LEFT, Column.RIGHT):
        if row == GROUP:
            return ""
        return side_texts(comparison, row, _CELL_LENGTH)[column - Column.LEFT]
    if column == Column.VERDICT:
        return entry_verdict(table, rollups, entry)
    if rollups.is_sum(entry):
        return _sum_text(rollups, entry, column)
    measures = comparison.measures(row)
    if measures is None:
        return _distance_text(comparison, row) if column == Column.MAX_ABS else ""
    if column == Column.MAX_ABS:
        return _figure(measures.max_abs)
    if column == Column.REL_NORM:
        return "" if measures.rel_norm is None else format_number(measures.rel_norm, _DIGITS)
    return format_percent(measures.differ, measures.count) if measures.count else ""


def entry_verdict(table: CompareTable, rollups: RollUps, entry: int) -> str:
    """Glyph and words: of a row its own, of what is closed those inside it."""
    row = table.row[entry]
    if rollups.is_sum(entry) or row == GROUP:
        alone = "" if row == GROUP else verdict_text(table.comparison, row)
        return summed_text(rollups.worst(entry), rollups.counts(entry), alone, complete=rollups.is_complete)
    return verdict_text(table.comparison, row)


def bar_share(rollups: RollUps, entry: int) -> float:
    """How long the bar is that shows an entry's change: 1 for the largest relative norm under the same outermost
    entry; below 0 for none."""
    largest, own = rollups.scale(entry), rollups.max_rel[rollups.place(entry)]
    if own == UNKNOWN:
        return UNKNOWN
    return min(own / largest, 1.0) if 0 < largest < math.inf else float(own == math.inf)


def _sum_text(rollups: RollUps, entry: int, column: int) -> str:
    at = rollups.place(entry)
    largest, relative = rollups.max_abs[at], rollups.max_rel[at]
    if column == Column.MAX_ABS:
        return "" if largest is None else format_number(largest, _DIGITS)
    if column == Column.REL_NORM:
        # The norm of everything inside together is at most the largest of its parts.
        return "" if relative == UNKNOWN else f"≤ {format_number(relative, _DIGITS)}" if relative else "0"
    return format_percent(rollups.differ[at], rollups.compared[at]) if rollups.compared[at] else ""


def exact_cell(table: CompareTable, rollups: RollUps, entry: int, column: int) -> str:
    """What hovering a cell tells: the whole of what it may have rounded or cut short."""
    comparison, row = table.comparison, table.row[entry]
    if column == Column.NAME and row != GROUP:
        paths = [path for path in (comparison.path_a(row), comparison.path_b(row)) if path is not None]
        return paths[0] if len(set(paths)) == 1 else " ⇄ ".join(paths)
    if column == Column.NAME:
        return table.name_of(entry)
    if column in (Column.LEFT, Column.RIGHT, Column.VERDICT):
        text = cell(table, rollups, entry, column)
        result = comparison.results.get(row)
        if column == Column.VERDICT and result is not None:
            text = "\n".join(filter(None, (text, rounding_words(result.measures), result.problem)))
        return text
    at = rollups.place(entry)
    if column == Column.SHARE:
        if not rollups.compared[at]:
            return ""
        return (
            f"{format_count(rollups.differ[at])} of {format_count(rollups.compared[at])} elements are other numbers"
        )
    if rollups.is_sum(entry):
        if column == Column.REL_NORM:
            return (
                ""
                if rollups.max_rel[at] == UNKNOWN
                else f"{rollups.max_rel[at]!r}, the largest of a floating-point tensor inside"
            )
        return (
            ""
            if rollups.max_abs[at] is None
            else f"{rollups.max_abs[at]!r}, the largest of a floating-point tensor inside"
        )
    measures = comparison.measures(row)
    if measures is None:
        return ""
    if column == Column.MAX_ABS:
        return format_exact(measures.max_abs)
    return "" if measures.rel_norm is None else format_exact(measures.rel_norm)


def side_texts(comparison: Comparison, row: int, length: int = _VALUE_LENGTH) -> tuple[str, str]:
    """What both sides hold; of two long texts the place where they part."""
    a, b, rows = comparison.a, comparison.b, comparison.rows
    node_a, node_b = rows.node_a[row], rows.node_b[row]
    if comparison.status(row) == Status.CHANGED and a.nodes.kind[node_a] == b.nodes.kind[node_b] == Kind.SCALAR:
        left, right = a.nodes.value[node_a], b.nodes.value[node_b]
        if isinstance(left, str) and isinstance(right, str):
            return text_values(left, right, length)
    return side_text(a, node_a), side_text(b, node_b)


def side_text(checkpoint: Checkpoint, node: int) -> str:
    """What one side holds: "f32 64×3×7×7", 0.001, "dict · 4"."""
    if node == NOTHING:
        return ""
    nodes = checkpoint.nodes
    kind, value = nodes.kind[node], nodes.value[node]
    if kind == Kind.TENSOR and isinstance(value, int):
        tensors = checkpoint.tensors
        return f"{DTYPES[tensors.dtype[value]].short} {format_shape(tensors.shape[value])}"
    if kind == Kind.TEXT and isinstance(value, str):
        return f"text, {format_count(value.count(chr(10)) + 1)} lines"
    if kind in (Kind.SCALAR, Kind.REFERENCE, Kind.PROBLEM):
        return value_text(value, _VALUE_LENGTH)
    name = nodes.type_name(node).rpartition(".")[2]
    return f"{name} · {format_count(nodes.n_children[node])}" if nodes.n_children[node] else name


def _distance_text(comparison: Comparison, row: int) -> str:
    """|a − b| of two plain numbers."""
    rows = comparison.rows
    if NOTHING in (rows.node_a[row], rows.node_b[row]):
        return ""
    sides = ((comparison.a, rows.node_a[row]), (comparison.b, rows.node_b[row]))
    if any(side.nodes.kind[node] != Kind.SCALAR for side, node in sides):
        return ""
    from viewer.compare.scalars import distance

    found = distance(*(side.nodes.value[node] for side, node in sides))
    return "" if found is None else _figure(found)


def _figure(value: Number) -> str:
    """A number that fits its column: of a long one the first digits, as of all others."""
    text = format_number(value, _DIGITS)
    if len(text) > _WIDEST and isinstance(value, int) and value.bit_length() < _FLOAT_BITS:
        return format_number(float(value), _DIGITS)
    return text
