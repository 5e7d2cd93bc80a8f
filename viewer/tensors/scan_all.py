"""Numbers about every tensor of a checkpoint, as one task."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import STORED, TensorRef
from viewer.errors import DeviceProblem, FileChanged, ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task
from viewer.tensors.crew import CREW, WORTH_NBYTES
from viewer.tensors.devices import torch_device
from viewer.tensors.scan_cache import ScanCache
from viewer.tensors.scan_results import ScanBatch, ScanRow, ScanTotals
from viewer.tensors.scan_row import scan_row_task
from viewer.tensors.walk import Room

_BATCH_S: Final = 0.25
"""How often rows are sent at least: often enough to look alive."""

_BATCH_ROWS: Final = 2000
"""Rows of a batch at most: a millisecond of unpacking in the window."""

_COUNTED_AT_ONCE: Final = 10_000
"""Tensors whose bytes are added up between two places to stop: some 50 ms."""

_SAVE_S: Final = 30.0
"""How often what was found is kept, so that little is lost when the engine ends."""


def scan_all_task(
    checkpoint: Checkpoint,
    numbers: Sequence[int] | None = None,
    *,
    device: str = "cpu",
    use_cache: bool = True,
) -> Task[ScanTotals]:
    """Rows of all tensors, in batches as partial results. Progress is in bytes of the tensors.

    Tensors that show the same elements in the same way are read once. What was found is kept for the next opening,
    also when the task is stopped (see `viewer.tensors.scan_cache`).

    Parameters
    ----------
    numbers
        Of the tensors, in the order in which they are to come; None for all.
    use_cache
        False to read all anew.

    Raises
    ------
    DeviceProblem, FileChanged
        These concern all tensors; one that cannot be read is a row with its message.
    """
    wanted = list(range(len(checkpoint.tensors))) if numbers is None else list(dict.fromkeys(numbers))
    cache = ScanCache(checkpoint, read=use_cache)
    try:
        return (yield from _Scan(checkpoint, wanted, device, cache).task())
    finally:
        cache.write()


class _Scan:
    def __init__(self, checkpoint: Checkpoint, wanted: list[int], device: str, cache: ScanCache) -> None:
        self._checkpoint = checkpoint
        self._wanted = wanted
        self._device = torch_device(device)
        self._cache = cache
        self._known: dict[object, ScanRow] = {}
        self._rows: list[ScanRow] = []
        self._problems = self._from_cache = self._nbytes_read = 0
        self._done = self._total = 0

    def task(self) -> Task[ScanTotals]:
        sent_s = saved_s = time.monotonic()
        room = Room()
        yield Progress(0, 0)
        for nth, number in enumerate(self._wanted):
            self._total += _nbytes(self._checkpoint.tensor(number))
            if nth % _COUNTED_AT_ONCE == _COUNTED_AT_ONCE - 1:
                yield Progress(0, 0)
        if self._total >= WORTH_NBYTES and self._device.type == "cpu":
            CREW.want()
        with StorageReader(self._checkpoint) as reader:
            for number in self._wanted:
                tensor = self._checkpoint.tensor(number)
                row = yield from self._row(tensor, reader, room)
                self._rows.append(row)
                self._problems += row.problem is not None
                self._done += _nbytes(tensor)
                now_s = time.monotonic()
                if len(self._rows) >= _BATCH_ROWS or now_s - sent_s > _BATCH_S:
                    yield self._batch()
                    sent_s = now_s
                else:
                    yield Progress(self._done, self._total)
                if now_s - saved_s > _SAVE_S:
                    self._cache.write()
                    saved_s = now_s
        if self._rows:
            yield self._batch()
        return ScanTotals(len(self._wanted), self._problems, self._from_cache, self._nbytes_read)

    def _batch(self) -> Progress:
        rows, self._rows = self._rows, []
        return Progress(self._done, self._total, partial=ScanBatch(rows))

    def _row(self, tensor: TensorRef, reader: StorageReader, room: Room) -> Generator[Progress, None, ScanRow]:
        same = _identity(tensor)
        row = self._known.get(same)
        if row is not None:
            return replace(row, number=tensor.number)
        row = self._cache.find(tensor)
        if row is not None:
            self._from_cache += 1
        else:
            row = yield from self._read(tensor, reader, room)
            self._cache.keep(tensor, row)
        self._known[same] = row
        return row

    def _read(self, tensor: TensorRef, reader: StorageReader, room: Room) -> Generator[Progress, None, ScanRow]:
        size = _nbytes(tensor)
        steps = scan_row_task(self._checkpoint, tensor, reader, self._device, room)
        try:
            while True:
                step = next(steps)
                yield Progress(self._done + step.done * size // max(step.total, 1), self._total)
        except StopIteration as stop:
            row: ScanRow
            row, nbytes = stop.value
            self._nbytes_read += nbytes
            return row
        except (DeviceProblem, FileChanged):
            raise
        except ViewerError as error:
            is_in_parts = tensor.problem is None and tensor.storage is None and tensor.device != "meta"
            return ScanRow(tensor.number, problem=error.fault, has_values=not is_in_parts)
        finally:
            steps.close()


def _nbytes(tensor: TensorRef) -> int:
    # An expanded view claims any number of elements; what is behind it is its storage.
    return min(tensor.nbytes, tensor.storage.nbytes) if tensor.storage is not None else 0


def _identity(tensor: TensorRef) -> object:
    """Equal for tensors that show the same elements in the same way."""
    storage = tensor.storage
    if storage is None:
        return tensor.number
    # Two storages may be the same bytes of a file.
    place: object = (storage.file, storage.offset) if storage.encoding == STORED else storage.number
    extra = sorted((name, repr(value)) for name, value in tensor.extra.items())
    seen = (tensor.dtype.name, tensor.shape, tensor.stride, tensor.storage_offset, int(tensor.flags), tensor.layout)
    return (place, storage.encoding, storage.big_endian, seen, tuple(extra), tensor.problem)
