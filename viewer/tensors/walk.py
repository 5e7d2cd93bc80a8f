"""One pass over the elements of a tensor: its blocks in groups, worked on by threads, merged in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from viewer.task import Progress, Task
from viewer.tensors.devices import device_errors
from viewer.tensors.layout import Block, Order
from viewer.tensors.moments import FloatWork
from viewer.tensors.scratch import Scratch
from viewer.tensors.source import ElementSource
from viewer.tensors.workers import WORKERS, Spares, answers

if TYPE_CHECKING:
    import torch

Found = TypeVar("Found")

CHUNK_NBYTES: Final = 2 << 20
"""Bytes of one chunk: few enough for the caches, and enough that the calls cost nothing beside the arithmetic."""

JOB_NBYTES: Final = 8 << 20
"""Bytes between two places where a task can be stopped: some 20 ms. A helper is told of this much at a time."""


class Room:
    """Work space of one thread."""

    def __init__(self) -> None:
        self.scratch = Scratch()
        self._floats: FloatWork | None = None

    def floats(self, length: int, device: torch.device) -> FloatWork:
        """Work space for chunks of this length; of one device only."""
        if self._floats is None or self._floats.length < length:
            self._floats = FloatWork(length, device)
        return self._floats


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
    is_thin
        Whether a block of few elements takes its time to read: then it is a job by itself.
    """

    def __init__(self, source: ElementSource, *, logical: bool = False, chunk_nbytes: int = CHUNK_NBYTES) -> None:
        self.source = source
        self.order: Order | None = None if logical else source.order
        self.copies = 1 if self.order is None else self.order.copies
        self.elements = source.count // self.copies if source.count else 0
        self.nbytes = -(-self.elements * source.element.itemsize // source.element.per_byte)
        self._limit = max(chunk_nbytes * source.element.per_byte // source.element.itemsize, 1)
        self.is_thin = source.affordable(self._limit, logical=self.order is None) < self._limit

    def jobs(self) -> Iterator[list[Block]]:
        """Blocks in groups of at most JOB_NBYTES, or of some 20 ms."""
        itemsize = self.source.element.itemsize
        group: list[Block] = []
        nbytes = 0
        blocks = (
            self.source.logical_blocks(self._limit) if self.order is None else self.source.storage_blocks(self._limit)
        )
        for block in blocks:
            if group and (self.is_thin or nbytes + block.numel * itemsize > JOB_NBYTES):
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


def walk_task(
    walk: Walk,
    device: torch.device,
    work: Callable[[list[Block], Room], Found],
    merge: Callable[[Found], None],
    helped: Callable[[list[Block]], Found | None] | None = None,
) -> Task[None]:
    """Give every job of a walk to `work`, in any thread, and what it finds to `merge`, in order, in this thread.

    Parameters
    ----------
    helped
        Asked before `work` for the same; None where that is to be called.
    """
    rooms = Spares(Room)

    def measured(job: list[Block]) -> tuple[int, Found]:
        if helped is not None and (found := helped(job)) is not None:
            return walk.nbytes_of(job), found
        with rooms.one() as room, device_errors(str(device)):
            return walk.nbytes_of(job), work(job, room)

    done = 0
    yield Progress(0, walk.nbytes)
    # A small tensor is not worth a thread, and a device has its own.
    workers = WORKERS if device.type == "cpu" and walk.nbytes > JOB_NBYTES // 2 else 1
    results = answers(measured, walk.jobs(), workers=workers)
    try:
        for nbytes, found in results:
            merge(found)
            done += nbytes
            yield Progress(min(done, walk.nbytes), walk.nbytes)
    finally:
        results.close()
