"""One pass over a tensor for everything but the histogram."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from viewer.task import Progress, Task
from viewer.tensors.decode import Decoder
from viewer.tensors.devices import device_errors
from viewer.tensors.exact import UNIT_BITS
from viewer.tensors.layout import Block, Order
from viewer.tensors.moments import Facts, FloatWork, earlier, float_facts, int_facts
from viewer.tensors.patterns import PatternTable
from viewer.tensors.positions import first_index
from viewer.tensors.results import Number, Quantile, Statistics
from viewer.tensors.scratch import Scratch
from viewer.tensors.source import ElementSource
from viewer.tensors.workers import WORKERS, Spares, answers

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

CHUNK_NBYTES: Final = 1 << 20
"""Bytes of one chunk: it and two float64 copies of it stay in the caches of one core."""

JOB_NBYTES: Final = 4 << 20
"""Bytes between two places where a task can be stopped: some milliseconds."""


class Walk:
    """How one tensor is walked: in the order of the storage where possible, several blocks to a job.

    Attributes
    ----------
    order
        None where the walk is in logical order.
    copies
        How often the tensor shows each element that is walked.
    elements, nbytes
        That are walked.
    """

    def __init__(self, source: ElementSource, *, logical: bool = False, chunk_nbytes: int = CHUNK_NBYTES) -> None:
        self.source = source
        self.order: Order | None = None if logical else source.order
        self.copies = 1 if self.order is None else self.order.copies
        self.elements = source.count // self.copies if source.count else 0
        self.nbytes = -(-self.elements * source.element.itemsize // source.element.per_byte)
        self._limit = max(chunk_nbytes * source.element.per_byte // source.element.itemsize, 1)

    def jobs(self) -> Iterator[list[Block]]:
        """Blocks in groups of at most JOB_NBYTES."""
        itemsize = self.source.element.itemsize
        group: list[Block] = []
        nbytes = 0
        blocks = (
            self.source.logical_blocks(self._limit) if self.order is None else self.source.storage_blocks(self._limit)
        )
        for block in blocks:
            if group and nbytes + block.numel * itemsize > JOB_NBYTES:
                yield group
                group, nbytes = [], 0
            group.append(block)
            nbytes += block.numel * itemsize
        if group:
            yield group

    def start_of(self, block: Block) -> int:
        """Position of the block's first element in the walk."""
        return self.source.first_index(block) if self.order is None else block.start

    def nbytes_of(self, job: Iterable[Block]) -> int:
        return sum(block.numel for block in job) * self.source.element.itemsize


def scan_task(walk: Walk, decoder: Decoder, device: torch.device, *, careful: bool = False) -> Task[list[Facts]]:
    """The facts of every stream of a decoder, over the elements of a walk; `careful` as in `float_facts`."""
    import torch

    spares: Spares[tuple[Scratch, list[FloatWork]]] = Spares(lambda: (Scratch(), []))
    totals = [Facts() for _ in decoder.streams]

    def work(job: list[Block]) -> tuple[int, list[Facts]]:
        with spares.one() as (scratch, rooms), device_errors(device.type):
            found = [Facts() for _ in decoder.streams]
            for block in job:
                units = walk.source.read(block, scratch)
                start = walk.start_of(block)
                arrays = decoder.decode(units, start)
                if not rooms or rooms[0].length < arrays[0].size:
                    rooms[:] = [FloatWork(arrays[0].size, device)]
                for stream, values, facts, total in zip(decoder.streams, arrays, found, totals, strict=True):
                    chunk = torch.from_numpy(values).to(device)
                    if stream.domain == "int":
                        of_chunk = int_facts(chunk, stream.offset, rooms[0])
                    else:
                        of_chunk = float_facts(chunk, stream.smallest_normal, rooms[0], careful=careful)
                    # All of `total` comes before this job: jobs are merged in order.
                    _place(of_chunk, (facts, total), values, stream.offset, start, walk.order)
                    facts.merge(of_chunk)
            return walk.nbytes_of(job), found

    done = 0
    yield Progress(0, walk.nbytes)
    results = answers(work, walk.jobs(), workers=workers_for(walk, device))
    try:
        for nbytes, found in results:
            for total, facts in zip(totals, found, strict=True):
                total.merge(facts)
            done += nbytes
            yield Progress(min(done, walk.nbytes), walk.nbytes)
    finally:
        results.close()
    return totals


def workers_for(walk: Walk, device: torch.device) -> int:
    """Threads that are worth starting: none but the caller's for a small tensor, or where a device does the work."""
    return WORKERS if device.type == "cpu" and walk.nbytes > JOB_NBYTES // 2 else 1


def _place(
    facts: Facts,
    earlier_facts: tuple[Facts, Facts],
    values: npt.NDArray[Any],
    offset: int,
    start: int,
    order: Order | None,
) -> None:
    """Note where a chunk's extremes and its first NaN are, as far as earlier chunks leave that open."""
    import numpy as np

    in_order = order is None or order.is_logical
    if facts.min is not None and all(_is_lower(facts.min, known.min, in_order) for known in earlier_facts):
        facts.argmin = first_index(values == facts.min - offset, start, order)
    if facts.max is not None and all(_is_higher(facts.max, known.max, in_order) for known in earlier_facts):
        facts.argmax = first_index(values == facts.max - offset, start, order)
    if facts.nan and not (in_order and any(known.first_nan is not None for known in earlier_facts)):
        facts.first_nan = first_index(np.isnan(values), start, order)


