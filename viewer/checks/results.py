"""Findings of the checks: plain picklable data that the window holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from viewer.tensors.brief import TensorBrief

Severity: TypeAlias = Literal["error", "warning", "info"]
"""error: resuming goes wrong, silently or not; warning: it needs a step first; info: worth knowing."""

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")

MAX_NODES: Final = 1_000
"""Nodes that one finding lists; `count` says how many there are."""


def counted(count: int, one: str, many: str) -> str:
    """1 entry has, 2 entries have, 1,000 entries have."""
    return f"{count:,} {one if count == 1 else many}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    Attributes
    ----------
    check
        Its name: "non-finite values", "moments that do not fit" …
    message
        What was found, as a sentence without a full stop.
    remedy
        What to do, in one line.
    nodes
        Where, the first `MAX_NODES`.
    count
        How many places there are.
    """

    check: str
    severity: Severity
    message: str
    remedy: str
    nodes: tuple[int, ...] = ()
    count: int = 1


@dataclass(slots=True)
class CheckReport:
    """All findings about a checkpoint, the severe ones first.

    Attributes
    ----------
    checks
        Names of the checks that were made.
    with_values
        True where values were read; False for the checks of the structure alone.
    notes
        What could not be checked, as sentences.
    """

    findings: list[Finding] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    with_values: bool = False
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class OptimizerNumbers:
    """Numbers about the tensors in an optimizer's state.

    Attributes
    ----------
    briefs
        By tensor number.
    """

    node: int
    briefs: dict[int, TensorBrief] = field(default_factory=dict)
