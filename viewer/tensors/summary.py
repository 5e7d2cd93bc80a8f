"""Statistics and histogram of one tensor, as one task."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorFlag, TensorRef
from viewer.task import Progress, Result, Task
from viewer.tensors.bins import Binner
from viewer.tensors.decode import decoder_of
from viewer.tensors.devices import torch_device
from viewer.tensors.histogram import count_task, edges_for, histogram_of
from viewer.tensors.patterns import (
    PatternTable,
    counts_between,
    distinct_of,
    facts_of,
    pattern_table,
    quantiles_of,
)
from viewer.tensors.quantized import Quantizer, quantizer_of
from viewer.tensors.results import Histogram, PartSummary, TensorSummary
from viewer.tensors.source import ElementSource
from viewer.tensors.statistics import (
    CHUNK_NBYTES,
    Walk,
    count_patterns_task,
    scan_task,
    statistics_of,
    with_places,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

_PATTERN_CHUNKS = 2
"""Patterns are counted in chunks twice as long: each starts with 512 KiB of zeros."""


def summarise_task(
    checkpoint: Checkpoint,
    number: int,
    *,
    device: str = "cpu",
    bins: int = 256,
    value_range: tuple[float, float] | None = None,
    chunk_nbytes: int = CHUNK_NBYTES,
) -> Task[TensorSummary]:
    """Statistics and histogram over every element of a tensor.

    Types of at most 16 bits are read once: their bit patterns are counted, and all else follows. Others are read
    twice, since the histogram needs the range; after the first pass a partial result has the statistics. Progress is
    in bytes over all passes.

    Parameters
    ----------
    number
        Of the tensor.
    device
        Where the sums and counts are computed ("cpu", "cuda:0" …). The numbers are the same on each.
    bins
        Of the histogram; bool has one bar per value.
    value_range
        Edges from here to there instead of from the smallest to the largest finite value.

    Raises
    ------
    MalformedFile, FileChanged
        When the values cannot be read.
    DeviceProblem
        When the device is missing, full, or has no float64 (mps).
    """
    tensor = checkpoint.tensor(number)
    where = torch_device(device)
    with ElementSource(checkpoint, tensor) as source:
        quantizer = quantizer_of(checkpoint, tensor) if tensor.dtype.kind == "quantized" else None
        if source.element.form == "pattern" and (quantizer is None or quantizer.is_per_tensor):
            walk = Walk(source, chunk_nbytes=chunk_nbytes * _PATTERN_CHUNKS)
            steps = _by_patterns(walk, tensor, quantizer, where, bins, value_range)
        else:
            steps = _by_passes(source, quantizer, where, bins, value_range, chunk_nbytes)
        summary = yield from steps
    return replace(summary, device=device)


def _by_patterns(
    walk: Walk,
    tensor: TensorRef,
    quantizer: Quantizer | None,
    device: torch.device,
    bins: int,
    value_range: tuple[float, float] | None,
) -> Task[TensorSummary]:
    name = tensor.dtype.name
    table = pattern_table(name, negated=bool(tensor.flags & TensorFlag.NEG) and tensor.dtype.kind == "float")
    counts, places = yield from count_patterns_task(walk, table, device)
    parts: list[PartSummary] = []
    tables = {"value": table}
    if quantizer is not None:
        tables = {
            "dequantized value": PatternTable(_dequantized(quantizer, table), 2.0**-126),
            "stored integer": table,
        }
    elif tensor.dtype.kind == "bits" and table.is_integer:
        tables = {"bits": table}
    for of, each in tables.items():
        facts = facts_of(each, counts)
        if each is table or facts.min is None or facts.max is None or (quantizer and quantizer.scales[0] > 0):
            facts = with_places(facts, places)
        statistics = statistics_of(
            facts,
            walk.source.count,
            walk.copies,
            is_integer=each.is_integer,
            distinct=distinct_of(each, counts),
            quantiles=quantiles_of(each, counts * walk.copies),
        )
        edges, note = edges_for(statistics, bins, value_range, is_bool=tensor.dtype.kind == "bool")
        between = None if edges is None else counts_between(each, counts, edges)
        histogram = histogram_of(edges, between, walk.copies, statistics, note)
        parts.append(PartSummary(of, statistics, histogram))
    return _summary(tensor, parts, "every element, by counting bit patterns", walk.nbytes)


def _dequantized(quantizer: Quantizer, table: PatternTable) -> npt.NDArray[np.float64]:
    import numpy as np

    return quantizer.real(table.values.astype(np.int64), 0).astype(np.float64)


def _by_passes(
    source: ElementSource,
    quantizer: Quantizer | None,
    device: torch.device,
    bins: int,
    value_range: tuple[float, float] | None,
    chunk_nbytes: int,
) -> Task[TensorSummary]:
    tensor = source.tensor
    # The channel of an element follows from its logical index.
    walk = Walk(source, logical=quantizer is not None and not quantizer.is_per_tensor, chunk_nbytes=chunk_nbytes)
    decoder = decoder_of(tensor.dtype, tensor.flags, quantizer)
    facts = yield from _scaled(scan_task(walk, decoder, device), 0, 2)
    if any(found.moments.is_doubtful for found in facts):
        facts = yield from _scaled(scan_task(walk, decoder, device, careful=True), 0, 2)
    all_statistics = [
        statistics_of(found, source.count, walk.copies, is_integer=stream.domain == "int")
        for found, stream in zip(facts, decoder.streams, strict=True)
    ]
    ranges = [edges_for(statistics, bins, value_range) for statistics in all_statistics]
    early = [
        PartSummary(stream.name, statistics, Histogram(note="being counted"))
        for stream, statistics in zip(decoder.streams, all_statistics, strict=True)
    ]
    method = "every element, in two passes"
    partial = replace(_summary(tensor, early, method, walk.nbytes), complete=False)
    yield Progress(walk.nbytes, 2 * walk.nbytes, partial=partial)
    binners = [
        None if edges is None else Binner(edges, stream.domain, inside=value_range is None)
        for (edges, _), stream in zip(ranges, decoder.streams, strict=True)
    ]
    finite = [statistics.finite == statistics.count for statistics in all_statistics]
    counts = yield from _scaled(count_task(walk, decoder, binners, device, finite=finite), walk.nbytes, 2)
    parts = [
        PartSummary(stream.name, statistics, histogram_of(edges, between, walk.copies, statistics, note))
        for stream, statistics, (edges, note), between in zip(
            decoder.streams, all_statistics, ranges, counts, strict=True
        )
    ]
    return _summary(tensor, parts, method, 2 * walk.nbytes)


def _scaled(task: Task[Result], before: int, passes: int) -> Generator[Progress, None, Result]:
    """One pass of several as progress of all."""
    try:
        while True:
            progress = next(task)
            yield replace(progress, done=before + progress.done, total=passes * progress.total)
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
