"""The passes over elements wider than 16 bits: facts, counts between edges, or both at once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from viewer.formats.storage_bytes import files_of
from viewer.task import Task
from viewer.tensors.bins import Binner
from viewer.tensors.crew import Helped, is_helped
from viewer.tensors.decode import Decoder, Stream
from viewer.tensors.helper_orders import JobAnswer, ScanOrder
from viewer.tensors.layout import Block
from viewer.tensors.moments import Facts, float_facts, int_facts
from viewer.tensors.positions import place_extremes
from viewer.tensors.scratch import Scratch
from viewer.tensors.walk import Room, Walk, walk_task

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class StreamScan:
    """What is found of one stream of a tensor.

    Attributes
    ----------
    stream
        Which.
    binner
        Where its values are counted; None where they are not.
    counts
        Below the edges, in each bin, above.
    is_finite
        True where it is known that all values are finite.
    """

    stream: Stream
    facts: Facts
    binner: Binner | None
    counts: Ints
    is_finite: bool

    @classmethod
    def of(cls, stream: Stream, binner: Binner | None = None, *, is_finite: bool = False) -> StreamScan:
        import numpy as np

        return cls(stream, Facts(), binner, np.zeros(0 if binner is None else binner.bins + 2, np.int64), is_finite)

    def fresh(self) -> StreamScan:
        """The same with nothing found yet."""
        return StreamScan.of(self.stream, self.binner, is_finite=self.is_finite)

    def merge(self, other: StreamScan) -> None:
        self.facts.merge(other.facts)
        self.counts += other.counts


def scan_task(
    walk: Walk,
    decoder: Decoder,
    scans: Sequence[StreamScan],
    device: torch.device,
    *,
    facts: bool = True,
    careful: bool = False,
) -> Task[None]:
    """Add what is found to the scans, one for each stream of a decoder.

    Parameters
    ----------
    facts
        Whether to gather the facts, too, and not only the counts.
    careful
        As in `float_facts`.
    """

    jobs = ScanJobs(walk, decoder, scans, device, facts=facts, careful=careful)

    def known() -> list[Facts]:
        return [scan.facts for scan in scans]

    def work(job: list[Block], room: Room) -> list[StreamScan]:
        # All that is known comes before this job: jobs are merged in order.
        return jobs.found(job, room, known())

    def merge(found: list[StreamScan]) -> None:
        for total, scan in zip(scans, found, strict=True):
            total.merge(scan)

    helped = None
    if is_helped(walk, device.type) and all(scan.binner is None or type(scan.binner) is Binner for scan in scans):
        helped = Helped(jobs.order(), known, jobs.read).found
    yield from walk_task(walk, device, work, merge, helped)


class ScanJobs:
    """The jobs of one pass, as any thread or process does them; parameters as of `scan_task`."""

    def __init__(
        self,
        walk: Walk,
        decoder: Decoder,
        scans: Sequence[StreamScan],
        device: torch.device,
        *,
        facts: bool,
        careful: bool,
    ) -> None:
        self._walk = walk
        self._decoder = decoder
        self._scans = [scan.fresh() for scan in scans]
        self._device = device
        self._facts = facts
        self._careful = careful

    def found(self, job: Iterable[Block], room: Room, known: Sequence[Facts]) -> list[StreamScan]:
        """What a job tells of each stream.

        Parameters
        ----------
        known
            What was found of each before this job.
        """
        walk = self._walk
        found = [scan.fresh() for scan in self._scans]
        for block in job:
            units = walk.source.read(block, room.scratch)
            start = walk.start_of(block)
            for scan, before, values in zip(found, known, self._decoder.decode(units, start), strict=True):
                if self._facts:
                    of_chunk = _facts(values, scan.stream, room, self._device, self._careful)
                    equal_to, is_nan = partial(_equal, values, scan.stream.offset), partial(_is_nan, values)
                    place_extremes(of_chunk, (scan.facts, before), start, walk.order, equal_to, is_nan)
                    scan.facts.merge(of_chunk)
                if scan.binner is not None:
                    scan.counts += _counts(values, scan, scan.binner, room.scratch, self._device)
        return found

    def order(self) -> ScanOrder:
        """The pass, for another process."""
        binners = [scan.binner for scan in self._scans]
        return ScanOrder(
            files_of(self._walk.source.checkpoint),
            self._walk.source.tensor,
            tuple(None if binner is None else array("d", binner.edges.tobytes()) for binner in binners),
            tuple(binner is not None and binner.inside for binner in binners),
            tuple(scan.is_finite for scan in self._scans),
            self._facts,
            self._careful,
        )

    def read(self, answer: JobAnswer) -> list[StreamScan]:
        """What another process found of a job."""
        import numpy as np

        return [
            replace(scan, facts=facts, counts=np.frombuffer(counts, np.int64))
            for scan, facts, counts in zip(self._scans, answer.facts, answer.counts, strict=True)
        ]


def _facts(values: npt.NDArray[Any], stream: Stream, room: Room, device: torch.device, careful: bool) -> Facts:
    import torch

    chunk = torch.from_numpy(values).to(device)
    floats = room.floats(values.size, device)
    if stream.domain == "int":
        return int_facts(chunk, stream.offset, floats)
    return float_facts(chunk, stream.smallest_normal, floats, careful=careful)


def _equal(values: npt.NDArray[Any], offset: int, number: int | float) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = values == number - offset
    return mask


def _is_nan(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    import numpy as np

    mask: npt.NDArray[np.bool_] = np.isnan(values)
    return mask


def _counts(
    values: npt.NDArray[Any], scan: StreamScan, binner: Binner, scratch: Scratch, device: torch.device
) -> Ints:
    import numpy as np

    if scan.stream.offset:
        values = np.bitwise_xor(values.view(np.uint64), np.uint64(scan.stream.offset))
    if not scan.is_finite:
        finite = np.isfinite(values)
        if not finite.all():
            values = values[finite]
    if device.type == "cpu":
        return binner.count(values, scratch)
    return binner.count_on(values.astype(np.float64), device)
