"""The passes over elements wider than 16 bits: facts, counts between edges, or both at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from viewer.task import Task
from viewer.tensors.bins import Binner
from viewer.tensors.decode import Decoder, Stream
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

    def work(job: list[Block], room: Room) -> list[StreamScan]:
        found = [scan.fresh() for scan in scans]
        for block in job:
            units = walk.source.read(block, room.scratch)
            start = walk.start_of(block)
            for scan, total, values in zip(found, scans, decoder.decode(units, start), strict=True):
                if facts:
                    of_chunk = _facts(values, scan.stream, room, device, careful)
                    equal_to, is_nan = partial(_equal, values, scan.stream.offset), partial(_is_nan, values)
                    # All that `total` has found comes before this job: jobs are merged in order.
                    place_extremes(of_chunk, (scan.facts, total.facts), start, walk.order, equal_to, is_nan)
                    scan.facts.merge(of_chunk)
                if scan.binner is not None:
                    scan.counts += _counts(values, scan, scan.binner, room.scratch, device)
        return found

    def merge(found: list[StreamScan]) -> None:
        for total, scan in zip(scans, found, strict=True):
            total.merge(scan)

    yield from walk_task(walk, device, work, merge)


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
