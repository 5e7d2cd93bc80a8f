"""A pair of rows in figures: both sides beside each other, and how far they are apart. Free of Qt."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.nodes import Kind
from viewer.compare.comparison import NOTHING, Comparison
from viewer.compare.pair_details import ElementDifference, PairDetails
from viewer.compare.results import GLYPHS, Measures, Status
from viewer.gui.compare.cells import side_texts
from viewer.gui.compare.rollups import UNKNOWN, RollUps
from viewer.gui.compare.verdicts import verdict_text, word_of
from viewer.gui.details.cell import Cell
from viewer.gui.details.facts import Fact
from viewer.gui.format import NO_VALUE, format_count, format_exact, format_number, format_percent

SIDES = ("", "left", "right")
LARGEST = ("index", "left", "right", "|a−b|", "ULP")
_LONGEST_TEXT: Final = 40


def side_rows(
    comparison: Comparison, row: int, measures: Measures | None, details: PairDetails | None = None
) -> list[tuple[Cell, ...]]:
    """What each side is, for a table of three columns."""
    path_a, path_b = comparison.path_a(row), comparison.path_b(row)
    lines = [
        *([_line("path", path_a, path_b)] if path_a != path_b else []),
        _line("is", *side_texts(comparison, row, _LONGEST_TEXT)),
    ]
    told = {"dtype", "shape", "value", "kind", "name"}
    lines += [
        _line(note.aspect.replace("_", " "), note.a, note.b)
        for note in comparison.notes(row)
        if note.aspect not in told
    ]
    if details is not None:
        for name in ("mean", "std", "min", "max"):
            values = [getattr(side, name) for side in (details.figures_a, details.figures_b)]
            lines.append((Cell(name, muted=True), *map(_number_cell, values)))
    if measures is not None:
        if measures.norm_a is not None and measures.norm_b is not None:
            norms = [Cell(format_number(norm), format_exact(norm)) for norm in (measures.norm_a, measures.norm_b)]
            lines.append((Cell("norm", muted=True), *norms))
        nan_a, nan_b = measures.both_nan + measures.lost_nan, measures.both_nan + measures.new_nan
        if nan_a or nan_b:
            lines.append(_line("NaN", format_count(nan_a), format_count(nan_b)))
    return lines


def difference_facts(comparison: Comparison, row: int, measures: Measures | None) -> list[Fact]:
    """How far the two are apart."""
    bits, numbers = comparison.verdicts(row)
    facts = [Fact("verdict", verdict_text(comparison, row), plain=True)]
    if not comparison.rows.n_children[row]:
        facts += [Fact("bits", _same(bits), plain=True), Fact("numbers", _same(numbers), plain=True)]
    result = comparison.results.get(row)
    if result is not None and result.problem:
        facts.append(Fact("problem", result.problem, plain=True))
    if measures is None:
        return facts + _scalar_facts(comparison, row)
    share = f"{format_count(measures.differ)} of {format_count(measures.count)}"
    facts.append(Fact("differ", f"{share} · {format_percent(measures.differ, measures.count)}"))
    facts += [
        Fact(label, NO_VALUE if value is None else format_number(value), format_exact(value))
        for label, value in (
            ("max |a−b|", measures.max_abs),
            ("mean |a−b|", measures.mean_abs),
            ("rms", measures.rms),
            ("max relative", measures.max_rel),
            ("‖a−b‖/‖a‖", measures.rel_norm),
            ("cosine", measures.cosine),
        )
    ]
    counted = (
        ("max ULP", measures.max_ulp, True),
        ("sign flips", measures.sign_flips, True),
        ("+0 against −0", measures.zero_signs, False),
        ("new NaN", measures.new_nan, False),
        ("lost NaN", measures.lost_nan, False),
        ("new infinities", measures.new_inf, False),
        ("lost infinities", measures.lost_inf, False),
    )
    facts += [
        Fact(label, format_count(count))
        for label, count, always in counted
        if count is not None and (count or always)
    ]
    return facts


def _scalar_facts(comparison: Comparison, row: int) -> list[Fact]:
    """How far two plain numbers are apart."""
    rows = comparison.rows
    if NOTHING in (rows.node_a[row], rows.node_b[row]):
        return []
    a, b = comparison.a.nodes.value[rows.node_a[row]], comparison.b.nodes.value[rows.node_b[row]]
    kinds = comparison.a.nodes.kind[rows.node_a[row]], comparison.b.nodes.kind[rows.node_b[row]]
    plain = all(kind == Kind.SCALAR for kind in kinds) and all(type(value) in (int, float) for value in (a, b))
    if not plain or not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return []
    try:
        difference, ratio = b - a, b / a if a else None
    except OverflowError:
        return []
    facts = [Fact("right − left", format_number(difference), format_exact(difference))]
    if ratio is not None:
        facts.append(Fact("right / left", format_number(ratio), format_exact(ratio)))
    return facts


def sum_facts(rollups: RollUps, entry: int) -> list[Fact]:
    """What is known of everything inside an entry."""
    counts = rollups.counts(entry)
    facts = [
        Fact(f"{GLYPHS[status]} {word_of(status, complete=rollups.is_complete)}", format_count(counts[status]))
        for status in reversed(Status)
        if counts[status]
    ]
    at = rollups.place(entry)
    largest = rollups.max_abs[at]
    if largest is not None:
        facts.append(Fact("largest |a−b|", format_number(largest), format_exact(largest)))
    if rollups.max_rel[at] != UNKNOWN:
        facts.append(Fact("largest ‖a−b‖/‖a‖", format_number(rollups.max_rel[at]), format_exact(rollups.max_rel[at])))
    if rollups.compared[at]:
        share = f"{format_count(rollups.differ[at])} of {format_count(rollups.compared[at])}"
        facts.append(
            Fact("elements that differ", f"{share} · {format_percent(rollups.differ[at], rollups.compared[at])}")
        )
    return facts


def largest_rows(elements: tuple[ElementDifference, ...]) -> list[tuple[Cell, ...]]:
    """The elements that differ most, as rows of a table."""
    return [
        (
            Cell(f"[{', '.join(map(str, element.position))}]"),
            Cell(format_number(element.a), format_exact(element.a), right=True),
            Cell(format_number(element.b), format_exact(element.b), right=True),
            Cell(NO_VALUE, right=True)
            if element.difference is None
            else Cell(format_number(element.difference), format_exact(element.difference), right=True),
            Cell(NO_VALUE if element.ulp is None else format_count(element.ulp), right=True),
        )
        for element in elements
    ]


def _number_cell(value: float | None) -> Cell:
    return Cell(NO_VALUE) if value is None else Cell(format_number(value), format_exact(value))


def _line(label: str, left: str | None, right: str | None) -> tuple[Cell, ...]:
    return (Cell(label, muted=True), Cell(left or NO_VALUE), Cell(right or NO_VALUE))


def _same(value: bool | None) -> str:
    return "not known" if value is None else "the same" if value else "different"
