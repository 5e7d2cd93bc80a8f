"""Findings of the checks as text and JSON.

JSON: {"file", "found", "findings": [{"check", "severity", "message", "remedy", "count", "paths": […]}],
"checks": […], "notes": […]}; `severity` is "error", "warning" or "info".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checks.results import CheckReport
from viewer.report.wording import plural, printable, shortened

_MARKS: Final = {"error": "error  ", "warning": "warning", "info": "info   "}
_PATHS_SHOWN: Final = 5


def iter_check_text(checkpoint: Checkpoint, report: CheckReport) -> Iterator[str]:
    """Lines with their line feeds."""
    yield f"{printable(str(checkpoint.path))}\n"
    made = plural(len(report.checks), "check")
    if not report.findings:
        yield f"  {made} made, nothing found\n"
    for finding in report.findings:
        yield f"\n{_MARKS[finding.severity]}  {finding.check}\n"
        yield f"  {printable(finding.message)}\n"
        for node in finding.nodes[:_PATHS_SHOWN]:
            yield f"    {shortened(printable(checkpoint.path_of(node) or '(root)'), 160)}\n"
        if finding.count > _PATHS_SHOWN and len(finding.nodes) > _PATHS_SHOWN:
            yield "    … (all with --json)\n"
        yield f"  do: {printable(finding.remedy)}\n"
    if report.findings:
        yield f"\n{plural(len(report.findings), 'finding')} in {made}\n"
    for note in report.notes:
        yield f"note: {printable(note)}\n"


def check_json(checkpoint: Checkpoint, report: CheckReport) -> str:
    """The whole report; it ends in a line feed."""
    findings = [
        {
            "check": finding.check,
            "severity": finding.severity,
            "message": finding.message,
            "remedy": finding.remedy,
            "count": finding.count,
            "paths": [checkpoint.path_of(node) for node in finding.nodes],
        }
        for finding in report.findings
    ]
    whole = {
        "file": str(checkpoint.path),
        "found": len(findings),
        "findings": findings,
        "checks": report.checks,
        "notes": report.notes,
    }
    return json.dumps(whole, indent=1) + "\n"
