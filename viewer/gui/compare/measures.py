"""A pair of rows in figures: both sides beside each other, and how far they are apart. Free of Qt."""

from __future__ import annotations

from viewer.compare.comparison import Comparison
from viewer.compare.pair_details import ElementDifference
from viewer.compare.results import Measures
from viewer.gui.compare.cells import side_text
from viewer.gui.compare.verdicts import verdict_text
from viewer.gui.details.cell import Cell
from viewer.gui.details.facts import Fact
from viewer.gui.format import NO_VALUE, format_count, format_exact, format_number, format_percent

SIDES = ("", "left", "right")
LARGEST = ("index", "left", "right", "|a−b|", "ULP")


def side_rows(comparison: Comparison, row: int, measures: Measures | None) -> list[tuple[Cell, ...]]:
    """What each side is, for a table of three columns."""
    rows = comparison.rows
    node_a, node_b = rows.node_a[row], rows.node_b[row]
    lines = [
        _line("path", comparison.path_a(row), comparison.path_b(row)),
        _line("is", side_text(comparison.a, node_a), side_text(comparison.b, node_b)),
    ]
    told = {"dtype", "shape", "value", "kind", "name"}
    lines += [
        _line(note.aspect.replace("_", " "), note.a, note.b)
        for note in comparison.notes(row)
        if note.aspect not in told
    ]
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
        return facts
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


def _line(label: str, left: str | None, right: str | None) -> tuple[Cell, ...]:
    return (Cell(label, muted=True), Cell(left or NO_VALUE), Cell(right or NO_VALUE))


def _same(value: bool | None) -> str:
    return "not known" if value is None else "the same" if value else "different"
