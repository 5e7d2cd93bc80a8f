"""A comparison as one HTML file that needs nothing beside it: no script of others, no font, no network.

Every text that comes from the files is escaped, and the page's own policy allows no script and no request.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Final

from viewer.compare.comparison import Comparison, status_name
from viewer.compare.results import GLYPHS, Status
from viewer.compare.task import difference_of_scalars
from viewer.report.diff_text import side_texts
from viewer.report.wording import printable, rounded_number, whole_number

_MAX_ROWS: Final = 20_000
"""Rows of the table; a browser is slow beyond, and JSON and CSV have all."""

_MAX_BARS: Final = 400

_HEAD: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --text: #1b1f24; --base: #fff; --line: #d9dde3; --dim: #59636e;
  --same: #6b7280; --close: #4d7c5f; --changed: #b45309; --added: #15803d; --removed: #b91c1c; --other: #7c3aed;
  --a: #2563eb; --b: #d9730d; }}
@media (prefers-color-scheme: dark) {{ :root {{ --text: #e7e8ea; --base: #1e1f22; --line: #3a3d42; --dim: #9aa3ad;
  --same: #9ca3af; --close: #86b79a; --changed: #f2a65a; --added: #4ade80; --removed: #f87171; --other: #b794f6;
  --a: #6ea8fe; --b: #f2a65a; }} }}
body {{ font: 14px/1.5 system-ui, sans-serif; color: var(--text); background: var(--base); margin: 24px; }}
h1 {{ font-size: 18px; font-weight: 600; }} h2 {{ font-size: 15px; margin-top: 32px; }}
.a {{ color: var(--a); }} .b {{ color: var(--b); }} .dim {{ color: var(--dim); }}
table {{ border-collapse: collapse; }} td, th {{ padding: 3px 10px; border-bottom: 1px solid var(--line);
  text-align: left; vertical-align: top; }} td.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
td.p {{ font-family: ui-monospace, monospace; overflow-wrap: anywhere; }} th {{ position: sticky; top: 0;
  background: var(--base); }}
.identical, .equal {{ color: var(--same); }} .close {{ color: var(--close); }} .changed {{ color: var(--changed); }}
.added {{ color: var(--added); }} .removed {{ color: var(--removed); }}
.dtype, .shape, .kind {{ color: var(--other); }} .unread {{ color: var(--dim); }}
input.same {{ margin: 0 6px 12px 0; }} input.same:not(:checked) ~ table tr.same {{ display: none; }}
svg text {{ font: 11px ui-monospace, monospace; fill: var(--text); }} svg rect {{ fill: var(--changed); }}
</style></head><body>
"""


def iter_diff_html(comparison: Comparison) -> Iterator[str]:
    """Pieces of the page."""
    structure, overview = comparison.structure, comparison.overview
    title = f"{structure.path_a.name} ⇄ {structure.path_b.name}"
    yield _HEAD.format(title=_text(title))
    yield f"<h1>{_text(title)}</h1>\n"
    for side, path, container, part in (
        ("a", structure.path_a, structure.container_a, structure.options.select_a),
        ("b", structure.path_b, structure.container_b, structure.options.select_b),
    ):
        within = f", {part}" if part else ""
        where = f'<span class="dim">{_text(container + within)}</span>'
        yield f'<div><b class="{side}">{side}</b> {_text(str(path))} {where}</div>\n'
    if overview is not None:
        yield f"<p><b>{_text(overview.sentence)}</b></p>\n"
    yield from _totals(comparison)
    for warning in structure.warnings:
        yield f"<p>⚠ {_text(warning)}</p>\n"
    yield from _chart(comparison)
    yield from _rows(comparison)
    yield "</body></html>\n"


def _totals(comparison: Comparison) -> Iterator[str]:
    yield "<table><tr><th>verdict</th><th>entries</th></tr>\n"
    for status, count in zip(Status, comparison.totals(), strict=True):
        if count:
            name = status_name(status)
            cells = f'<td class="{name}">{GLYPHS[status]} {name}</td><td class="n">{whole_number(count)}</td>'
            yield f"<tr>{cells}</tr>\n"
    yield "</table>\n"


