"""Which task answers which request of `values_requests`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.engine.protocol import Request
from viewer.engine.values_requests import (
    ClearScanCache,
    MeasureScanCache,
    ReadKernels,
    ReadLine,
    ReadMap,
    ReadSlice,
    RuleHistogram,
    ScanAll,
    SummariseMany,
    UseResources,
)
from viewer.task import Progress, Task


def read_slice(request: ReadSlice, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.tensors.slice_block import block_task

    return block_task(
        checkpoint,
        request.tensor,
        request.axes,
        first_row=request.first_row,
        n_rows=request.n_rows,
        first_column=request.first_column,
        n_columns=request.n_columns,
    )


def read_map(request: ReadMap, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.tensors.slice_map import map_task

    return map_task(
        checkpoint,
        request.tensor,
        request.axes,
        height=request.height,
        width=request.width,
        reduce=request.reduce,
        row_range=request.row_range,
        column_range=request.column_range,
    )


def read_kernels(request: ReadKernels, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.tensors.slice_kernels import kernels_task

    return kernels_task(
        checkpoint,
        request.tensor,
        height=request.height,
        width=request.width,
        first_row=request.first_row,
        first_column=request.first_column,
        fixed=request.fixed,
    )


def read_line(request: ReadLine, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.tensors.slice_map import line_task

    return line_task(
        checkpoint,
        request.tensor,
        request.axis,
        width=request.width,
        fixed=request.fixed,
        index_range=request.index_range,
    )


def rule_histogram(request: RuleHistogram, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.tensors.ruled import ruled_task

    return ruled_task(checkpoint, request.tensor, request.rule, device=request.device)


def summarise_many(request: SummariseMany, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.tensors.many import many_task

    return many_task(checkpoint, request.tensors, request.rule, device=request.device)


def scan_all(request: ScanAll, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.tensors.scan_all import scan_all_task

    return scan_all_task(checkpoint, request.tensors, device=request.device, use_cache=request.use_cache)


def use_resources(request: UseResources) -> Task[None]:
    from viewer.engine.host import bound_memory, default_memory_nbytes
    from viewer.tensors.scan_cache import keep_at_most
    from viewer.tensors.workers import use_threads

    yield Progress(0, 1, "bounds")
    keep_at_most(request.cache_nbytes)
    use_threads(request.threads)
    if nbytes := request.memory_nbytes or default_memory_nbytes():
        bound_memory(nbytes)


def measure_scan_cache(_request: MeasureScanCache) -> Task[int]:
    from viewer.tensors.scan_cache import kept_nbytes

    yield Progress(0, 1, "folders")
    return kept_nbytes()


def clear_scan_cache(_request: ClearScanCache) -> Task[int]:
    from viewer.tensors.scan_cache import clear

    yield Progress(0, 1, "folders")
    return clear()


VALUES_HANDLERS: Final[Mapping[type[Request], Callable[..., Task[Any]]]] = {
    ReadSlice: read_slice,
    ReadMap: read_map,
    ReadKernels: read_kernels,
    ReadLine: read_line,
    RuleHistogram: rule_histogram,
    SummariseMany: summarise_many,
    ScanAll: scan_all,
    ClearScanCache: clear_scan_cache,
    MeasureScanCache: measure_scan_cache,
    UseResources: use_resources,
}
