"""The check of a file, and the comparison of two files' bytes, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from viewer.export.explain_results import Explanation
from viewer.export.verify_results import VerifyReport
from viewer.report.wording import plural, printable, shortened, size_text, whole_number

_MOST: Final = 50


def verify_lines(report: VerifyReport) -> Iterator[str]:
    """A report on a file."""
    yield printable(str(report.path))
    yield f"  {'container':<20}{report.container}, {size_text(report.nbytes)}"
    if report.records:
        yield f"  {'checksums':<20}{whole_number(report.checksums)} of {plural(report.records, 'record')} right"
    shared = f", {whole_number(report.shared)} of them share a storage" if report.shared else ""
    yield f"  {'tensors':<20}{whole_number(report.tensors)} read{shared}"
    for fault in report.faults[:_MOST]:
        place = f"{printable(fault.path)}: " if fault.path else ""
        yield f"  {'FAULT':<20}{place}{printable(fault.text)}"
    if len(report.faults) > _MOST:
        yield f"  {'FAULT':<20}{whole_number(len(report.faults) - _MOST)} more"
    for found in report.nonfinite[:_MOST]:
        counts = " and ".join(
            f"{whole_number(count)} {name}" for count, name in ((found.nan, "NaN"), (found.inf, "infinite")) if count
        )
        yield f"  {'not finite':<20}{printable(found.path)}: {counts}"
    if len(report.nonfinite) > _MOST:
        yield f"  {'not finite':<20}{plural(len(report.nonfinite) - _MOST, 'more tensor')}"
    for note in report.notes[:_MOST]:
        yield f"  {'note':<20}{printable(note)}"
    yield f"  {'canonical':<20}{'yes' if report.canonical else 'no'}"
    for point in report.deviations[:_MOST]:
        yield f"  {'':<20}{printable(point)}"
    if report.sha256:
        yield f"  {'SHA-256 of the file':<20}{report.sha256}"
    if report.digest:
        yield f"  {'digest of content':<20}{report.digest}"
    faults = plural(len(report.faults), "fault")
    yield f"  {'verdict':<20}{'sound' if report.sound else f'{faults} found'}"


def explain_lines(found: Explanation) -> Iterator[str]:
    """Why two files differ in bytes: each reason with how many bytes of either, and where."""
    yield f"A  {printable(str(found.a))}  {size_text(found.a_nbytes)}"
    yield f"B  {printable(str(found.b))}  {size_text(found.b_nbytes)}"
    yield f"{'bytes of A':>15}{'bytes of B':>15}  reason"
    moved = f", {whole_number(found.moved_nbytes)} of them at another offset" if found.moved_nbytes else ""
    yield f"{found.a_same:>15,}{found.b_same:>15,}  equal{moved}"
    for reason in found.reasons:
        where = shortened(printable(reason.where), 60)
        places = f" and {whole_number(reason.places - 1)} more" if reason.places > 1 else ""
        at = ", ".join(
            f"{side} from byte {whole_number(offset)}"
            for side, offset in (("A", reason.a_at), ("B", reason.b_at))
            if offset >= 0
        )
        place = f" ({'; '.join(part for part in (where + places, at) if part)})"
        yield f"{reason.a_nbytes:>15,}{reason.b_nbytes:>15,}  {printable(reason.text)}{place}"
    yield f"{found.a_unexplained:>15,}{found.b_unexplained:>15,}  unexplained"
    if found.a_digest and found.b_digest:
        same = "the same" if found.same_content else "different"
        yield f"content: {same} ({found.a_digest[:16]}… and {found.b_digest[:16]}…)"
    for sentence in found.content:
        yield f"content: {printable(sentence)}"
    yield f"verdict: {printable(found.verdict)}"
