"""The row of one tensor in a scan of all: statistics, a small histogram, constant rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task
from viewer.tensors.bins import Binner, make_edges
from viewer.tensors.constant_rows import constant_rows_task
from viewer.tensors.decode import Decoder, decoder_of, element_normal
from viewer.tensors.moments import Facts, float_facts, int_facts
from viewer.tensors.pattern_scan import count_patterns_task
from viewer.tensors.patterns import PatternCounts, PatternTable, table_of
from viewer.tensors.quantized import Quantizer, quantizer_of
from viewer.tensors.results import Statistics
from viewer.tensors.scan import StreamScan, scan_task
from viewer.tensors.scan_results import MINI_BINS, ScanRow
from viewer.tensors.source import ElementSource
from viewer.tensors.statistics import statistics_of
from viewer.tensors.walk import Room, Walk

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    Ints = npt.NDArray[np.int64]

_SMALL_NBYTES: Final = 256 << 10
"""Tensors up to here are read once, and worked on without the machinery for large ones."""

Found = tuple[str, Statistics, tuple[int, ...]]


def scan_row_task(
    checkpoint: Checkpoint, tensor: TensorRef, reader: StorageReader, device: torch.device, room: Room
) -> Task[tuple[ScanRow, int]]:
    """The row of a tensor, and how many bytes were read for its numbers.

    Progress is in bytes of the tensor, over all passes.

    Parameters
    ----------
    room
        Work space, used again for every small tensor of a scan.

    Raises
    ------
    ViewerError
        When the values cannot be read, or the device fails.
    """
    quantizer = quantizer_of(checkpoint, tensor) if tensor.dtype.kind == "quantized" else None
    with ElementSource(checkpoint, tensor, reader=reader) as source:
        logical = quantizer is not None and not quantizer.is_per_tensor
        walk = Walk(source, logical=logical)
        passes = 1
        if source.element.form == "pattern" and not logical:
            found = yield from _by_patterns(walk, quantizer, device)
        else:
            decoder = decoder_of(tensor.dtype, tensor.flags, quantizer)
            if walk.nbytes <= _SMALL_NBYTES and device.type == "cpu":
                found = _at_once(walk, decoder, device, room)
            else:
                found = yield from _by_passes(walk, decoder, device)
                passes = 2
        of, statistics, counts = found
        constant = bool(statistics.count) and statistics.min == statistics.max and statistics.finite == source.count
        rows = yield from _silent(constant_rows_task(source))
    return (
        ScanRow(
            tensor.number,
            of,
            statistics.count,
            statistics.min,
            statistics.max,
            statistics.mean,
            statistics.std,
            statistics.l2,
            statistics.zeros,
            statistics.nan,
            statistics.posinf,
            statistics.neginf,
            constant,
            bool(statistics.count) and statistics.zeros == statistics.count,
            rows,
            0 if rows is None else tensor.shape[0],
            counts,
        ),
        passes * walk.nbytes,
    )


def _silent(task: Task[int | None]) -> Task[int | None]:
    """A task whose steps are places to stop, and no progress in bytes."""
    try:
        while True:
            next(task)
            yield Progress(1, 1)
    except StopIteration as stop:
        result: int | None = stop.value
        return result
    finally:
        task.close()


def _by_patterns(walk: Walk, quantizer: Quantizer | None, device: torch.device) -> Task[Found]:
    import numpy as np

    tensor = walk.source.tensor
    table = table_of(tensor)
    of = "bits" if tensor.dtype.kind == "bits" and table.is_integer else "value"
    if quantizer is not None:
        real = quantizer.real(table.values.astype(np.int64), 0).astype(np.float64)
        table, of = PatternTable(real, element_normal("float32")), "dequantized value"
    counts, _ = yield from count_patterns_task(walk, [table], device)
    counted = PatternCounts(table, counts)
    statistics = statistics_of(counted.facts(), walk.source.count, walk.copies, is_integer=table.is_integer)
    edges = _edges(statistics)
    between = () if edges is None else tuple((counted.between(edges)[1:-1] * walk.copies).tolist())
    return of, statistics, between


def _edges(statistics: Statistics) -> npt.NDArray[np.float64] | None:
    if statistics.min is None or statistics.max is None:
        return None
    return make_edges(float(statistics.min), float(statistics.max), MINI_BINS)[0]


def _at_once(walk: Walk, decoder: Decoder, device: torch.device, room: Room) -> Found:
    """A small tensor: its blocks are read and kept."""
    import numpy as np
    import torch

    stream = decoder.streams[0]
    parts: list[npt.NDArray[Any]] = []
    for job in walk.jobs():
        for block in job:
            units = walk.source.read(block, room.scratch)
            # Decoded values may lie in the scratch, which the next block overwrites.
            parts.append(decoder.decode(units, walk.start_of(block))[0].copy())
    if not parts:
        return stream.name, statistics_of(Facts(), walk.source.count, walk.copies, is_integer=False), ()
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    chunk, floats = torch.from_numpy(values), room.floats(values.size, device)
    if stream.domain == "int":
        facts = int_facts(chunk, stream.offset, floats)
    else:
        facts = float_facts(chunk, stream.smallest_normal, floats)
        if facts.moments.is_doubtful:
            facts = float_facts(chunk, stream.smallest_normal, floats, careful=True)
    statistics = statistics_of(facts, walk.source.count, walk.copies, is_integer=stream.domain == "int")
    edges = _edges(statistics)
    if edges is None:
        return stream.name, statistics, ()
    if stream.offset:
        values = np.bitwise_xor(values.view(np.uint64), np.uint64(stream.offset))
    numbers = values.astype(np.float64)
    if facts.nan or facts.posinf or facts.neginf:
        numbers = numbers[np.isfinite(numbers)]
    codes = np.searchsorted(edges[1:-1], numbers, side="right")
    counts = np.bincount(codes, minlength=len(edges) - 1) * walk.copies
    return stream.name, statistics, tuple(counts.tolist())


def _by_passes(walk: Walk, decoder: Decoder, device: torch.device) -> Task[Found]:
    scans = [StreamScan.of(stream) for stream in decoder.streams]
    yield from _half(scan_task(walk, decoder, scans, device), 0)
    if any(scan.facts.moments.is_doubtful for scan in scans):
        scans = [StreamScan.of(stream) for stream in decoder.streams]
        yield from _half(scan_task(walk, decoder, scans, device, careful=True), 1)
    first = scans[0]
    is_integer = first.stream.domain == "int"
    statistics = statistics_of(first.facts, walk.source.count, walk.copies, is_integer=is_integer)
    edges = _edges(statistics)
    if edges is None:
        return first.stream.name, statistics, ()
    binner = Binner(edges, first.stream.domain, inside=True)
    is_finite = statistics.finite == statistics.count
    counting = [StreamScan.of(first.stream, binner, is_finite=is_finite), *map(StreamScan.of, decoder.streams[1:])]
    yield from _half(scan_task(walk, decoder, counting, device, facts=False), 1)
    return first.stream.name, statistics, tuple((counting[0].counts[1:-1] * walk.copies).tolist())


def _half(task: Task[None], before: int) -> Task[None]:
    """One pass of two."""
    try:
        while True:
            step = next(task)
            yield Progress(before * step.total + step.done, 2 * step.total)
    except StopIteration:
        return
    finally:
        task.close()
