"""The processes that help this one with passes over large tensors, kept once they are there.

A helper imports torch, which takes a second. So nobody waits for one: it is asked for as soon as a large tensor is
seen, and until it is ready, or where there is none, all is computed here. The numbers are the same. Threads alone
wait for each other's interpreter the more, the more they are.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final, Generic, TypeVar

from viewer.errors import ViewerError
from viewer.formats.storage_bytes import can_travel
from viewer.helper_process import HelperLost, HelperProcess
from viewer.interpreter import can_start
from viewer.tensors.helper_orders import ADMITTED, JobAnswer, JobOrder, PatternOrder, ScanOrder
from viewer.tensors.layout import Block
from viewer.tensors.moments import Facts
from viewer.tensors.walk import Walk
from viewer.tensors.workers import most_threads

Found = TypeVar("Found")

WORTH_NBYTES: Final = 128 << 20
"""Bytes from which on helpers are asked for: what one thread works on for half a second."""

_USED_NBYTES: Final = 16 << 20
"""Bytes of a pass from which on helpers are used where they are there."""

_MOST: Final = 3
"""Helpers at most: each holds some 100 MB."""

_ORDERS: Final = count(1)


def _most() -> int:
    """How many helpers there may be: each works in the place of one thread."""
    return min(most_threads() - 1, _MOST)


class _Helper:
    """One process, and the pass that it was told of last."""

    def __init__(self) -> None:
        self.process = HelperProcess("viewer.tensors.helper", ADMITTED)
        self.told = 0

    def answer(self, number: int, order: ScanOrder | PatternOrder, job: JobOrder) -> JobAnswer:
        if self.told != number:
            self.process.send(order)
            self.told = number
        self.process.send(job)
        found = self.process.receive()
        assert isinstance(found, JobAnswer)
        return found


class Crew:
    """The helpers of this process. Any thread may ask for them, take one and give it back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[_Helper] = []
        self._free: list[_Helper] = []
        self._starting: list[threading.Thread] = []

    @property
    def size(self) -> int:
        """Processes that are there or starting."""
        return len(self._all)

    @property
    def n_free(self) -> int:
        """Those that are ready and have nothing to do."""
        return len(self._free)

    def want(self) -> None:
        """There is much to do: start what is missing. Returns at once."""
        with self._lock, contextlib.suppress(HelperLost):  # it works without
            while can_start() and len(self._all) < _most():
                helper = _Helper()
                self._all.append(helper)
                thread = threading.Thread(target=self._await, args=(helper,), name="values-helper", daemon=True)
                self._starting.append(thread)
                thread.start()

    def wait(self) -> None:
        """Wait until all that were asked for are ready."""
        for thread in list(self._starting):
            thread.join()

    def take(self) -> _Helper | None:
        """One that has nothing to do; None where there is none."""
        with self._lock:
            # Fewer threads may be allowed by now.
            busy = len(self._all) - len(self._free)
            return self._free.pop() if self._free and busy < _most() else None

    def give(self, helper: _Helper) -> None:
        with self._lock:
            self._free.append(helper)

    def drop(self, helper: _Helper) -> None:
        """One that is lost."""
        with self._lock:
            self._all.remove(helper)
        helper.process.close()

    def close(self) -> None:
        """End all of them. None may be in use."""
        for helper in list(self._all):
            helper.process.end()
        self.wait()
        with self._lock:
            helpers, self._all, self._free, self._starting = self._all, [], [], []
        for helper in helpers:
            helper.process.close()

    def _await(self, helper: _Helper) -> None:
        try:
            helper.process.receive()
        except HelperLost:
            return  # it stays in the list, so that it is not started again and again
        self.give(helper)


CREW: Final = Crew()
atexit.register(CREW.close)


class Helped(Generic[Found]):
    """Lets helpers do jobs of one pass.

    Parameters
    ----------
    known
        What is found of the jobs that are merged already, for each stream or table.
    read
        Makes of an answer what the pass merges.
    """

    def __init__(
        self,
        order: ScanOrder | PatternOrder,
        known: Callable[[], Sequence[Facts]],
        read: Callable[[JobAnswer], Found],
    ) -> None:
        self._number = next(_ORDERS)
        self._order = order
        self._known = known
        self._read = read
        self._trouble = False

    def found(self, job: Sequence[Block]) -> Found | None:
        """What a helper finds of a job; None where it is to be done here."""
        helper = None if self._trouble else CREW.take()
        if helper is None:
            return None
        # Extremes of what comes before: all else of the facts is only added up.
        known = tuple(Facts(min=each.min, max=each.max, first_nan=each.first_nan) for each in self._known())
        try:
            answer = helper.answer(self._number, self._order, JobOrder(tuple(job), known))
        except HelperLost:
            CREW.drop(helper)
            return None
        except ViewerError:
            # Whoever does it here meets the same, and says it.
            self._trouble = True
            CREW.give(helper)
            return None
        CREW.give(helper)
        return self._read(answer)


def is_helped(walk: Walk, device_type: str) -> bool:
    """Whether helpers may take part in a pass; asks for them where it is long."""
    if device_type != "cpu" or walk.order is None or walk.is_thin or walk.nbytes < _USED_NBYTES:
        return False
    if not can_travel(walk.source.tensor):
        return False
    if walk.nbytes >= WORTH_NBYTES:
        CREW.want()
    return CREW.size > 0
