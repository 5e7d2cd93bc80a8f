"""One job in the engine: its request, its cancel flag, and what it says to the client."""

from __future__ import annotations

import threading
import time
from typing import Final

from viewer.engine.admitted import AdmittedClasses
from viewer.engine.encoding import Encoder
from viewer.engine.framing import MESSAGE, PART, FrameWriter, pack_frame
from viewer.engine.protocol import Accepted, Event, Failure, ProgressEvent, Remember, Request, Result
from viewer.errors import Cancelled, ViewerError
from viewer.task import Progress

PROGRESS_INTERVAL_S: Final = 0.05
"""20 a second look smooth; 100,000 queued events cost the window most of a second."""


class Outlet:
    """Sends events to the client, from any thread."""

    def __init__(self, writer: FrameWriter, admitted: AdmittedClasses) -> None:
        self._writer = writer
        self._admitted = admitted

    def send(self, job: Job, event: Event) -> None:
        """Send an event, long ones in parts.

        Raises
        ------
        Cancelled
            When the job was cancelled between two parts; the client drops what it has.
        TypeError
            When a value may not cross the pipe.
        """

        def send_part(encoded: object) -> int:
            if job.cancelled:
                raise Cancelled("cancelled")
            self._writer.write(pack_frame(PART, job.number, encoded))
            job.n_parts += 1
            return job.n_parts - 1

        encoded = Encoder(self._admitted, send_part).encode(event)
        self._writer.write(pack_frame(MESSAGE, job.number, encoded))


class Job:
    """A request on its way through the engine.

    Attributes
    ----------
    cancelled
        Set by the main thread, looked at by the lane between two steps.
    reopens
        The document that this job of the engine's own reads again; None for jobs of the client. Such a job has number
        0 and sends nothing.
    n_parts
        Parts sent so far, over all events of the job: the number of the next one.
    """

    def __init__(self, number: int, request: Request, outlet: Outlet, *, reopens: Remember | None = None) -> None:
        self.number = number
        self.request = request
        self.reopens = reopens
        self.cancelled = False
        self._outlet = outlet
        self._lock = threading.Lock()
        self._answered = False
        self._waiting: list[Progress] = []
        self._reported_s = float("-inf")
        self.n_parts = 0

    def accept(self) -> None:
        self._outlet.send(self, Accepted(self.number))

    def report(self, progress: Progress) -> None:
        """Send progress, at most every `PROGRESS_INTERVAL_S`; what has a `partial` waits, the rest is replaced."""
        if self.reopens is not None:
            return
        if self._waiting and self._waiting[-1].partial is None:
            self._waiting.pop()
        self._waiting.append(progress)
        now_s = time.monotonic()
        if now_s - self._reported_s >= PROGRESS_INTERVAL_S:
            self._reported_s = now_s
            self._send_waiting()

    def succeed(self, value: object) -> None:
        """Send the result, after the last progress. Raises as `Outlet.send` does, and then the job has no answer."""
        if self.reopens is not None or not self._claim():
            return
        try:
            self._send_waiting()
            self._outlet.send(self, Result(self.number, value))
        except BaseException:
            self._answered = False
            raise

    def fail(self, error: ViewerError) -> None:
        """Send the failure, unless the job has its answer."""
        if self.reopens is not None or not self._claim():
            return
        if not isinstance(error, Cancelled):
            self._send_waiting()
        self._outlet.send(self, Failure(self.number, error))

    def _claim(self) -> bool:
        # A cancel can be answered by the main thread while the lane is about to answer.
        with self._lock:
            claimed, self._answered = not self._answered, True
        return claimed

    def _send_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for progress in waiting:
            self._outlet.send(self, ProgressEvent(self.number, progress))
