"""What the window asks about values: parts of a slice, histograms by a rule, a scan of all tensors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from viewer.engine.protocol import DocumentRequest, LaneName, Request
from viewer.tensors.histogram_results import BinRule
from viewer.tensors.slice_results import SliceAxes

ReduceName: TypeAlias = Literal["absmax", "max", "min", "mean"]


@dataclass(frozen=True, slots=True)
class _OfTensor(DocumentRequest):
    """A question about one tensor of a document."""

    lane: ClassVar[LaneName] = "compute"

    tensor: int


@dataclass(frozen=True, slots=True)
class ReadSlice(_OfTensor):
    """A block of a 2-D slice, every element exact. Result: a ValueBlock.

    Attributes
    ----------
    axes
        Which slice.
    first_row, n_rows, first_column, n_columns
        Which block; at most MAX_BLOCK elements. What lies beyond the slice is left out.
    """

    axes: SliceAxes
    first_row: int
    n_rows: int
    first_column: int
    n_columns: int

    @property
    def doing(self) -> str:
        return "reading values"


@dataclass(frozen=True, slots=True)
class ReadMap(_OfTensor):
    """A slice as an image of at most `height` × `width` pixels. Result: a MapImage.

    Attributes
    ----------
    reduce
        What a pixel shows of several elements (see `MapImage.reduce`).
    row_range, column_range
        Which part of the slice, as (first, end); None for all.
    """

    axes: SliceAxes
    height: int
    width: int
    reduce: ReduceName = "absmax"
    row_range: tuple[int, int] | None = None
    column_range: tuple[int, int] | None = None

    @property
    def doing(self) -> str:
        return "drawing a map of values"


@dataclass(frozen=True, slots=True)
class ReadKernels(_OfTensor):
    """Convolution kernels side by side, as far as `height` × `width` pixels go. Result: a MapImage with `tiles`.

    Attributes
    ----------
    fixed
        An index along every axis between the first two and the last two (a tensor of five dimensions has one).
    first_row, first_column
        The first tile: index along the first and second axis. Of a 3-D tensor the tiles are one row.
    """

    height: int
    width: int
    first_row: int = 0
    first_column: int = 0
    fixed: tuple[int, ...] = ()

    @property
    def doing(self) -> str:
        return "drawing the kernels of a tensor"


@dataclass(frozen=True, slots=True)
class ReadLine(_OfTensor):
    """Elements along one axis in at most `width` points. Result: a LineEnvelope.

    Attributes
    ----------
    axis
        None for a scalar.
    fixed
        An index along every other axis.
    index_range
        Which part, as (first, end); None for all.
    """

    axis: int | None
    width: int
    fixed: tuple[int, ...] = ()
    index_range: tuple[int, int] | None = None

    @property
    def doing(self) -> str:
        return "drawing a line of values"


@dataclass(frozen=True, slots=True)
class RuleHistogram(_OfTensor):
    """Statistics, and histograms with edges by a rule. Result: a RuledSummary."""

    rule: BinRule = field(default_factory=BinRule)
    device: str = "cpu"

    @property
    def doing(self) -> str:
        return "counting the values of a tensor"


@dataclass(frozen=True, slots=True)
class SummariseMany(DocumentRequest):
    """Statistics of several tensors and their histograms on the same edges. Result: SharedHistograms.

    Attributes
    ----------
    tensors
        At most `viewer.tensors.many.MAX_TENSORS`.
    """

    lane: ClassVar[LaneName] = "compute"

    tensors: tuple[int, ...]
    rule: BinRule = field(default_factory=BinRule)
    device: str = "cpu"

    @property
    def doing(self) -> str:
        return "computing the statistics of several tensors"


@dataclass(frozen=True, slots=True)
class ScanAll(DocumentRequest):
    """Numbers about every tensor. Partial results: ScanBatches, each tensor once. Result: ScanTotals.

    It stops while the compute lane works, so that a click on a tensor is answered as if there were no scan.

    Attributes
    ----------
    tensors
        Which; None for all. Their order is kept.
    use_cache
        False to read all anew; what is found is kept for the next time either way.
    """

    lane: ClassVar[LaneName] = "scan"

    device: str = "cpu"
    tensors: tuple[int, ...] | None = None
    use_cache: bool = True

    @property
    def doing(self) -> str:
        return "scanning all tensors"


@dataclass(frozen=True, slots=True)
class UseResources(Request):
    """What the engine may use from now on. Sent after each start of the engine. Result: None.

    Attributes
    ----------
    threads
        As torch.set_num_threads, and for reading; 0 for torch's own choice.
    memory_nbytes
        Bound on the engine's data (Linux); 0 for the default one.
    cache_nbytes
        At most so much of the disk for kept scans.
    """

    lane: ClassVar[LaneName] = "compute"
    waits_for_idle: ClassVar[bool] = True

    threads: int
    memory_nbytes: int
    cache_nbytes: int

    @property
    def doing(self) -> str:
        return "setting the bounds of the engine"


@dataclass(frozen=True, slots=True)
class MeasureScanCache(Request):
    """How much of the disk kept scans take. Result: bytes."""

    @property
    def doing(self) -> str:
        return "measuring the cache of scans"


@dataclass(frozen=True, slots=True)
class ClearScanCache(Request):
    """Forget what earlier scans found. Result: how many bytes that took on disk."""

    @property
    def doing(self) -> str:
        return "clearing the cache of scans"
