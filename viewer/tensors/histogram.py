"""The pass that counts values between edges, and histograms from those counts."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from viewer.task import Progress, Task
from viewer.tensors.bins import Binner, make_edges
from viewer.tensors.decode import Decoder
from viewer.tensors.devices import device_errors
from viewer.tensors.layout import Block
from viewer.tensors.results import Histogram, Statistics
from viewer.tensors.scratch import Scratch
from viewer.tensors.statistics import Walk, workers_for
from viewer.tensors.workers import Spares, answers

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]


def edges_for(
    statistics: Statistics, bins: int, value_range: tuple[float, float] | None, *, is_bool: bool = False
) -> tuple[Floats | None, str]:
    """The edges of a stream's histogram, None where it has no bins, and a sentence.

    Parameters
    ----------
    value_range
        None for the range of the finite values.
    """
    import numpy as np

    if not statistics.count:
        return None, "The tensor has no elements"
    if not statistics.finite or statistics.min is None or statistics.max is None:
        return None, "No value is finite"
    if is_bool and value_range is None:
        return np.array([-0.5, 0.5, 1.5]), "One bar for False and one for True"
    low, high = value_range or (statistics.min, statistics.max)
    return make_edges(float(low), float(high), bins)


def count_task(
    walk: Walk, decoder: Decoder, binners: list[Binner | None], device: torch.device, *, finite: list[bool]
) -> Task[list[Ints | None]]:
    """Count every stream of a decoder between its edges.

    Parameters
    ----------
    finite
        For each stream, whether all its values are known to be finite.
    """
    import numpy as np

    spares = Spares(Scratch)

    def work(job: list[Block]) -> tuple[int, list[Ints | None]]:
        with spares.one() as scratch, device_errors(device.type):
            found: list[Ints | None] = [None if b is None else np.zeros(b.bins + 2, np.int64) for b in binners]
            for block in job:
                units = walk.source.read(block, scratch)
                streams = decoder.decode(units, walk.start_of(block))
                for stream, binner, counts, values, clean in zip(
                    decoder.streams, binners, found, streams, finite, strict=True
                ):
                    if binner is None or counts is None:
                        continue
                    numbers = (
                        np.bitwise_xor(values.view(np.uint64), np.uint64(stream.offset)) if stream.offset else values
                    )
                    if not clean:
                        numbers = numbers[np.isfinite(numbers)]
                    if device.type == "cpu":
                        counts += binner.count(numbers, scratch)
                    else:
                        counts += binner.count_on(numbers.astype(np.float64), device)
            return walk.nbytes_of(job), found

    totals: list[Ints | None] = [None if b is None else np.zeros(b.bins + 2, np.int64) for b in binners]
    done = 0
    results = answers(work, walk.jobs(), workers=workers_for(walk, device))
    try:
        for nbytes, found in results:
            for total, counts in zip(totals, found, strict=True):
                if total is not None and counts is not None:
                    total += counts
            done += nbytes
            yield Progress(done, walk.nbytes)
    finally:
        results.close()
    return totals


def histogram_of(
    edges: Floats | None, counts: Ints | None, copies: int, statistics: Statistics, note: str
) -> Histogram:
    """A histogram from the counts below, in each bin and above; checks that they are all the finite values."""
    if edges is None or counts is None:
        return Histogram(note=note)
    below, *inside, above = (number * copies for number in counts.tolist())
    histogram = Histogram(array("d", edges.tolist()), array("q", inside), below, above, note)
    if histogram.total != statistics.finite:
        raise AssertionError(
            f"the histogram counts {histogram.total:,} values where {statistics.finite:,} are finite"
        )
    return histogram
