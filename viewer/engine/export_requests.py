"""The requests of the save lane: exports, digests, and what is said about a file's bytes.

All of them read the document's files again, and fail with FileChanged when these are not the ones that were opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from viewer.engine.protocol import LaneName, Request
from viewer.export.options import ExportOptions


@dataclass(frozen=True, slots=True)
class _OnDocument(Request):
    lane: ClassVar[LaneName] = "save"

    document: int

    @property
    def documents(self) -> tuple[int, ...]:
        return (self.document,)


@dataclass(frozen=True, slots=True)
class PlanExport(_OnDocument):
    """What an export would write, leave out and change. Result: an ExportPlan."""

    options: ExportOptions

    @property
    def doing(self) -> str:
        return "planning an export"


@dataclass(frozen=True, slots=True)
class CountCasts(_OnDocument):
    """What the cast of an export would change, without writing. Result: a list of Cast."""

    options: ExportOptions

    @property
    def doing(self) -> str:
        return "counting what a cast changes"


@dataclass(frozen=True, slots=True)
class RemoveAbandoned(Request):
    """Remove what exports into a folder left when their engine was lost. Result: None."""

    lane: ClassVar[LaneName] = "save"

    folder: Path

    @property
    def doing(self) -> str:
        return f"removing what was left in {self.folder.name}"


@dataclass(frozen=True, slots=True)
class Export(_OnDocument):
    """Write the canonical form. Result: an ExportResult.

    Attributes
    ----------
    target
        Must not be one of the document's files, nor a link.
    force
        Whether a file that is there is replaced.
    """

    target: Path
    options: ExportOptions
    force: bool = False

    @property
    def doing(self) -> str:
        return f"writing {self.target.name}"


@dataclass(frozen=True, slots=True)
class NameContent(_OnDocument):
    """The SHA-256 of the canonical form. Result: a Digest.

    Attributes
    ----------
    tensors
        Whether each tensor is hashed by itself, too.
    """

    tensors: bool = False

    @property
    def doing(self) -> str:
        return "computing the digest of the content"


@dataclass(frozen=True, slots=True)
class Verify(_OnDocument):
    """Read every byte of the document's files. Result: a VerifyReport."""

    @property
    def doing(self) -> str:
        return "verifying a file"


@dataclass(frozen=True, slots=True)
class Unpack(Request):
    """Unpack a file that is compressed as a whole. Result: the Path of what was written.

    Attributes
    ----------
    overwrite
        Whether a file that is there is replaced.
    """

    lane: ClassVar[LaneName] = "save"

    path: Path
    target: Path
    overwrite: bool = False

    @property
    def doing(self) -> str:
        return f"unpacking {self.path.name}"


@dataclass(frozen=True, slots=True)
class Explain(Request):
    """Why two documents differ in bytes. Result: an Explanation."""

    lane: ClassVar[LaneName] = "save"

    a: int
    b: int

    @property
    def documents(self) -> tuple[int, ...]:
        return (self.a, self.b)

    @property
    def doing(self) -> str:
        return "explaining why two files differ"
