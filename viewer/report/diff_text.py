"""A comparison as text: the verdict, what differs, and what could be tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.compare.comparison import NOTHING, Comparison, status_name
from viewer.compare.pair_details import ElementDifference
from viewer.compare.results import GLYPHS, SAME_NUMBERS, Status
from viewer.compare.task import difference_of_scalars
from viewer.report.wording import (
    display_width,
    padded,
    plural,
    printable,
    rounded_number,
    shape_text,
    shortened,
    text_values,
    value_text,
    whole_number,
)

_NAME_WIDTH: Final = 60
_TEXT_WIDTH: Final = 32
_MAX_PROBLEMS: Final = 3
_TEXTS: Final = frozenset({Kind.SCALAR, Kind.TEXT})
_HEAD: Final = ("", "path", "verdict", "a", "b", "max |a-b|", "rel norm", "differ")


def iter_diff_text(
    comparison: Comparison,
    top: Mapping[int, Sequence[ElementDifference]] | None = None,
    *,
    all_rows: bool = False,
) -> Iterator[str]:
    """Lines with their line feeds.

    Parameters
    ----------
    all_rows
        List rows that are the same, too.
    """
    structure, overview = comparison.structure, comparison.overview
    yield f"a  {printable(str(structure.path_a))}  {structure.container_a}{_part(structure.options.select_a)}\n"
    yield f"b  {printable(str(structure.path_b))}  {structure.container_b}{_part(structure.options.select_b)}\n"
    if overview is not None:
        yield f"\n{printable(overview.sentence)}\n"
    lines = [
        _line(comparison, row)
        for row in comparison.counted_rows()
        if all_rows or comparison.status(row) not in SAME_NUMBERS or comparison.notes(row)
    ]
    if lines:
        yield "\n"
        yield from _table(lines)
    for row, elements in (top or {}).items():
        yield from _top(comparison, row, elements)
    yield from _problems(comparison)
    yield from _advice(comparison)


def _part(path: str) -> str:
    return f", {printable(path)}" if path else ""


def _line(comparison: Comparison, row: int) -> tuple[str, ...]:
    status = comparison.status(row)
    rows = comparison.rows
    name = comparison.path_a(row)
    if name is None:
        name = comparison.path_b(row) or ""
    notes = {note.aspect: (note.a, note.b) for note in comparison.notes(row)}
    if "name" in notes:
        name += f" ⇄ {notes.pop('name')[1]}"
    verdict = status_name(status)
    measures = comparison.measures(row)
    if status == Status.DTYPE and measures is not None:
        verdict += ", same numbers" if not measures.differ else ""
        verdict += ", b is a rounded" if measures.differ and measures.rounded_to_b else ""
        verdict += ", a is b rounded" if measures.differ and measures.rounded_to_a else ""
    elif status == Status.KIND and comparison.verdicts(row)[1]:
        verdict += ", same values"
    elif comparison.is_unreadable(row):
        verdict = "cannot be read"
    elif status == Status.UNREAD and rows.same_checksum[row]:
        verdict += ", same checksum"
    others = [aspect for aspect in notes if aspect not in ("dtype", "shape", "kind", "value", "problem")]
    if others:
        verdict += f" ({', '.join(others)} differ" + ("s)" if len(others) == 1 else ")")
    largest: object = None
    relative, share = "", ""
    if measures is not None:
        largest = measures.max_abs
        relative = rounded_number(measures.rel_norm, 3)
        share = f"{whole_number(measures.differ)} of {whole_number(measures.count)}"
        if measures.new_nan or measures.lost_nan:
            verdict += f", {measures.new_nan:,} new NaN, {measures.lost_nan:,} lost"
    else:
        largest = difference_of_scalars(comparison, row)
    left, right = side_texts(comparison, row)
    return (
        GLYPHS[status],
        shortened(printable(name or "(root)"), _NAME_WIDTH),
        verdict,
        left,
        right,
        rounded_number(largest, 4) if largest is not None else "",
        relative,
        share,
    )


def side_texts(comparison: Comparison, row: int) -> tuple[str, str]:
    """What both sides hold, in a few words; of two long texts the place where they part."""
    a, b, rows = comparison.a, comparison.b, comparison.rows
    node_a, node_b = rows.node_a[row], rows.node_b[row]
    if comparison.status(row) == Status.CHANGED and {a.nodes.kind[node_a], b.nodes.kind[node_b]} <= _TEXTS:
        left, right = a.nodes.value[node_a], b.nodes.value[node_b]
        if isinstance(left, str) and isinstance(right, str):
            return text_values(left, right, _TEXT_WIDTH)
    return side_text(a, node_a), side_text(b, node_b)


def side_text(checkpoint: Checkpoint, node: int) -> str:
    """What one side holds, in a few words: "float32 64×3×7×7", 0.001, "dict, 4 entries"."""
    if node == NOTHING:
        return ""
    nodes = checkpoint.nodes
    kind, value = nodes.kind[node], nodes.value[node]
    if kind == Kind.TENSOR and isinstance(value, int):
        tensors = checkpoint.tensors
        return f"{DTYPES[tensors.dtype[value]].name} {shape_text(tensors.shape[value])}"
    if kind in (Kind.SCALAR, Kind.REFERENCE, Kind.TEXT, Kind.PROBLEM):
        return shortened(value_text(value), _TEXT_WIDTH)
    return f"{printable(nodes.type_name(node))}, {plural(nodes.n_children[node], 'entry')}"


def _table(lines: list[tuple[str, ...]]) -> Iterator[str]:
    used = [at for at in range(len(_HEAD)) if any(line[at] for line in lines)]
    widths = {at: max(display_width(_HEAD[at]), *(display_width(line[at]) for line in lines)) for at in used}
    for line in (_HEAD, *lines):
        cells = [
            " " * (widths[at] - display_width(line[at])) + line[at] if at >= 5 else padded(line[at], widths[at])
            for at in used
        ]
        yield "  ".join(cells).rstrip() + "\n"


def _top(comparison: Comparison, row: int, elements: Sequence[ElementDifference]) -> Iterator[str]:
    if not elements:
        return
    yield f"\n{printable(comparison.path_a(row) or '(root)')}: the elements that differ most\n"
    for element in elements:
        position = ", ".join(map(str, element.position))
        steps = "" if element.ulp is None else f"  {plural(element.ulp, 'step')}"
        difference = "" if element.difference is None else f"  |a-b| {element.difference!r}"
        yield f"  [{position}]  {element.a!r}  {element.b!r}{difference}{steps}\n"


def _problems(comparison: Comparison) -> Iterator[str]:
    """Why rows could not be read: the first reasons, each once."""
    told: dict[str, str] = {}
    for row in comparison.counted_rows():
        if not comparison.is_unreadable(row):
            continue
        result = comparison.results.get(row)
        reasons = [("", result.problem)] if result is not None and result.problem else []
        for note in comparison.notes(row):
            if note.aspect == "problem":
                reasons += [(f" ({side})", reason) for side, reason in (("a", note.a), ("b", note.b)) if reason]
        for side, reason in reasons:
            told.setdefault(reason, f"{comparison.path_a(row) or '(root)'}{side}")
    for reason, where in list(told.items())[:_MAX_PROBLEMS]:
        yield f"\n{printable(where)} cannot be read: {printable(reason)}\n"
    if len(told) > _MAX_PROBLEMS:
        yield f"\n{plural(len(told) - _MAX_PROBLEMS, 'more reason')}: --json has them all\n"


def _advice(comparison: Comparison) -> Iterator[str]:
    structure = comparison.structure
    for warning in structure.warnings:
        yield f"\nwarning: {printable(warning)}\n"
    for offer in structure.offers:
        left, right = map(printable, offer.example)
        yield (
            f"\n--map '{printable(str(offer.rule))}' would match {plural(offer.matches, 'more tensor')}, "
            f"{offer.same_shape:,} of the same shape ({left} with {right})\n"
        )
    for pair in structure.renamed[:10]:
        left, right = comparison.path_a(pair.row_a) or "", comparison.path_b(pair.row_b) or ""
        yield f"\n{printable(left)} could be {printable(right)}: {pair.reason}\n"
