"""What the window asks about a comparison beyond its rows: the maps of a pair, and reports of all of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from viewer.compare.options import WHOLE_FILES, CompareOptions
from viewer.engine.protocol import LaneName, Request

ReportFormat: TypeAlias = Literal["html", "json", "csv", "text"]


@dataclass(frozen=True, slots=True)
class _OnPair(Request):
    document_a: int
    document_b: int

    @property
    def documents(self) -> tuple[int, ...]:
        return (self.document_a, self.document_b)


@dataclass(frozen=True, slots=True)
class MapPair(_OnPair):
    """Two tensors and their difference as images. Result: a PairMaps.

    Attributes
    ----------
    node_a, node_b
        Nodes of tensors of one shape.
    row_range, column_range
        The part of the grid, as (first, end); None for all.
    """

    lane: ClassVar[LaneName] = "compute"

    node_a: int
    node_b: int
    height: int
    width: int
    row_range: tuple[int, int] | None = None
    column_range: tuple[int, int] | None = None

    @property
    def doing(self) -> str:
        return "drawing two tensors"


@dataclass(frozen=True, slots=True)
class ReportComparison(_OnPair):
    """A comparison as a report. Result: its text, or None where it was written to a file.

    What was compared before is not read again; the engine compares anew where it has forgotten.

    Attributes
    ----------
    target
        The file to write, whole or not at all, which must not be one of those compared; None for the text itself.
    """

    lane: ClassVar[LaneName] = "save"

    options: CompareOptions = WHOLE_FILES
    format: ReportFormat = "text"
    target: Path | None = None

    @property
    def doing(self) -> str:
        return "writing a report"
