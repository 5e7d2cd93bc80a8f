"""The engine, as the window sees it: jobs with callbacks, delivered in the window's own thread, in short slices.

Events arrive on the client's thread. They are put into a mailbox, and the window takes them out by its event loop,
for at most a slice of time before it lets paints and clicks through. A callback whose owner is gone, or whose job was
superseded by a newer one of the same owner and key, is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import shiboken6
from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from viewer.engine.protocol import EngineDown, Failure, ProgressEvent, Restarted, Result
from viewer.errors import Cancelled, EngineLost, ViewerError
from viewer.gui.mailbox import Mailbox
from viewer.task import Progress

_SLICE_S: Final = 0.025
"""Half of the 50 ms that one slot may take: a callback that begins at the end of a slice has the other half."""


class Client(Protocol):
    """What is used of `viewer.engine.client.EngineClient`."""

    def submit(self, request: Any, *, supersede: str | None = None) -> int: ...
    def cancel(self, job: int) -> None: ...
    def close(self) -> None: ...


@dataclass(eq=False, slots=True)
class Job:
    """One request under way.

    Attributes
    ----------
    number
        The client's number of the job.
    title
        What it does, for the job strip ("scanning model.pth"); "" for jobs not worth a mention.
    owner
        The object whose callbacks these are.
    progress
        The last heard of; None before the first.
    started_s
        `time.monotonic()` at the start.
    cancelling
        True once the person asked to stop.
    stale
        True once a newer job took its place; its callbacks are not called any more.
    """

    number: int
    title: str
    owner: QObject
    supersede: str | None
    on_result: Callable[[Any], None]
    on_failure: Callable[[ViewerError], None] | None = None
    on_progress: Callable[[Progress], None] | None = None
    progress: Progress | None = None
    started_s: float = field(default_factory=time.monotonic)
    cancelling: bool = False
    stale: bool = False

    @property
    def wanted(self) -> bool:
        return not self.stale and shiboken6.isValid(self.owner)


class EngineBridge(QObject):
    """Submits requests and brings their answers into the window's thread.

    Signals
    -------
    job_started, job_progressed, job_ended
        Carry the Job. `job_ended` comes after the callbacks.
    failed
        Carries the ViewerError of a job that has no `on_failure` of its own (never Cancelled or EngineLost).
    engine_restarted
        The engine ended and a new one runs. Carries the EngineLost, once, however many jobs ended with it.
    engine_down
        The engine ended too often; it is started with the next request. Carries the EngineLost.
    """

    job_started = Signal(object)
    job_progressed = Signal(object)
    job_ended = Signal(object)
    failed = Signal(object)
    engine_restarted = Signal(object)
    engine_down = Signal(object)
    _woken = Signal()

    def __init__(self, client: Client, mailbox: Mailbox, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._client = client
        self._mailbox = mailbox
        self._jobs: dict[int, Job] = {}
        self._asleep = True
        self._closed = False
        # Queued from this thread too: what is put while a callback runs waits for the event loop as well.
        self._woken.connect(self._drain, Qt.ConnectionType.QueuedConnection)
        self._again = QTimer(self, singleShot=True, interval=0)
        self._again.timeout.connect(self._drain)
        mailbox.on_put(self._wake)
        if len(mailbox):
            self._wake()

    def submit(
        self,
        request: Any,
        *,
        owner: QObject,
        on_result: Callable[[Any], None],
        on_failure: Callable[[ViewerError], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        title: str = "",
        supersede: str | None = None,
    ) -> int:
        """Have the engine do `request`; the callbacks are called in the window's thread.

        Parameters
        ----------
        owner
            No callback is called once this object is destroyed.
        on_failure
            Also called with Cancelled and EngineLost. Without it, failures go to the signal `failed`.
        title
            For the job strip; "" keeps the job out of it.
        supersede
            A newer request of the same owner with the same key cancels this one and silences its callbacks.

        Returns
        -------
        int
            The number of the job, for `cancel`.
        """
        key = None if supersede is None else f"{id(owner):x}/{supersede}"
        if key is not None:
            for older in self._jobs.values():
                if older.supersede == key:
                    older.stale = True
        number = self._client.submit(request, supersede=key)
        job = Job(number, title, owner, key, on_result, on_failure, on_progress)
        self._jobs[number] = job
        self.job_started.emit(job)
        return number

    def cancel(self, number: int) -> None:
        """Ask the engine to stop a job; it ends with Cancelled unless it is done first."""
        job = self._jobs.get(number)
        if job is not None and not job.cancelling:
            job.cancelling = True
            self._client.cancel(number)
            self.job_progressed.emit(job)

    def release(self, owner: QObject) -> None:
        """Cancel everything that `owner` asked for, and call it back no more."""
        for job in list(self._jobs.values()):
            if job.owner is owner:
                job.stale = True
                self.cancel(job.number)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs under way, oldest first."""
        return tuple(self._jobs.values())

    def close(self) -> None:
        """End the engine. No callback is called any more."""
        if not self._closed:
            self._closed = True
            self._mailbox.on_put(None)
            self._jobs.clear()
            self._client.close()

    def _wake(self) -> None:
        # On the client's thread. One signal under way is enough, however many events wait.
        if self._asleep:
            self._asleep = False
            try:
                self._woken.emit()
            except RuntimeError:  # the window closed while the event came
                self._mailbox.on_put(None)

    @Slot()
    def _drain(self) -> None:
        self._asleep = True  # before the first take: an event that comes from here on wakes us again
        try:
            self._deliver(time.monotonic() + _SLICE_S)
        finally:  # also where a callback failed: the others get their answers
            if len(self._mailbox) and self._asleep and not self._closed:
                self._asleep = False
                self._again.start()

    def _deliver(self, end_s: float) -> None:
        moved: dict[int, Job] = {}
        while not self._closed and (event := self._mailbox.take()) is not None:
            if isinstance(event, ProgressEvent):
                job = self._jobs.get(event.job)
                if job is not None:
                    if event.progress.partial is not None and job.on_progress is not None and job.wanted:
                        job.on_progress(event.progress)
                    job.progress = event.progress
                    moved[event.job] = job
            elif isinstance(event, (Result, Failure)):
                moved.pop(event.job, None)
                self._finish(event)
            elif isinstance(event, Restarted):
                self.engine_restarted.emit(event.error)
            elif isinstance(event, EngineDown):
                self.engine_down.emit(event.error)
            if time.monotonic() > end_s:
                break
        for job in moved.values():  # of many steps that came together, the last is enough
            assert job.progress is not None
            if job.on_progress is not None and job.progress.partial is None and job.wanted:
                job.on_progress(job.progress)
            self.job_progressed.emit(job)

    def _finish(self, event: Result | Failure) -> None:
        job = self._jobs.pop(event.job, None)
        if job is None:
            return
        try:
            if job.wanted:
                if isinstance(event, Result):
                    job.on_result(event.value)
                elif job.on_failure is not None:
                    job.on_failure(event.error)
                elif not isinstance(event.error, (Cancelled, EngineLost)):
                    self.failed.emit(event.error)
        finally:
            self.job_ended.emit(job)
