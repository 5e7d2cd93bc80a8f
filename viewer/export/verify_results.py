"""What checking a file found. Plain data that travels between processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

FaultKind: TypeAlias = Literal["checksum", "range", "structure", "values", "unreadable"]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a file.

    Attributes
    ----------
    path
        Of a tensor or node; "" for the file as a whole.
    text
        What, as a sentence without a full stop.
    """

    kind: FaultKind
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class NonFinite:
    """A tensor with elements that are no finite numbers: to be known, and no fault of the file."""

    path: str
    nan: int
    inf: int


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """A file, checked.

    Attributes
    ----------
    records, checksums
        Records of the archive, and how many of them have a checksum that is right; 0 where the container has none.
    tensors
        How many were read in full.
    shared
        Tensors that share a storage with another one.
    canonical
        Whether its bytes are those of the canonical form of its content.
    deviations
        Why they are not.
    digest
        The name of its content (SHA-256); "" where it cannot be made.
    sha256
        Of the file's own bytes.
    notes
        What is out of the ordinary and no fault.
    """

    path: Path
    container: str
    nbytes: int
    sha256: str
    records: int
    checksums: int
    tensors: int
    shared: int
    faults: list[Fault] = field(default_factory=list)
    nonfinite: list[NonFinite] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    canonical: bool = False
    deviations: list[str] = field(default_factory=list)
    digest: str = ""

    @property
    def sound(self) -> bool:
        return not self.faults
