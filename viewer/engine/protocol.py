"""What the window's process and the engine say to each other.

A job is a request with a number, which the client gives. A document is known by the job that opened it: the number
that `submit(OpenFile(path))` returns is the document's number in every later request, also after the engine was
started again. Every job ends with exactly one Result or Failure.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

from viewer.checkpoint.document import FileFacts
from viewer.compare.results import WHOLE_FILES, CompareOptions, Tolerance
from viewer.errors import EngineLost, ViewerError
from viewer.task import Progress

LaneName: TypeAlias = Literal["structure", "compute", "scan", "save"]
"""Requests of one lane run one after the other, lanes beside each other; "scan" stops while "compute" works."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the window asks for.

    Attributes
    ----------
    lane
        Where it runs.
    waits_for_idle
        True for requests that nobody waits for: they begin when no structure is being read.
    """

    lane: ClassVar[LaneName] = "structure"
    waits_for_idle: ClassVar[bool] = False

    @property
    def documents(self) -> tuple[int, ...]:
        """The documents that must be open before it can run."""
        return ()

    @property
    def doing(self) -> str:
        """What is being done, to complete "while …"."""
        return "working"


@dataclass(frozen=True, slots=True)
class DocumentRequest(Request):
    """A request about one document.

    Attributes
    ----------
    document
        Its number; a request waits until it is open.
    """

    document: int

    @property
    def documents(self) -> tuple[int, ...]:
        return (self.document,)


@dataclass(frozen=True, slots=True)
class OpenFile(Request):
    """Read the structure of a file or folder. Result: the Checkpoint, without blobs."""

    path: Path

    @property
    def doing(self) -> str:
        return f"opening {self.path.name or self.path}"


@dataclass(frozen=True, slots=True)
class CloseDocument(Request):
    """Forget a document and cancel all jobs on it. Result: None."""

    document: int

    @property
    def doing(self) -> str:
        return "closing a document"


@dataclass(frozen=True, slots=True)
class Summarise(DocumentRequest):
    """Statistics and histogram of a tensor. Result: a TensorSummary.

    Attributes
    ----------
    tensor
        Its number in the document's TensorTable.
    device
        Where to compute ("cpu", "cuda:0").
    value_range
        First and last edge of the histogram; None for the finite minimum and maximum.
    """

    lane: ClassVar[LaneName] = "compute"

    tensor: int
    device: str = "cpu"
    bins: int = 256
    value_range: tuple[float, float] | None = None

    @property
    def doing(self) -> str:
        return "computing the statistics of a tensor"


@dataclass(frozen=True, slots=True)
class CompareStructure(Request):
    """Compare two documents, or two parts of one, without values. Result: a `viewer.compare.results.Structure`.

    It runs beside whatever is being computed, so that the aligned tree is there at once.
    """

    document_a: int
    document_b: int
    options: CompareOptions = WHOLE_FILES

    @property
    def documents(self) -> tuple[int, ...]:
        return (self.document_a, self.document_b)

    @property
    def doing(self) -> str:
        return "comparing the structure of two checkpoints"


@dataclass(frozen=True, slots=True)
class Compare(Request):
    """Compare two documents with their values. Partial results: the Structure, then ValueBatches, each row with
    values once. Result: an Overview. `viewer.compare.comparison.Comparison` puts them together.

    Attributes
    ----------
    with_structure
        False where the window has the structure already: it is then not sent again.
    """

    lane: ClassVar[LaneName] = "compute"

    document_a: int
    document_b: int
    options: CompareOptions = WHOLE_FILES
    with_structure: bool = True

    @property
    def documents(self) -> tuple[int, ...]:
        return (self.document_a, self.document_b)

    @property
    def doing(self) -> str:
        return "comparing two checkpoints"


@dataclass(frozen=True, slots=True)
class ComparePair(Request):
    """Compare one pair of tensors in detail. Result: a `viewer.compare.results.PairDetails`.

    Attributes
    ----------
    node_a, node_b
        Nodes of tensors of one shape.
    bins
        Of each histogram.
    largest
        Elements to list that differ most.
    tolerance
        As in CompareOptions.
    value_range
        First and last edge of the histograms of both sides; None for the range of their finite values.
    """

    lane: ClassVar[LaneName] = "compute"

    document_a: int
    node_a: int
    document_b: int
    node_b: int
    bins: int = 256
    largest: int = 100
    tolerance: Tolerance | None = None
    value_range: tuple[float, float] | None = None

    @property
    def documents(self) -> tuple[int, ...]:
        return (self.document_a, self.document_b)

    @property
    def doing(self) -> str:
        return "comparing two tensors"


@dataclass(frozen=True, slots=True)
class ListDevices(Request):
    """The devices to compute on. Result: a list of Device."""

    lane: ClassVar[LaneName] = "compute"
    waits_for_idle: ClassVar[bool] = True

    @property
    def doing(self) -> str:
        return "listing the devices"


@dataclass(frozen=True, slots=True)
class WarmUp(Request):
    """Import torch before it is needed. Sent after the first paint. Result: None."""

    lane: ClassVar[LaneName] = "compute"
    waits_for_idle: ClassVar[bool] = True

    @property
    def doing(self) -> str:
        return "importing torch"


@dataclass(frozen=True, slots=True)
class Ping(Request):
    """Answered with its text."""

    text: str = ""

    @property
    def doing(self) -> str:
        return "answering"


@dataclass(frozen=True, slots=True)
class Hello:
    """The first words of the client.

    Attributes
    ----------
    token
        The engine writes it back before anything else; what comes before it on the pipe is noise.
    memory_nbytes
        Bound on the engine's data (Linux: RLIMIT_DATA); 0 for none.
    """

    token: bytes
    memory_nbytes: int


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop a job; it ends with a Failure that holds Cancelled, unless it is done first."""

    job: int


@dataclass(frozen=True, slots=True)
class Remember:
    """A document that an earlier engine had open. It is read again when a request needs it.

    Attributes
    ----------
    files
        The files as they were when the document was opened.
    """

    document: int
    path: Path
    files: list[FileFacts]


@dataclass(frozen=True, slots=True)
class Accepted:
    """The engine has the request."""

    job: int


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """How far a job is: the first step at once, then about 20 a second; steps with a `partial` are all there."""

    job: int
    progress: Progress


@dataclass(frozen=True, slots=True)
class Result:
    """A job is done."""

    job: int
    value: object


@dataclass(frozen=True, slots=True)
class Failure:
    """A job ended without a result: Cancelled, EngineLost, or what is wrong."""

    job: int
    error: ViewerError


@dataclass(frozen=True, slots=True)
class Restarted:
    """The engine ended and another one is running; open documents keep their numbers."""

    error: EngineLost


@dataclass(frozen=True, slots=True)
class EngineDown:
    """The engine ended too often to be started again by itself; the next request tries."""

    error: EngineLost


Event: TypeAlias = Accepted | ProgressEvent | Result | Failure | Restarted | EngineDown
