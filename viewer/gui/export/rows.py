"""What the engine found about exports and files, as rows of tables. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from viewer.export.explain_results import Explanation
from viewer.export.options import Cast, ExportPlan, Finding, FindingKind
from viewer.export.verify_results import VerifyReport
from viewer.gui.details.cell import Cell
from viewer.gui.details.facts import Fact, size_fact
from viewer.gui.details.jump_table import JumpRow
from viewer.gui.details.tips import cut_middle
from viewer.gui.format import (
    format_bytes,
    format_bytes_exact,
    format_count,
    format_exact,
    format_number,
    format_percent,
)

FINDING_WORDS: Final[dict[FindingKind, str]] = {
    "cannot": "Cannot be written",
    "needs-trust": "Loads with weights_only=False only",
    "dropped": "Left out",
    "changed": "Changed",
    "separated": "Separated",
    "note": "Notes",
}
CAST_HEADS: Final = ("tensor", "from", "to", "changed", "of", "largest error", "became infinite")
CAST_OPTIONAL: Final = (1, 2)
FINITE_HEADS: Final = ("tensor", "NaN", "infinite")
REASON_HEADS: Final = ("reason", "where", "bytes of left", "bytes of right", "first at")
_MOST: Final = 500
_LONGEST_PLACE: Final = 32


@dataclass(frozen=True, slots=True)
class Listing:
    """What was found of one kind.

    Attributes
    ----------
    sentences
        About the whole.
    rows, paths
        About places: a table, and for each row the path that it leads to. Rows' `node` counts these.
    """

    title: str
    rows: list[JumpRow]
    paths: list[str]
    sentences: list[str] = field(default_factory=list)


def plan_words(plan: ExportPlan) -> tuple[str, str]:
    """What would be written, in two lines."""
    flavour = ".safetensors" if plan.options.flavour == "safetensors" else "torch zip (.pth)"
    if plan.obstacles:
        n = len(plan.obstacles)
        return f"{flavour}: cannot be written", f"{_plural(n, 'thing')} in the way, listed below"
    size = f"{format_bytes(plan.nbytes)} ({format_bytes_exact(plan.nbytes)})"
    loads = ""
    if plan.options.flavour == "pth":
        loads = f" · loads with weights_only={plan.weights_only}"
    records = _plural(plan.records, "record")
    return f"{flavour}, {size}", f"{_plural(plan.tensors, 'tensor')} in {records}{loads}"


def finding_listings(findings: Sequence[Finding]) -> list[Listing]:
    """One table for each kind of finding, the gravest first."""
    made = []
    for kind, title in FINDING_WORDS.items():
        of_kind = [finding for finding in findings if finding.kind == kind]
        if of_kind:
            found = [(finding.path, finding.text) for finding in of_kind]
            made.append(listing(f"{title} ({format_count(len(of_kind))})", found))
    return made


def listing(title: str, found: Sequence[tuple[str, str]]) -> Listing:
    """Places and what is there; what is beyond some hundreds is counted."""
    sentences = [f"{text[:1].upper()}{text[1:]}." for path, text in found if not path]
    found = [(path, text) for path, text in found if path]
    rows: list[JumpRow] = []
    paths: list[str] = []
    for path, text in found[:_MOST]:
        rows.append(JumpRow((Cell(path, path), Cell(text, text, plain=True)), len(paths)))
        paths.append(path)
    if len(found) > _MOST:
        rows.append(JumpRow((Cell(f"… {format_count(len(found) - _MOST)} more", muted=True), Cell(""))))
    return Listing(title, rows, paths, sentences[:_MOST])


def cast_words(casts: Sequence[Cast]) -> str:
    """What the casts did, in a sentence; "" where there were none."""
    if not casts:
        return ""
    numel = sum(cast.numel for cast in casts)
    changed = sum(cast.changed for cast in casts)
    if not changed:
        return f"The cast of {_plural(len(casts), 'tensor')} changed no value."
    infinite = sum(cast.became_infinite for cast in casts)
    largest = max(cast.largest_error for cast in casts)
    words = (
        f"The cast changed {format_count(changed)} of {format_count(numel)} values "
        f"({format_percent(changed, numel)}); the largest error is {format_number(largest)}"
    )
    return words + (f", and {format_count(infinite)} finite values became infinite." if infinite else ".")


def cast_listing(casts: Sequence[Cast]) -> Listing:
    """Each cast tensor, those with the largest errors first."""
    ordered = sorted(casts, key=lambda cast: (-cast.became_infinite, -cast.largest_error, cast.path))
    rows: list[JumpRow] = []
    paths: list[str] = []
    for cast in ordered[:_MOST]:
        cells = (
            Cell(cast.path, cast.path),
            Cell(cast.source),
            Cell(cast.target),
            Cell(format_count(cast.changed), right=True),
            Cell(format_count(cast.numel), right=True),
            Cell(format_number(cast.largest_error), format_exact(cast.largest_error), right=True),
            Cell(format_count(cast.became_infinite), right=True),
        )
        rows.append(JumpRow(cells, len(paths) if cast.path else None))
        paths.append(cast.path)
    return Listing("Each tensor", rows, paths)


def verify_facts(report: VerifyReport) -> list[Fact]:
    """A checked file, without what was found."""
    facts = [Fact("container", report.container, plain=True), size_fact("size", report.nbytes)]
    if report.records:
        right = f"{format_count(report.checksums)} of {format_count(report.records)} records"
        facts.append(Fact("checksums that are right", right))
    else:
        facts.append(Fact("checksums", "this container keeps none", plain=True))
    facts.append(Fact("tensors read", format_count(report.tensors)))
    facts.append(Fact("of them share a storage", format_count(report.shared)))
    facts.append(Fact("with NaN or infinite values", format_count(len(report.nonfinite))))
    return facts


def verify_verdict(report: VerifyReport) -> tuple[str, str, str]:
    """Kind of the verdict ("ok" or "error"), the verdict, and what it rests on."""
    if report.faults:
        return "error", f"{_plural(len(report.faults), 'fault')} found", "Each is listed below with its place."
    if report.records and report.checksums == report.records:
        return "ok", "Sound", "Every byte was read, and every checksum is right."
    return "ok", "No fault found", "Every byte was read, but not every record has a checksum that would tell."


def canonical_words(report: VerifyReport) -> str:
    """Whether a file is canonical."""
    if report.canonical:
        return "Yes: its bytes are those of the canonical form of its content."
    return "No. An export makes it so; the content stays the same."


def verify_listings(report: VerifyReport) -> list[Listing]:
    """What was found, a table for each kind."""
    made = []
    if report.faults:
        found = [(fault.path, fault.text) for fault in report.faults]
        made.append(listing(f"Faults ({format_count(len(found))})", found))
    if report.nonfinite:
        rows: list[JumpRow] = []
        paths: list[str] = []
        for found_in in report.nonfinite[:_MOST]:
            cells = (
                Cell(found_in.path, found_in.path),
                Cell(format_count(found_in.nan), right=True),
                Cell(format_count(found_in.inf), right=True),
            )
            rows.append(JumpRow(cells, len(paths)))
            paths.append(found_in.path)
        more = f", the first {format_count(_MOST)}" if len(report.nonfinite) > _MOST else ""
        made.append(Listing(f"Not finite ({format_count(len(report.nonfinite))}{more})", rows, paths))
    if report.notes:
        made.append(listing("Notes", [("", note) for note in report.notes]))
    return made


def reason_rows(found: Explanation) -> list[JumpRow]:
    """Each reason with its bytes; last what is equal, and what is unexplained."""
    rows = []
    for reason in found.reasons:
        places = f" and {format_count(reason.places - 1)} more" if reason.places > 1 else ""
        content = " · content" if reason.in_content else ""
        rows.append(
            JumpRow(
                (
                    Cell(reason.text + content, reason.text, plain=True),
                    Cell(cut_middle(reason.where, _LONGEST_PLACE) + places, reason.where),
                    Cell(format_count(reason.a_nbytes), right=True),
                    Cell(format_count(reason.b_nbytes), right=True),
                    Cell(_offsets(reason.a_at, reason.b_at), right=True),
                )
            )
        )
    moved = f"{format_bytes(found.moved_nbytes)} at another offset" if found.moved_nbytes else ""
    rows.append(_sum_row("equal", found.a_same, found.b_same, moved))
    rows.append(_sum_row("unexplained", found.a_unexplained, found.b_unexplained, ""))
    return rows


def _sum_row(text: str, a_nbytes: int, b_nbytes: int, where: str) -> JumpRow:
    return JumpRow(
        (
            Cell(text, plain=True, muted=True),
            Cell(where, plain=True, muted=True),
            Cell(format_count(a_nbytes), right=True),
            Cell(format_count(b_nbytes), right=True),
            Cell("", right=True),
        )
    )


def _offsets(a_at: int, b_at: int) -> str:
    """Where the first byte is on either side: one number where it is the same."""
    if a_at == b_at:
        return format_count(a_at) if a_at >= 0 else ""
    return " / ".join(format_count(at) if at >= 0 else "–" for at in (a_at, b_at))


def _plural(count: int, noun: str) -> str:
    return f"{format_count(count)} {noun}" if count == 1 else f"{format_count(count)} {noun}s"
