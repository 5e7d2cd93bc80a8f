"""Collects the events of a client and waits for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from viewer.engine.protocol import Accepted, Event, Failure, ProgressEvent, Result
from viewer.errors import ViewerError

PATIENCE_S = 15.0
"""Longest wait for what has to come; a loaded machine is slow."""


class Recorder:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = threading.Condition()

    def __call__(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def wait(self, wanted: Callable[[Event], bool], timeout_s: float = PATIENCE_S) -> Event:
        """The first event that is wanted, also one that has come already."""
        end_s = time.monotonic() + timeout_s
        with self._changed:
            at = 0
            while True:
                while at < len(self.events):
                    if wanted(self.events[at]):
                        return self.events[at]
                    at += 1
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    raise AssertionError(f"did not come within {timeout_s} s; came: {self.events[-5:]}")
                self._changed.wait(left_s)

    def end_of(self, job: int) -> Result | Failure:
        event = self.wait(lambda event: isinstance(event, (Result, Failure)) and event.job == job)
        assert isinstance(event, (Result, Failure))
        return event

    def result(self, job: int) -> object:
        event = self.end_of(job)
        assert isinstance(event, Result), event
        return event.value

    def error(self, job: int) -> ViewerError:
        event = self.end_of(job)
        assert isinstance(event, Failure), event
        return event.error

    def wait_for_kind(self, kind: type, nth: int = 1) -> Event:
        """The nth event of a kind."""
        seen = 0

        def wanted(event: Event) -> bool:
            nonlocal seen
            seen += isinstance(event, kind)
            return seen == nth

        return self.wait(wanted)

    def wait_until_running(self, job: int) -> None:
        self.wait(lambda event: isinstance(event, ProgressEvent) and event.job == job)

    def wait_until_accepted(self, job: int) -> None:
        self.wait(lambda event: isinstance(event, Accepted) and event.job == job)

    def progress_of(self, job: int) -> list[ProgressEvent]:
        return [event for event in self.events if isinstance(event, ProgressEvent) and event.job == job]

    def ends_of(self, job: int) -> list[Event]:
        return [event for event in self.events if isinstance(event, (Result, Failure)) and event.job == job]
