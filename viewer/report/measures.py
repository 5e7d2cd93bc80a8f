"""Values for a report: statistics of many tensors as one task, and the first elements of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from viewer.checkpoint.document import Checkpoint
from viewer.errors import DeviceProblem, FileChanged, ViewerError
from viewer.report.extract import Measures, distinct_tensors, tensor_problem
from viewer.task import Progress, Task

if TYPE_CHECKING:
    from viewer.tensors.results import TensorSummary

ELEMENTS_AT_ONCE: Final = 65_536
"""Elements that become Python objects together (a list of them takes about 2 MB)."""


def check_device(device: str) -> None:
    """Make sure that values can be computed there, before any of them is asked for.

    Raises
    ------
    ViewerError
        DeviceProblem where the device is missing or failing; or torch itself cannot be imported.
    """
    from viewer.tensors.devices import torch_device

    try:
        # This brings torch, which takes over a second to import: only once values are wanted.
        torch_device(device)
    except ImportError as error:
        raise ViewerError(
            f"torch cannot be imported, and without it no values can be computed ({error})",
            advice="Install it in the environment that Checkpoint Viewer runs in",
        ) from error


def measure_task(checkpoint: Checkpoint, root: int = 0, *, device: str = "cpu") -> Task[Measures]:
    """Statistics of every tensor at and below a node, each distinct tensor once; progress in bytes of all together.

    A tensor that cannot be read is noted in `Measures.problems`. Of tensors that were read whole, the checksums that
    the file keeps are compared, too: those at fault are in `Measures.damaged`. It costs a second look at bytes that
    the system has just read.

    Raises
    ------
    DeviceProblem, FileChanged
        These concern all tensors, so they end the task.
    """
    measures = Measures()
    numbers = list(distinct_tensors(checkpoint, root))
    sizes = [_nbytes_to_read(checkpoint, number) for number in numbers]
    total = sum(sizes)
    done = 0
    for number, size in zip(numbers, sizes, strict=True):
        yield Progress(done, total)
        try:
            measures.summaries[number] = yield from _measure_one(checkpoint, number, device, size, done, total)
        except (DeviceProblem, FileChanged):
            raise
        except ViewerError as error:
            measures.problems[number] = error.fault
        done += size
    yield from _checksums_task(checkpoint, measures, total)
    yield Progress(total, total)
    return measures


def _checksums_task(checkpoint: Checkpoint, measures: Measures, total: int) -> Task[None]:
    """Compare the checksums of storages that measured tensors show whole."""
    from viewer.formats.checksums import MISMATCH, check_task

    whole: dict[int, list[int]] = {}
    for number in measures.summaries:
        tensor = checkpoint.tensor(number)
        if tensor.storage is not None and tensor.nbytes >= tensor.storage.nbytes:
            whole.setdefault(tensor.storage.number, []).append(number)
    task = check_task(checkpoint, whole)
    try:
        while True:
            next(task)
            yield Progress(total, total)
    except StopIteration as stop:
        for storage, problem in stop.value:
            if problem == MISMATCH:
                measures.damaged.update(dict.fromkeys(whole[storage], problem))
    finally:
        task.close()


def _measure_one(
    checkpoint: Checkpoint, number: int, device: str, size: int, before: int, total: int
) -> Task[TensorSummary]:
    """One tensor, its progress as a part of all; it may read its `size` bytes more than once."""
    from viewer.tensors.summary import summarise_task

    task = summarise_task(checkpoint, number, device=device)
    try:
        while True:
            progress = next(task)
            done = size * progress.done // progress.total if progress.total else 0
            yield Progress(before + done, total)
    except StopIteration as stop:
        return _without_histograms(stop.value)
    finally:
        task.close()


def _without_histograms(summary: TensorSummary) -> TensorSummary:
    from viewer.tensors.results import Histogram

    parts = tuple(replace(part, histogram=Histogram()) for part in summary.parts)
    return replace(summary, histogram=Histogram(), parts=parts)


def _nbytes_to_read(checkpoint: Checkpoint, number: int) -> int:
    if tensor_problem(checkpoint, number):
        return 0
    tensor = checkpoint.tensor(number)
    # An expanded view claims any number of elements; what is behind it is its storage.
    return min(tensor.nbytes, tensor.storage.nbytes) if tensor.storage is not None else 0


class ElementReader:
    """Reads leading elements of many tensors, with the checkpoint's files opened once. A context manager."""

    def __init__(self, checkpoint: Checkpoint, device: str = "cpu") -> None:
        from viewer.formats.storage_bytes import StorageReader

        self._checkpoint = checkpoint
        self._device = device
        self._storages = StorageReader(checkpoint)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._storages.close()

    def iter_first(self, number: int, count: int) -> Iterator[list[object]]:
        """The first `count` elements of a tensor in logical order as Python values, some ten thousand at a time.

        Raises
        ------
        ViewerError
            When they cannot be read; some may have been given before.
        """
        from viewer.tensors.reading import read_values

        start = 0
        while start < count:
            wanted = min(ELEMENTS_AT_ONCE, count - start)
            elements: list[object] = read_values(
                self._checkpoint, number, start=start, count=wanted, device=self._device, reader=self._storages
            ).tolist()
            yield elements
            start += len(elements)
            if len(elements) < wanted:
                return  # the tensor has no more
