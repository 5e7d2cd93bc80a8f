"""Numbers about every tensor of a checkpoint, as one task."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.errors import DeviceProblem, FileChanged, ViewerError
from viewer.task import Progress, Task
from viewer.tensors.results import TensorSummary
from viewer.tensors.scan_results import MINI_BINS, ScanBatch, ScanRow, ScanTotals
from viewer.tensors.summary import summarise_task

_BATCH_S: Final = 0.25
"""How often rows are sent: often enough to look alive."""

_BATCH_ROWS: Final = 500


def scan_all_task(
    checkpoint: Checkpoint, numbers: Sequence[int] | None = None, *, device: str = "cpu"
) -> Task[ScanTotals]:
    """Rows of all tensors, in batches as partial results. Progress is in bytes of the tensors.

    Raises
    ------
    DeviceProblem, FileChanged
        These concern all tensors; one that cannot be read is a row with its message.
    """
    wanted = list(range(len(checkpoint.tensors))) if numbers is None else list(dict.fromkeys(numbers))
    sizes = [_nbytes(checkpoint, number) for number in wanted]
    total, done, read, problems = sum(sizes), 0, 0, 0
    rows: list[ScanRow] = []
    sent_s = time.monotonic()
    yield Progress(0, total)
    for number, size in zip(wanted, sizes, strict=True):
        try:
            summary: TensorSummary
            for step in (steps := _Steps(summarise_task(checkpoint, number, device=device, bins=MINI_BINS))):
                yield Progress(min(done + step.done * size // max(step.total, 1), total), total)
            summary = steps.result
            read += summary.nbytes_read
            rows.append(row_of(summary))
        except (DeviceProblem, FileChanged):
            raise
        except ViewerError as error:
            problems += 1
            rows.append(ScanRow(number, problem=error.fault))
        done += size
        if len(rows) >= _BATCH_ROWS or time.monotonic() - sent_s > _BATCH_S:
            yield Progress(done, total, partial=ScanBatch(rows))
            rows, sent_s = [], time.monotonic()
    if rows:
        yield Progress(done, total, partial=ScanBatch(rows))
    return ScanTotals(len(wanted), problems, 0, read)


class _Steps:
    """The steps of a task, and then its result."""

    result: TensorSummary

    def __init__(self, task: Task[TensorSummary]) -> None:
        self._task = task

    def __iter__(self) -> Task[None]:
        self.result = yield from self._task


def _nbytes(checkpoint: Checkpoint, number: int) -> int:
    tensor = checkpoint.tensor(number)
    return min(tensor.nbytes, tensor.storage.nbytes) if tensor.storage is not None else 0


def row_of(summary: TensorSummary) -> ScanRow:
    """The row of a tensor from its summary."""
    found = summary.statistics
    constant = bool(found.count) and found.finite == found.count and found.min == found.max
    return ScanRow(
        summary.number,
        summary.of,
        found.count,
        found.min,
        found.max,
        found.mean,
        found.std,
        found.l2,
        found.zeros,
        found.nan,
        found.posinf,
        found.neginf,
        constant,
        bool(found.count) and found.zeros == found.count,
        None,
        0,
        tuple(summary.histogram.counts),
    )
