"""What a person chooses about an export, and what is found on the way: plain data that travels between processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from viewer.errors import ViewerError

Flavour: TypeAlias = Literal["pth", "safetensors"]
Objects: TypeAlias = Literal["refuse", "drop", "plain", "keep"]
Part: TypeAlias = Literal["all", "model", "no-optimizer", "ema"]

FLAVOURS: Final[tuple[Flavour, ...]] = ("pth", "safetensors")
OBJECTS: Final[tuple[Objects, ...]] = ("refuse", "drop", "plain", "keep")
CASTS: Final = (
    "float64", "float32", "float16", "bfloat16",
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
)  # fmt: skip
"""What floating-point tensors may be converted to."""

PARTS: Final[tuple[Part, ...]] = ("all", "model", "no-optimizer", "ema")


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What to write, and how.

    Attributes
    ----------
    flavour
        The container.
    select
        Path of the node to write (`viewer.checkpoint.paths`); "" for the root.
    part
        A ready choice: everything, the model's weights alone, all but the optimizer, the averaged weights as model.
    objects
        What becomes of objects of unknown classes: refuse the export, drop them, write their state as plain dicts and
        lists, or name the same class again.
    sort_keys, keep_strides
        See docs/canonical-format.md.
    cast
        Name of the dtype that floating-point tensors are converted to; "" for none.
    strip_prefix, add_prefix
        Taken from, and then put before, the text keys of the dict that is written.
    """

    flavour: Flavour = "pth"
    select: str = ""
    part: Part = "all"
    objects: Objects = "refuse"
    sort_keys: bool = False
    keep_strides: bool = False
    cast: str = ""
    strip_prefix: str = ""
    add_prefix: str = ""


FindingKind: TypeAlias = Literal["cannot", "needs-trust", "dropped", "changed", "separated", "note"]
"""cannot: stands in the way of the export. needs-trust: loads with weights_only=False only."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know before writing.

    Attributes
    ----------
    path
        Where; "" for the whole.
    text
        What, as a sentence without a full stop.
    """

    kind: FindingKind
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """What an export would do.

    Attributes
    ----------
    nbytes
        Size of the file, exactly; 0 where it cannot be written.
    tensors, records
        How many tensors by name, and how many data records of them.
    data_nbytes
        Bytes of the records.
    findings
        In the order of the tree.
    """

    options: ExportOptions
    nbytes: int
    tensors: int
    records: int
    data_nbytes: int
    findings: list[Finding] = field(default_factory=list)

    @property
    def weights_only(self) -> bool:
        """Whether `torch.load(weights_only=True)` will read it."""
        return not any(finding.kind == "needs-trust" for finding in self.findings)

    @property
    def obstacles(self) -> list[Finding]:
        """What stands in the way."""
        return [finding for finding in self.findings if finding.kind == "cannot"]


@dataclass(frozen=True, slots=True)
class Cast:
    """What converting one tensor's elements changed.

    Attributes
    ----------
    changed
        Elements whose value is another one now; NaNs that stay NaN are not.
    largest_error
        Largest |before − after| where both are finite.
    became_infinite
        Finite elements that are infinite now.
    """

    path: str
    source: str
    target: str
    numel: int
    changed: int
    largest_error: float
    became_infinite: int


@dataclass(frozen=True, slots=True)
class ExportResult:
    """A file that was written and read back.

    Attributes
    ----------
    sha256
        Of the file, as 64 hex digits.
    replaced
        True where a file of that name was there before.
    """

    path: Path
    nbytes: int
    sha256: str
    plan: ExportPlan
    casts: list[Cast] = field(default_factory=list)
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class TensorDigest:
    """The SHA-256 of one tensor's bytes as they are written: of its record alone."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class Digest:
    """The name of a content.

    Attributes
    ----------
    sha256
        Of the canonical `.pth` bytes, which were not written.
    nbytes
        How many those are.
    """

    path: Path
    sha256: str
    nbytes: int
    findings: list[Finding] = field(default_factory=list)
    tensors: list[TensorDigest] = field(default_factory=list)


class ExportRefused(ViewerError):
    """The export cannot be made as asked; nothing was written."""
