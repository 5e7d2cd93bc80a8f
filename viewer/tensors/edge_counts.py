"""How many values of a tensor lie between any edges, exactly: one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.document import Checkpoint
from viewer.task import Task
from viewer.tensors.bins import Binner
from viewer.tensors.decode import Domain, decoder_of, element_normal
from viewer.tensors.devices import torch_device
from viewer.tensors.pattern_scan import count_patterns_task
from viewer.tensors.patterns import PatternCounts, PatternTable, table_of
from viewer.tensors.prefix_bins import PrefixBinner
from viewer.tensors.quantized import quantizer_of
from viewer.tensors.scan import StreamScan, scan_task
from viewer.tensors.source import ElementSource
from viewer.tensors.walk import Walk

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


_MANY: Final = 1 << 18
"""Values from which a table of a million prefixes is worth its making."""


def edge_counts_task(
    checkpoint: Checkpoint, number: int, edges: Sequence[Floats | None], *, device: str = "cpu"
) -> Task[list[Ints | None]]:
    """For every way to look at a tensor (see `TensorSummary.parts`): below the edges, in each bin, above them.

    Parameters
    ----------
    edges
        For each way its own, strictly increasing; None where nothing is to be counted.
    """
    import numpy as np

    tensor = checkpoint.tensor(number)
    where = torch_device(device)
    with ElementSource(checkpoint, tensor) as source:
        quantizer = quantizer_of(checkpoint, tensor) if tensor.dtype.kind == "quantized" else None
        if source.element.form == "pattern" and (quantizer is None or quantizer.is_per_tensor):
            walk = Walk(source)
            table = table_of(tensor)
            counts, _ = yield from count_patterns_task(walk, [table], where)
            tables = [table]
            if quantizer is not None:
                real = quantizer.real(table.values.astype(np.int64), 0).astype(np.float64)
                tables = [PatternTable(real, element_normal("float32")), table]
            return [
                None if some is None else PatternCounts(each, counts).between(some) * walk.copies
                for each, some in zip(tables, edges, strict=True)
            ]
        walk = Walk(source, logical=quantizer is not None and not quantizer.is_per_tensor)
        decoder = decoder_of(tensor.dtype, tensor.flags, quantizer)
        scans = [
            StreamScan.of(stream, None if some is None else binner_of(some, stream.domain, walk.elements))
            for stream, some in zip(decoder.streams, edges, strict=True)
        ]
        yield from scan_task(walk, decoder, scans, where, facts=False)
        return [None if scan.binner is None else scan.counts * walk.copies for scan in scans]


def binner_of(edges: Floats, domain: Domain, count: int) -> Binner:
    """What counts `count` values between any edges fastest."""
    binner = Binner(edges, domain)
    if binner.rule == "search" and domain != "int" and count >= _MANY:
        return PrefixBinner(edges, domain)
    return binner
