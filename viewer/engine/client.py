"""The engine, as the window's process sees it: requests go in from any thread, events come out on one."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.engine.admitted import ADMITTED, AdmittedClasses
from viewer.engine.child import EngineProcess
from viewer.engine.command import engine_command
from viewer.engine.decoding import Decoder
from viewer.engine.faults import ProtocolError
from viewer.engine.framing import PART, Frame, pack_message, unpack
from viewer.engine.host import default_memory_nbytes
from viewer.engine.protocol import (
    Accepted,
    Cancel,
    CloseDocument,
    EngineDown,
    Event,
    Failure,
    OpenFile,
    ProgressEvent,
    Remember,
    Request,
    Restarted,
    Result,
)
from viewer.engine.restarts import RestartBudget
from viewer.errors import Cancelled, EngineLost, ViewerError
from viewer.task import Progress

CANCEL_GRACE_S: Final = 1.0
"""An engine that does not answer a cancel in this time is stopped or stuck, and is ended."""

PATIENT_GRACE_S: Final = 5.0
"""The same, where nobody pressed a button, and while torch is imported: from a cold disk that stalls the engine for
seconds, and a new engine would only begin it again."""

STOPPED_GRACE_S: Final = 2.0
"""An engine that somebody stopped while it has work is ended after this time: nobody could tell it from slow work."""

LOOK_S: Final = 1.0
"""How often a stopped engine is looked for while there is work."""

RESTARTS: Final = 4
RESTARTS_WITHIN_S: Final = 60.0


@dataclass(slots=True)
class _Job:
    """What the client knows of a job that has not ended."""

    number: int
    request: Request
    frames: bytes
    supersede: str | None
    decoder: Decoder
    accepted: bool = False
    sent_before: bool = False
    """An engine ended before it accepted the job, so that it cannot be what ended it. It is sent once more."""
    cancelled_s: float | None = None
    grace_s: float = CANCEL_GRACE_S


class EngineClient:
    """Starts the engine, keeps it running, and carries requests and events.

    Parameters
    ----------
    on_event
        Called with each event on the client's own thread, one at a time. It may call `submit` and `cancel`.
    command
        What starts an engine; None for `engine_command()`.
    admitted
        Classes that may cross the pipe.
    memory_nbytes
        Bound on the engine's memory (Linux); 0 for none, None for four fifths of the machine's.
    """

    def __init__(
        self,
        on_event: Callable[[Event], None],
        *,
        command: Sequence[str] | None = None,
        admitted: AdmittedClasses = ADMITTED,
        memory_nbytes: int | None = None,
        restarts: RestartBudget | None = None,
    ) -> None:
        self._on_event = on_event
        self._command = engine_command() if command is None else list(command)
        self._admitted = admitted
        self._memory_nbytes = default_memory_nbytes() if memory_nbytes is None else memory_nbytes
        self._budget = restarts or RestartBudget(RESTARTS, RESTARTS_WITHIN_S)
        # One lock around everything below; it is never held while an event is delivered or a pipe is used.
        self._changed = threading.Condition()
        self._jobs: dict[int, _Job] = {}
        self._documents: dict[int, Remember] = {}
        self._last_number = 0
        self._process: EngineProcess | None = None
        self._ready_s: float | None = None
        self._computes = False
        """True once this engine's compute lane has worked, and so has imported torch."""
        self._ended_because = ""
        self._down = False
        self._closing = False
        # The first starts and reads the engine, for as long as the client lives: on Linux an engine is killed when
        # the thread that started it ends. The second ends an engine that does not answer.
        self._threads = [
            threading.Thread(target=self._supervise, name="engine-reader", daemon=True),
            threading.Thread(target=self._watch, name="engine-watch", daemon=True),
        ]

    def start(self) -> None:
        """Start the engine; returns at once."""
        for thread in self._threads:
            thread.start()

    def submit(self, request: Request, *, supersede: str | None = None) -> int:
        """Have the engine do `request`. Never blocks.

        Parameters
        ----------
        supersede
            Cancels the job that was submitted with the same key and has not ended.

        Returns
        -------
        int
            The number of the job. For OpenFile it is also the number of the document, for good.

        Raises
        ------
        TypeError
            When the request holds what may not cross the pipe.
        RuntimeError
            After `close`.
        """
        with self._changed:
            if self._closing:
                raise RuntimeError("the engine client is closed")
            number = self._last_number + 1
            frames = self._frames(number, request)  # a request that cannot be sent raises here, and there is no job
            self._last_number = number
            if supersede is not None:
                for older in [job for job in self._jobs.values() if job.supersede == supersede]:
                    self._cancel(older, PATIENT_GRACE_S)
            if isinstance(request, CloseDocument):
                self._documents.pop(request.document, None)
                for older in self._jobs.values():
                    if request.document == older.number or request.document in older.request.documents:
                        self._cancel(older, PATIENT_GRACE_S)
            self._jobs[number] = _Job(number, request, frames, supersede, Decoder(self._admitted))
            if self._process is not None:
                self._process.send(frames)
            self._down = False
            self._changed.notify_all()
        return number

    def cancel(self, job: int) -> None:
        """Stop a job. It ends with a Failure that holds Cancelled; nothing happens when it has ended already."""
        with self._changed:
            if (found := self._jobs.get(job)) is not None:
                self._cancel(found, CANCEL_GRACE_S)

    def close(self, timeout_s: float = 3.0) -> None:
        """End the engine and the client's threads; no event comes after this returns.

        An engine that has not ended by itself after half of `timeout_s` is killed.
        """
        with self._changed:
            self._closing = True
            if self._process is not None:
                self._process.wake()
                self._process.hang_up()
            self._changed.notify_all()
        others = [thread for thread in self._threads if thread is not threading.current_thread() and thread.ident]
        end_s = time.monotonic() + timeout_s
        for wait_until_s in (end_s - timeout_s / 2, end_s):
            for thread in others:
                thread.join(max(0.0, wait_until_s - time.monotonic()))
            with self._changed:
                if self._process is not None:
                    self._process.kill()

    @property
    def pid(self) -> int | None:
        """Process id of the engine; None while there is none."""
        with self._changed:
            return None if self._process is None else self._process.pid

    # Under the lock

    def _cancel(self, job: _Job, grace_s: float) -> None:
        if job.cancelled_s is None:
            job.cancelled_s = time.monotonic()
            job.grace_s = grace_s
            if self._process is not None:
                self._process.send(self._frames(job.number, Cancel(job.number)))
            self._changed.notify_all()
        elif grace_s < job.grace_s:
            job.grace_s = grace_s
            self._changed.notify_all()

    def _frames(self, job: int, message: object) -> bytes:
        return pack_message(job, message, self._admitted)

    # On the reader's thread

    def _supervise(self) -> None:
        lost: EngineLost | None = None
        while self._wanted():
            how = self._run_engine(lost)
            if self._is_closing():
                return
            restart = self._budget.take()
            lost = self._lose_jobs(how, restart)
            if not restart:
                self._emit(EngineDown(lost))

    def _wanted(self) -> bool:
        """Wait while the engine is given up; False when the client closes."""
        with self._changed:
            self._changed.wait_for(lambda: self._closing or not self._down)
            return not self._closing

    def _is_closing(self) -> bool:
        with self._changed:
            return self._closing

    def _run_engine(self, lost: EngineLost | None) -> str:
        """Start an engine and deliver its events until it ends. Returns how it ended."""
        try:
            process = EngineProcess(self._command, self._admitted, self._memory_nbytes)
        except OSError as error:
            return f"could not be started ({error})"
        how = ""
        try:
            self._introduce(process)
            if process.await_ready():
                with self._changed:
                    self._ready_s = time.monotonic()
                    self._changed.notify_all()
                if lost is not None:
                    self._emit(Restarted(lost))
                while (frame := process.read_frame()) is not None:
                    self._receive(frame)
        except ProtocolError as error:
            how = f"sent what it should not ({error}) and was ended"
        except MemoryError:
            how = "sent more than there is memory for and was ended"
        with self._changed:
            self._process = self._ready_s = None
            self._computes = False
            how, self._ended_because = how or self._ended_because, ""
        ended = process.finish(at_once=bool(how))
        return how or ended

    def _introduce(self, process: EngineProcess) -> None:
        """Tell a new engine what the last one knew, and make it the one that gets requests."""
        with self._changed:
            for remembered in self._documents.values():
                process.send(self._frames(0, remembered))
            for job in self._jobs.values():
                process.send(job.frames)
                if job.cancelled_s is not None:
                    process.send(self._frames(job.number, Cancel(job.number)))
            self._process = process
            self._changed.notify_all()  # the watch looks after it from now on, before it is ready, too
            if self._closing:
                process.hang_up()

    def _receive(self, frame: Frame) -> None:
        with self._changed:
            job = self._jobs.get(frame.job)
        if job is None:
            return
        plain = unpack(frame.payload)
        if frame.kind == PART:
            job.decoder.add_part(plain)
            return
        event = job.decoder.decode(plain)
        _check(event, job)
        with self._changed:
            told = self._note(event, job)
        if told is not None:
            self._emit(told)

    def _note(self, event: Event, job: _Job) -> Event | None:
        """Under the lock: keep the books. Returns what the window is told."""
        cancelled = job.cancelled_s is not None
        if isinstance(event, Accepted):
            job.accepted = True
            return event
        if job.request.lane == "compute" and not isinstance(event, Failure):
            self._computes = True
        if isinstance(event, ProgressEvent):
            return None if cancelled else event
        del self._jobs[job.number]
        if isinstance(event, Result) and isinstance(job.request, OpenFile):
            assert isinstance(event.value, Checkpoint)
            if not cancelled:
                self._documents[job.number] = Remember(job.number, job.request.path, event.value.files)
            elif self._process is not None:
                # It was open before the cancel came. Job 0: nobody waits for the answer.
                self._process.send(self._frames(0, CloseDocument(job.number)))
        return Failure(job.number, Cancelled("cancelled")) if cancelled else event

    def _lose_jobs(self, how: str, restart: bool) -> EngineLost:
        """Fail what the engine took with it; jobs that it had not accepted are sent to the next one, once."""
        advice = "It was started again and the open files are kept; try again"
        if not restart:
            how += f", after {self._budget.restarts} restarts within {self._budget.within_s:.0f} s"
            advice = "The next request starts it again"
        failures: list[Failure] = []
        with self._changed:
            for job in list(self._jobs.values()):
                error: ViewerError
                if job.cancelled_s is not None:
                    error = Cancelled("cancelled")
                elif restart and not job.accepted and not job.sent_before:
                    job.sent_before = True
                    continue
                else:
                    path = job.request.path if isinstance(job.request, OpenFile) else None
                    error = EngineLost(f"the engine {how} while {job.request.doing}", path=path, advice=advice)
                del self._jobs[job.number]
                failures.append(Failure(job.number, error))
            self._down = not restart
        for failure in failures:
            self._emit(failure)
        return EngineLost(f"the engine {how}", advice=advice)

    def _emit(self, event: Event) -> None:
        try:
            self._on_event(event)
        except Exception:  # noqa: BLE001 - the next event must still come
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))

    # On the watch's thread

    def _watch(self) -> None:
        stopped_s: float | None = None
        with self._changed:
            while not self._closing:
                wait_s = self._time_to_answer_s()
                if wait_s is not None and wait_s <= 0:
                    self._end_engine("did not answer a cancel in time and was ended")
                    continue
                if self._process is None or not self._jobs or not self._process.is_stopped():
                    stopped_s = None
                elif stopped_s is None:
                    stopped_s = time.monotonic()
                elif time.monotonic() - stopped_s >= STOPPED_GRACE_S:
                    self._end_engine("was stopped by another program and was ended")
                if self._process is not None and self._jobs:
                    wait_s = LOOK_S if wait_s is None else min(LOOK_S, wait_s)
                self._changed.wait(wait_s)

    def _end_engine(self, because: str) -> None:
        assert self._process is not None
        self._ended_because = because
        self._ready_s = None
        self._process.kill()

    def _time_to_answer_s(self) -> float | None:
        """How long the engine still has to answer its cancels; None when there is nothing to answer."""
        if self._process is None or (ready_s := self._ready_s) is None:
            return None
        jobs = self._jobs.values()
        importing = not self._computes and any(job.request.lane == "compute" and job.accepted for job in jobs)
        least_s = PATIENT_GRACE_S if importing else 0.0
        due_s = [max(job.cancelled_s, ready_s) + max(job.grace_s, least_s) for job in jobs if job.cancelled_s]
        return min(due_s) - time.monotonic() if due_s else None


def _check(event: object, job: _Job) -> None:
    """Raise ProtocolError unless the engine may say this of this job."""
    match event:
        case Accepted(job=number):
            pass
        case ProgressEvent(job=number, progress=Progress()):
            pass
        case Result(job=number, value=value):
            if isinstance(job.request, OpenFile) and not isinstance(value, Checkpoint):
                raise ProtocolError("a file was opened without a checkpoint")
        case Failure(job=number, error=ViewerError()):
            pass
        case _:
            raise ProtocolError(f"a {type(event).__name__} is no event of a job")
    if number != job.number:
        raise ProtocolError("an event came under another job's number")
