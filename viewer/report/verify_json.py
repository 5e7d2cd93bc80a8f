"""The check of a file, and the comparison of two files' bytes, as JSON (docs/command-line.md)."""

from __future__ import annotations

from collections.abc import Iterable

from viewer.export.explain_results import Explanation
from viewer.export.verify_results import VerifyReport
from viewer.report.json_values import json_string, json_value


def verify_json(report: VerifyReport) -> str:
    """A report on a file; ends in a line feed."""
    fields = {
        "file": json_string(str(report.path)),
        "container": json_string(report.container),
        "nbytes": json_value(report.nbytes),
        "sound": json_value(report.sound),
        "records": json_value(report.records),
        "checksums_right": json_value(report.checksums),
        "tensors": json_value(report.tensors),
        "tensors_sharing": json_value(report.shared),
        "faults": _lines(
            json_value({"kind": fault.kind, "path": fault.path, "text": fault.text}) for fault in report.faults
        ),
        "nonfinite": _lines(
            json_value({"path": found.path, "nan": found.nan, "inf": found.inf}) for found in report.nonfinite
        ),
        "notes": json_value(report.notes),
        "canonical": json_value(report.canonical),
        "deviations": json_value(report.deviations),
        "sha256": json_value(report.sha256 or None),
        "content_sha256": json_value(report.digest or None),
    }
    return _document(fields)


def explain_json(found: Explanation) -> str:
    """Why two files differ in bytes; ends in a line feed."""
    reasons = (
        json_value(
            {
                "text": reason.text,
                "a_nbytes": reason.a_nbytes,
                "b_nbytes": reason.b_nbytes,
                "where": reason.where,
                "a_offset": reason.a_at if reason.a_at >= 0 else None,
                "b_offset": reason.b_at if reason.b_at >= 0 else None,
                "places": reason.places,
                "in_content": reason.in_content,
            }
        )
        for reason in found.reasons
    )
    fields = {
        "file_a": json_string(str(found.a)),
        "file_b": json_string(str(found.b)),
        "nbytes_a": json_value(found.a_nbytes),
        "nbytes_b": json_value(found.b_nbytes),
        "same_bytes": json_value(found.same_bytes),
        "same_content": json_value(found.same_content if found.a_digest and found.b_digest else None),
        "equal_a": json_value(found.a_same),
        "equal_b": json_value(found.b_same),
        "moved": json_value(found.moved_nbytes),
        "reasons": _lines(reasons),
        "unexplained_a": json_value(found.a_unexplained),
        "unexplained_b": json_value(found.b_unexplained),
        "content": json_value(found.content),
        "content_sha256_a": json_value(found.a_digest or None),
        "content_sha256_b": json_value(found.b_digest or None),
        "verdict": json_string(found.verdict),
    }
    return _document(fields)


def _lines(items: Iterable[str]) -> str:
    """A list with one item on each line."""
    listed = ",\n".join(items)
    return f"[\n{listed}\n]" if listed else "[]"


def _document(fields: dict[str, str]) -> str:
    lines = ",\n".join(f"{json_string(name)}: {text}" for name, text in fields.items())
    return f"{{\n{lines}\n}}\n"
