"""Who compares: the threads of one comparison, and the processes that help them with large tensors."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Final, Self, TypeVar

from viewer.checkpoint.document import Checkpoint
from viewer.compare.helper import Helper, Order
from viewer.compare.pair import PairComparer, Rooms
from viewer.compare.tally import Tally
from viewer.errors import ViewerError
from viewer.formats.storage_bytes import can_travel
from viewer.helper_process import HelperLost
from viewer.interpreter import can_start
from viewer.tensors.workers import Spares

Job = TypeVar("Job")
Answer = TypeVar("Answer")

_IN_FLIGHT: Final = 2
"""Jobs per thread under way or done ahead."""


class Crew:
    """The threads of one comparison. Not `viewer.tensors.workers`: that imports torch, and starts threads per tensor,
    which a checkpoint of forty thousand small ones would notice.

    Parameters
    ----------
    sides
        The two checkpoints, where processes may help; None for threads alone.

    Attributes
    ----------
    rooms
        Work space for one thread each.
    """

    def __init__(self, workers: int, sides: tuple[Checkpoint, Checkpoint] | None = None) -> None:
        self._workers = max(workers, 1)
        self._pool = ThreadPoolExecutor(self._workers, "compare") if self._workers > 1 else None
        self.rooms: Spares[Rooms] = Spares(Rooms)
        self._sides = sides if self._pool is not None and can_start() else None
        self._wanted = False
        self._free: list[Helper] = []
        """Helpers that are ready and have nothing to do; list.pop and append are atomic."""
        self._all: list[Helper] = []
        self._starting: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        for helper in self._all:
            helper.end()
        for thread in self._starting:
            thread.join()
        for helper in self._all:
            helper.close()

    def answers(self, work: Callable[[Job], Answer], jobs: Iterable[Job]) -> Generator[Answer, None, None]:
        """`work(job)` for every job, in their order. Closing it drops the jobs that have not begun."""
        if self._pool is None:
            yield from map(work, jobs)
            return
        queue = iter(jobs)
        under_way: deque[Future[Answer]] = deque(
            self._pool.submit(work, job) for job in islice(queue, self._workers * _IN_FLIGHT)
        )
        try:
            while under_way:
                answer = under_way.popleft().result()
                for job in islice(queue, 1):
                    under_way.append(self._pool.submit(work, job))
                yield answer
        finally:
            for future in under_way:
                future.cancel()

    def want_help(self) -> None:
        """Something differs, so there is much to compute: let processes do it as soon as they have started."""
        if self._wanted or self._sides is None:
            return
        self._wanted = True
        with contextlib.suppress(HelperLost):  # it works without
            for _ in range(self._workers):
                helper = Helper(*self._sides)
                self._all.append(helper)
                thread = threading.Thread(target=self._await, args=(helper,), name="compare-helper")
                self._starting.append(thread)
                thread.start()

    def _await(self, helper: Helper) -> None:
        with contextlib.suppress(HelperLost):
            helper.wait_until_ready()
            self._free.append(helper)

    def tallies(
        self, comparer: PairComparer, pair: int, starts: Sequence[int], *, norms_only: bool = False
    ) -> list[Tally | None]:
        """`comparer.tally_block` of some blocks, by a helper where one is ready and can do it, else in this thread.

        Raises
        ------
        ViewerError
            As `tally_block` does.
        """
        if self._free and _can_travel(comparer):
            order = Order(
                pair,
                comparer.left.tensor,
                comparer.right.tensor,
                comparer.tolerance,
                comparer.asked.counts_steps,
                tuple(starts),
                norms_only,
            )
            # One that ended is not put back: it works without.
            with contextlib.suppress(IndexError, HelperLost):
                helper = self._free.pop()
                try:
                    found = helper.tallies(order)
                except ViewerError:
                    self._free.append(helper)
                    raise
                self._free.append(helper)
                return found
        with self.rooms.one() as rooms:
            return [comparer.tally_block(start, rooms, norms_only=norms_only) for start in starts]


def _can_travel(comparer: PairComparer) -> bool:
    return can_travel(comparer.left.tensor) and can_travel(comparer.right.tensor)
