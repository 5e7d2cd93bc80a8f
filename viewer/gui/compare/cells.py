"""The text of each cell of the aligned tree, made when a row is painted. Free of Qt."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.compare.comparison import NOTHING, Comparison
from viewer.gui.compare.shown import label_of
from viewer.gui.compare.verdicts import verdict_text
from viewer.gui.format import format_count, format_exact, format_number, format_percent, format_shape
from viewer.report.wording import value_text

_DIGITS: Final = 4
_VALUE_LENGTH: Final = 80


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
    Column.SHARE: "elements that differ",
}

FIGURES: Final = frozenset({Column.MAX_ABS, Column.REL_NORM, Column.SHARE})


def cell(comparison: Comparison, row: int, column: int) -> str:
    """The text of a cell; "" where there is nothing to say."""
    rows = comparison.rows
    if column == Column.NAME:
        name = label_of(rows.key[row])
        renamed = next((note.b for note in comparison.notes(row) if note.aspect == "name"), "")
        return f"{name} ⇄ {renamed}" if renamed else name
    if column == Column.LEFT:
        return side_text(comparison.a, rows.node_a[row])
    if column == Column.RIGHT:
        return side_text(comparison.b, rows.node_b[row])
    if column == Column.VERDICT:
        return verdict_text(comparison, row)
    measures = comparison.measures(row)
    if measures is None:
        return _distance_text(comparison, row) if column == Column.MAX_ABS else ""
    if column == Column.MAX_ABS:
        return format_number(measures.max_abs, _DIGITS)
    if column == Column.REL_NORM:
        return "" if measures.rel_norm is None else format_number(measures.rel_norm, _DIGITS)
    return format_percent(measures.differ, measures.count) if measures.count else ""


def exact_cell(comparison: Comparison, row: int, column: int) -> str:
    """What hovering a cell tells: the whole of what it may have rounded or cut short."""
    if column == Column.NAME:
        paths = [path for path in (comparison.path_a(row), comparison.path_b(row)) if path is not None]
        return paths[0] if len(set(paths)) == 1 else " ⇄ ".join(paths)
    if column in (Column.LEFT, Column.RIGHT, Column.VERDICT):
        text = cell(comparison, row, column)
        result = comparison.results.get(row)
        return f"{text}\n{result.problem}" if column == Column.VERDICT and result and result.problem else text
    measures = comparison.measures(row)
    if measures is None:
        return ""
    if column == Column.MAX_ABS:
        return format_exact(measures.max_abs)
    if column == Column.REL_NORM:
        return "" if measures.rel_norm is None else format_exact(measures.rel_norm)
    return f"{format_count(measures.differ)} of {format_count(measures.count)} elements are other numbers"


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
    return "" if found is None else format_number(found, _DIGITS)