def _is_lower(low: Number, known: Number | None, in_order: bool) -> bool:
    """Whether a chunk's minimum can change where the minimum is: later chunks in logical order lose a tie."""
    return known is None or low < known or (low == known and not in_order)


def _is_higher(high: Number, known: Number | None, in_order: bool) -> bool:
    return known is None or high > known or (high == known and not in_order)


def count_patterns_task(
    walk: Walk, table: PatternTable, device: torch.device
) -> Task[tuple[npt.NDArray[np.int64], Facts]]:
    """How often each bit pattern occurs in a walk, and the positions of the extremes and of the first NaN."""
    import numpy as np

    spares = Spares(Scratch)
    totals = np.zeros(table.values.size, np.int64)
    total_places = Facts()

    def work(job: list[Block]) -> tuple[int, npt.NDArray[np.int64], Facts]:
        with spares.one() as scratch, device_errors(device.type):
            counts = np.zeros(table.values.size, np.int64)
            places = Facts()
            for block in job:
                units = walk.source.read(block, scratch)
                chunk_counts = _count_patterns(units, table.values.size, scratch, device)
                counts += chunk_counts
                of_chunk = _extremes(table, chunk_counts)
                # All of `total_places` comes before this job: jobs are merged in order.
                _place_patterns(of_chunk, (places, total_places), table, units, walk.start_of(block), walk.order)
                places.merge(of_chunk)
            return walk.nbytes_of(job), counts, places

    done = 0
    yield Progress(0, walk.nbytes)
    results = answers(work, walk.jobs(), workers=workers_for(walk, device))
    try:
        for nbytes, counts, found in results:
            totals += counts
            total_places.merge(found)
            done += nbytes
            yield Progress(min(done, walk.nbytes), walk.nbytes)
    finally:
        results.close()
    return totals, total_places


def _count_patterns(
    units: npt.NDArray[Any], size: int, scratch: Scratch, device: torch.device
) -> npt.NDArray[np.int64]:
    import numpy as np
    import torch

    codes = units
    if units.itemsize == 2:
        # torch counts int32 faster than numpy counts anything, and knows no arithmetic on uint16.
        codes = scratch.array("codes", "i4", units.size)
        np.copyto(codes, units)
    counts: npt.NDArray[np.int64] = torch.bincount(torch.from_numpy(codes).to(device), minlength=size).cpu().numpy()
    return counts


def _extremes(table: PatternTable, counts: npt.NDArray[np.int64]) -> Facts:
    """The extremes of a chunk, and whether it has NaN."""
    import numpy as np

    facts = Facts(nan=int(counts[table.nan].sum()))
    present = np.flatnonzero(counts[table.order])
    if present.size:
        facts.min, facts.max = (table.values[table.order[end]].item() for end in (present[0], present[-1]))
    return facts


def _place_patterns(
    facts: Facts,
    earlier_facts: tuple[Facts, Facts],
    table: PatternTable,
    units: npt.NDArray[Any],
    start: int,
    order: Order | None,
) -> None:
    """As `_place`, for units that are patterns."""
    import numpy as np

    in_order = order is None or order.is_logical
    if facts.min is not None and all(_is_lower(facts.min, known.min, in_order) for known in earlier_facts):
        facts.argmin = first_index(_matches(units, np.flatnonzero(table.values == facts.min)), start, order)
    if facts.max is not None and all(_is_higher(facts.max, known.max, in_order) for known in earlier_facts):
        facts.argmax = first_index(_matches(units, np.flatnonzero(table.values == facts.max)), start, order)
    if facts.nan and not (in_order and any(known.first_nan is not None for known in earlier_facts)):
        facts.first_nan = first_index(_matches(units, table.nan), start, order)


def _matches(units: npt.NDArray[Any], patterns: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Where the units are one of the patterns."""
    import numpy as np

    if patterns.size == 1:
        return np.equal(units, patterns.astype(units.dtype)[0])
    wanted = np.zeros(1 << (8 * units.itemsize), np.bool_)
    wanted[patterns] = True
    return wanted[units]


def statistics_of(
    facts: Facts,
    count: int,
    copies: int,
    *,
    is_integer: bool,
    distinct: int | None = None,
    quantiles: tuple[Quantile, ...] = (),
) -> Statistics:
    """Statistics from the facts of elements that are each shown `copies` times.

    Parameters
    ----------
    count
        All elements of the tensor.
    """
    moments = facts.moments.times(copies)
    finite = moments.count
    l1: Number | None = None
    if finite:
        l1 = moments.absolute >> UNIT_BITS if is_integer else moments.l1
    return Statistics(
        count=count,
        finite=finite,
        nan=facts.nan * copies,
        posinf=facts.posinf * copies,
        neginf=facts.neginf * copies,
        zeros=facts.zeros * copies,
        min=facts.min,
        max=facts.max,
        mean=moments.mean,
        std=moments.std,
        std_sample=moments.std_sample,
        l1=l1,
        l2=moments.l2 if finite else None,
        mean_abs=moments.mean_abs,
        negative=facts.negative * copies,
        denormal=facts.denormal * copies,
        argmin=facts.argmin,
        argmax=facts.argmax,
        first_nan=facts.first_nan,
        distinct=distinct,
        quantiles=quantiles,
    )


def with_places(facts: Facts, places: Facts) -> Facts:
    """The facts with the positions that another walk or table found."""
    return replace(
        facts,
        argmin=earlier(facts.argmin, places.argmin),
        argmax=earlier(facts.argmax, places.argmax),
        first_nan=earlier(facts.first_nan, places.first_nan),
    )