def _chart(comparison: Comparison) -> Iterator[str]:
    """‖a - b‖ / ‖a‖ of each tensor, in the order of the model."""
    bars: list[tuple[str, float]] = []
    for row in comparison.counted_rows():
        measures = comparison.measures(row)
        if measures is not None and measures.rel_norm is not None:
            bars.append((comparison.path_a(row) or "", measures.rel_norm))
    if not any(value for _, value in bars):
        return
    shown = bars[:_MAX_BARS]
    largest = max(value for _, value in shown if value < float("inf")) or 1.0
    more = f", the first {_MAX_BARS} of {whole_number(len(bars))}" if len(bars) > _MAX_BARS else ""
    yield f"<h2>Change of each tensor: ‖a−b‖ / ‖a‖{more}</h2>\n"
    yield f'<svg width="900" height="{16 * len(shown) + 4}" role="img" aria-label="change per tensor">\n'
    for at, (path, value) in enumerate(shown):
        width = 400 * min(value / largest, 1.0)
        y = 16 * at
        yield (
            f'<text x="390" y="{y + 12}" text-anchor="end">{_text(path[-60:])}</text>'
            f'<rect x="400" y="{y + 3}" width="{width:.2f}" height="10"/>'
            f'<text x="{404 + width:.2f}" y="{y + 12}">{rounded_number(value, 3) if value else "frozen"}</text>\n'
        )
    yield "</svg>\n"


def _rows(comparison: Comparison) -> Iterator[str]:
    rows = list(comparison.counted_rows())
    yield "<h2>Entries</h2>\n"
    if len(rows) > _MAX_ROWS:
        rows.sort(key=comparison.status, reverse=True)
        yield f"<p>{whole_number(_MAX_ROWS)} of {whole_number(len(rows))} are listed, differences first.</p>\n"
    yield '<input type="checkbox" class="same" id="same"><label for="same">show what is the same</label>\n'
    yield (
        '<table><tr><th></th><th>path</th><th>verdict</th><th class="a">a</th><th class="b">b</th>'
        "<th>max |a−b|</th><th>rel. norm</th><th>cosine</th><th>differ</th></tr>\n"
    )
    for row in rows[:_MAX_ROWS]:
        yield _row(comparison, row)
    yield "</table>\n"


def _row(comparison: Comparison, row: int) -> str:
    status = comparison.status(row)
    name = status_name(status)
    measures = comparison.measures(row)
    path_a, path_b = comparison.path_a(row), comparison.path_b(row)
    path = path_b if path_a is None else path_a
    if path_a is not None and path_b is not None and path_a != path_b:
        path = f"{path_a} ⇄ {path_b}"
    notes = "; ".join(f"{note.aspect}: {note.a} → {note.b}" for note in comparison.notes(row))
    largest = difference_of_scalars(comparison, row) if measures is None else measures.max_abs
    numbers = ["" if largest is None else rounded_number(largest, 6)]
    if measures is None:
        numbers += ["", "", ""]
    else:
        numbers += [
            rounded_number(measures.rel_norm, 4),
            rounded_number(measures.cosine, 9),
            f"{whole_number(measures.differ)} / {whole_number(measures.count)}",
        ]
    sides = side_texts(comparison, row)
    same = ' class="same"' if status <= Status.EQUAL and not notes else ""
    cells = "".join(f'<td class="p">{_text(text)}</td>' for text in sides)
    cells += "".join(f'<td class="n">{_text(text)}</td>' for text in numbers)
    return (
        f'<tr{same}><td class="{name}">{GLYPHS[status]}</td><td class="p">{_text(path or "(root)")}</td>'
        f'<td class="{name}" title="{_text(notes)}">{name}</td>{cells}</tr>\n'
    )


def _text(text: str) -> str:
    return html.escape(printable(text))
