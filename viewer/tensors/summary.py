"""Statistics and histogram of one tensor, as one task."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.task import Progress, Result, Task
from viewer.tensors.bins import Binner, make_edges
from viewer.tensors.decode import decoder_of, element_normal
from viewer.tensors.devices import torch_device
from viewer.tensors.histogram import edges_for, finer, histogram_of, joined
from viewer.tensors.pattern_scan import count_patterns_task
from viewer.tensors.patterns import PatternCounts, PatternTable, table_of
from viewer.tensors.quantiles import bounded_quantiles
from viewer.tensors.quantized import Quantizer, quantizer_of
from viewer.tensors.results import Histogram, PartSummary, Statistics, TensorSummary
from viewer.tensors.scan import StreamScan, scan_task
from viewer.tensors.scratch import Scratch
from viewer.tensors.source import ElementSource
from viewer.tensors.statistics import statistics_of, with_places
from viewer.tensors.walk import CHUNK_NBYTES, Walk

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch


def summarise_task(
    checkpoint: Checkpoint,
    number: int,
    *,
    device: str = "cpu",
    bins: int = 256,
    value_range: tuple[float, float] | None = None,
    integer_bins: bool = False,
    chunk_nbytes: int = CHUNK_NBYTES,
) -> Task[TensorSummary]:
    """Statistics and histogram over every element of a tensor.

    Types of at most 16 bits are read once: their bit patterns are counted, and all else follows. Others are read
    twice, since the histogram needs the range, unless that is given; after the first pass a partial result has the
    statistics. Progress is in bytes over all passes.

    Parameters
    ----------
    number
        Of the tensor.
    device
        Where the sums and counts are computed ("cpu", "cuda:0" …). The numbers are the same on each.
    bins
        Of the histogram; bool has one bar per value.
    value_range
        Edges from here to there instead of from the smallest to the largest finite value (for all parts of complex
        and quantized tensors).
    integer_bins
        Give integers bins that begin and end halfway between two, and of equally many; without it the bins of
        `numpy.histogram`, some of which hold an integer more than others.

    Raises
    ------
    MalformedFile, FileChanged
        When the values cannot be read.
    DeviceProblem
        When the device is missing, full, or has no float64 (mps).
    """
    tensor = checkpoint.tensor(number)
    where = torch_device(device)
    wanted = _Wanted(bins, value_range, integer_bins)
    with ElementSource(checkpoint, tensor) as source:
        quantizer = quantizer_of(checkpoint, tensor) if tensor.dtype.kind == "quantized" else None
        if source.element.form == "pattern" and (quantizer is None or quantizer.is_per_tensor):
            walk = Walk(source, chunk_nbytes=chunk_nbytes)
            steps = _by_patterns(walk, quantizer, where, wanted)
        else:
            steps = _by_passes(source, quantizer, where, wanted, chunk_nbytes)
        summary = yield from steps
    return replace(summary, device=device)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which histogram; as in `summarise_task`."""

    bins: int
    value_range: tuple[float, float] | None
    integer_bins: bool

    def edges(self, statistics: Statistics, *, is_bool: bool = False) -> tuple[npt.NDArray[np.float64] | None, str]:
        return edges_for(statistics, self.bins, self.value_range, is_bool=is_bool, integer_bins=self.integer_bins)


def _by_patterns(
    walk: Walk, quantizer: Quantizer | None, device: torch.device, wanted: _Wanted
) -> Task[TensorSummary]:
    tensor = walk.source.tensor
    table = table_of(tensor)
    tables = {"bits" if tensor.dtype.kind == "bits" and table.is_integer else "value": table}
    if quantizer is not None:
        real = PatternTable(_dequantized(quantizer, table), element_normal("float32"))
        tables = {"dequantized value": real, "stored integer": table}
    counts, all_places = yield from count_patterns_task(walk, list(tables.values()), device)
    parts: list[PartSummary] = []
    for (of, each), places in zip(tables.items(), all_places, strict=True):
        counted = PatternCounts(each, counts)
        statistics = statistics_of(
            with_places(counted.facts(), places),
            walk.source.count,
            walk.copies,
            is_integer=each.is_integer,
            distinct=counted.distinct(),
            quantiles=counted.quantiles(walk.copies),
        )
        edges, note = wanted.edges(statistics, is_bool=tensor.dtype.kind == "bool")
        between = None if edges is None else counted.between(edges)
        histogram = histogram_of(edges, between, walk.copies, statistics, note)
        parts.append(PartSummary(of, statistics, histogram))
    return _summary(tensor, parts, "every element, by counting bit patterns", walk.nbytes)


