"""Two threads for one tensor: numpy and torch let go of the interpreter while they count."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Final, Generic, TypeVar

Job = TypeVar("Job")
Answer = TypeVar("Answer")
Spare = TypeVar("Spare")

WORKERS: Final = max(1, min(os.cpu_count() or 1, 8))
"""Threads at most. More than eight do not read a file faster."""

_bound = WORKERS
"""Threads that the person allows."""

_own: int | None = None
"""Threads that torch chose by itself; None before they were changed."""

_IN_FLIGHT: Final = 2
"""Jobs per thread that may be under way or done ahead, so that none waits and a stop is quick."""


def use_threads(number: int) -> None:
    """Compute with so many threads from now on: torch's own in this thread and in threads that start later, and those
    of `answers`. 0 is torch's choice."""
    global _bound, _own
    import torch

    if _own is None:
        _own = torch.get_num_threads()
    torch.set_num_threads(number or _own)
    _bound = min(number, WORKERS) or WORKERS


def most_threads() -> int:
    """How many may compute at a time."""
    return _bound


def answers(
    work: Callable[[Job], Answer], jobs: Iterable[Job], *, workers: int = WORKERS
) -> Generator[Answer, None, None]:
    """`work(job)` for every job, in their order, computed by several threads.

    Closing the generator drops the jobs that have not begun and waits for those that have. torch's own threads are
    turned off inside: they would share one chunk among them, which is too small to be worth it, and on a busy machine
    they wait for each other many times as long as they work.
    """
    import torch

    workers = min(workers, _bound)
    if workers == 1:
        for job in jobs:
            yield _alone(work, job)
        return

    before = torch.get_num_threads()
    queue = iter(jobs)
    pool = ThreadPoolExecutor(workers, "values", initializer=torch.set_num_threads, initargs=(1,))
    under_way: deque[Future[Answer]] = deque()
    try:
        for job in islice(queue, workers * _IN_FLIGHT):
            under_way.append(pool.submit(work, job))
        while under_way:
            answer = under_way.popleft().result()
            for job in islice(queue, 1):
                under_way.append(pool.submit(work, job))
            yield answer
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        # torch keeps the number for threads that start later; those here are gone.
        torch.set_num_threads(before)


def _alone(work: Callable[[Job], Answer], job: Job) -> Answer:
    """`work(job)` in this thread, without torch's own threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return work(job)
    finally:
        torch.set_num_threads(before)


class Spares(Generic[Spare]):
    """Work space that is handed from job to job: as many pieces as there are jobs at a time."""

    def __init__(self, make: Callable[[], Spare]) -> None:
        self._make = make
        self._free: list[Spare] = []

    @contextmanager
    def one(self) -> Iterator[Spare]:
        """A piece for one thread."""
        try:
            spare = self._free.pop()  # list.pop and append are atomic
        except IndexError:
            spare = self._make()
        try:
            yield spare
        finally:
            self._free.append(spare)
