"""The pass over elements of at most 16 bits: how often each bit pattern occurs, and where the extremes are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from viewer.formats.storage_bytes import files_of
from viewer.task import Task
from viewer.tensors.crew import Helped, is_helped
from viewer.tensors.helper_orders import JobAnswer, PatternOrder
from viewer.tensors.layout import Block
from viewer.tensors.moments import Facts
from viewer.tensors.patterns import PatternTable
from viewer.tensors.positions import place_extremes
from viewer.tensors.scratch import Scratch
from viewer.tensors.walk import Room, Walk, walk_task

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    Ints = npt.NDArray[np.int64]


def count_patterns_task(
    walk: Walk, tables: Sequence[PatternTable], device: torch.device
) -> Task[tuple[Ints, list[Facts]]]:
    """The counts by pattern, and by each table the positions of the extremes and of the first NaN."""
    import numpy as np

    totals = np.zeros(tables[0].values.size, np.int64)
    all_places = [Facts() for _ in tables]
    jobs = PatternJobs(walk, tables, device)

    def work(job: list[Block], room: Room) -> tuple[Ints, list[Facts]]:
        # All that is known comes before this job: jobs are merged in order.
        return jobs.found(job, room, all_places)

    def merge(answer: tuple[Ints, list[Facts]]) -> None:
        counts, places = answer
        np.add(totals, counts, out=totals)
        for known, found in zip(all_places, places, strict=True):
            known.merge(found)

    helped = None
    if is_helped(walk, device.type):
        order = PatternOrder(files_of(walk.source.checkpoint), walk.source.tensor)
        helped = Helped(order, lambda: all_places, _read).found
    yield from walk_task(walk, device, work, merge, helped)
    return totals, all_places


def _read(answer: JobAnswer) -> tuple[Ints, list[Facts]]:
    """What another process found of a job."""
    import numpy as np

    (counts,) = answer.counts
    return np.frombuffer(counts, np.int64), list(answer.facts)


class PatternJobs:
    """The jobs of one pass, as any thread or process does them; parameters as of `count_patterns_task`."""

    def __init__(self, walk: Walk, tables: Sequence[PatternTable], device: torch.device) -> None:
        self._walk = walk
        self._tables = tables
        self._device = device

    def found(self, job: Iterable[Block], room: Room, known: Sequence[Facts]) -> tuple[Ints, list[Facts]]:
        """The counts of a job by pattern, and by each table the positions that are news after what is `known`."""
        import numpy as np

        walk, size = self._walk, self._tables[0].values.size
        counts = np.zeros(size, np.int64)
        places = [Facts() for _ in self._tables]
        for block in job:
            units = walk.source.read(block, room.scratch)
            of_chunk = _count(units, size, room.scratch, self._device)
            counts += of_chunk
            for table, found, before in zip(self._tables, places, known, strict=True):
                facts = _extremes(table, of_chunk)
                equal_to, is_nan = partial(_equal, units, table), partial(_is_any, units, table.nan)
                place_extremes(facts, (found, before), walk.start_of(block), walk.order, equal_to, is_nan)
                found.merge(facts)
        return counts, places


def _count(units: npt.NDArray[Any], size: int, scratch: Scratch, device: torch.device) -> Ints:
    import numpy as np
    import torch

    codes = units
    if units.itemsize == 2:
        # torch counts int32 faster than numpy counts anything, and knows no arithmetic on uint16.
        codes = scratch.array("codes", "i4", units.size)
        np.copyto(codes, units)
    counts: Ints = torch.bincount(torch.from_numpy(codes).to(device), minlength=size).cpu().numpy()
    return counts


def _extremes(table: PatternTable, counts: Ints) -> Facts:
    """The extremes of a chunk, and its number of NaNs."""
    import numpy as np

    facts = Facts(nan=int(counts[table.nan].sum()))
    present = np.flatnonzero(counts[table.order])
    if present.size:
        facts.min, facts.max = (table.values[table.order[end]].item() for end in (present[0], present[-1]))
    return facts


def _equal(units: npt.NDArray[Any], table: PatternTable, number: int | float) -> npt.NDArray[np.bool_]:
    import numpy as np

    return _is_any(units, np.flatnonzero(table.values == number))


def _is_any(units: npt.NDArray[Any], patterns: Ints) -> npt.NDArray[np.bool_]:
    """Where the units are one of the patterns."""
    import numpy as np

    mask: npt.NDArray[np.bool_]
    if patterns.size == 1:
        mask = np.equal(units, patterns.astype(units.dtype)[0])
    else:
        wanted = np.zeros(1 << (8 * units.itemsize), np.bool_)
        wanted[patterns] = True
        mask = wanted[units]
    return mask