def _dequantized(quantizer: Quantizer, table: PatternTable) -> npt.NDArray[np.float64]:
    import numpy as np

    return quantizer.real(table.values.astype(np.int64), 0).astype(np.float64)


def _by_passes(
    source: ElementSource, quantizer: Quantizer | None, device: torch.device, wanted: _Wanted, chunk_nbytes: int
) -> Task[TensorSummary]:
    tensor = source.tensor
    # The channel of an element follows from its logical index.
    walk = Walk(source, logical=quantizer is not None and not quantizer.is_per_tensor, chunk_nbytes=chunk_nbytes)
    decoder = decoder_of(tensor.dtype, tensor.flags, quantizer)
    chosen = None if wanted.value_range is None else finer(make_edges(*wanted.value_range, wanted.bins)[0])
    passes = 2 if chosen is None else 1
    scans = [
        StreamScan.of(stream, None if chosen is None else Binner(chosen, stream.domain)) for stream in decoder.streams
    ]
    yield from _as_part(scan_task(walk, decoder, scans, device), 0, passes)
    if any(scan.facts.moments.is_doubtful for scan in scans):
        again = [StreamScan.of(stream) for stream in decoder.streams]
        yield from _as_part(scan_task(walk, decoder, again, device, careful=True), passes - 1, passes)
        for scan, better in zip(scans, again, strict=True):
            scan.facts = better.facts
    found = [
        statistics_of(scan.facts, source.count, walk.copies, is_integer=scan.stream.domain == "int") for scan in scans
    ]
    ranges = [wanted.edges(statistics) for statistics in found]
    if chosen is None:
        early = [
            PartSummary(scan.stream.name, statistics, Histogram(note="The values are still being counted"))
            for scan, statistics in zip(scans, found, strict=True)
        ]
        partial = replace(_summary(tensor, early, "every element", walk.nbytes), complete=False)
        yield Progress(walk.nbytes, passes * walk.nbytes, partial=partial)
        scans = [
            StreamScan.of(
                scan.stream,
                None if edges is None else Binner(finer(edges), scan.stream.domain, inside=True),
                is_finite=statistics.finite == statistics.count,
            )
            for scan, (edges, _), statistics in zip(scans, ranges, found, strict=True)
        ]
        if _counted_already(scans, found, walk.copies):
            yield Progress(passes * walk.nbytes, passes * walk.nbytes)
            passes = 1
        else:
            yield from _as_part(scan_task(walk, decoder, scans, device, facts=False), 1, passes)
    parts: list[PartSummary] = []
    for scan, statistics, (edges, note) in zip(scans, found, ranges, strict=True):
        if edges is None or scan.binner is None:
            parts.append(PartSummary(scan.stream.name, statistics, Histogram(note=note)))
            continue
        fine = histogram_of(scan.binner.edges, scan.counts, walk.copies, statistics, "")
        statistics = replace(statistics, quantiles=bounded_quantiles(fine, statistics))
        histogram = histogram_of(edges, joined(scan.counts, edges), walk.copies, statistics, note)
        parts.append(PartSummary(scan.stream.name, statistics, histogram))
    method = "every element, in two passes" if passes == 2 else "every element, in one pass"
    return _summary(tensor, parts, method, passes * walk.nbytes)


def _counted_already(scans: Sequence[StreamScan], found: Sequence[Statistics], copies: int) -> bool:
    """Count without a pass where every stream is one value throughout, or has none that is finite."""
    import numpy as np

    if any(statistics.min != statistics.max for statistics in found):
        return False
    for scan, statistics in zip(scans, found, strict=True):
        if scan.binner is not None and statistics.min is not None:
            of_one = scan.binner.count(np.array([statistics.min], np.float64), Scratch())
            scan.counts += of_one * (statistics.finite // copies)
    return True


def _as_part(task: Task[Result], before: int, passes: int) -> Generator[Progress, None, Result]:
    """One pass of several, as progress of all; `before` is the number of those that are done."""
    try:
        while True:
            progress = next(task)
            done = before * progress.total + progress.done
            yield replace(progress, done=done, total=passes * progress.total)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    finally:
        task.close()


def _summary(tensor: TensorRef, parts: list[PartSummary], method: str, nbytes_read: int) -> TensorSummary:
    first, *others = parts
    return TensorSummary(
        number=tensor.number,
        dtype=tensor.dtype.name,
        of=first.name,
        statistics=first.statistics,
        histogram=first.histogram,
        parts=tuple(others),
        method=method,
        nbytes_read=nbytes_read,
    )
