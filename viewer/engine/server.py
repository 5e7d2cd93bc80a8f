"""The engine process: reads requests, hands them to lanes, and ends when the window's end of the pipe does.

The main thread does nothing but read frames, so a cancel is seen at once whatever the lanes do.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import BinaryIO, Final, NoReturn

from viewer.checkpoint.document import Checkpoint
from viewer.engine.admitted import ADMITTED, AdmittedClasses
from viewer.engine.decoding import Decoder
from viewer.engine.documents import Documents, unchanged
from viewer.engine.faults import ProtocolError
from viewer.engine.framing import MESSAGE, FrameWriter, read_frame, unpack
from viewer.engine.handlers import HANDLERS, Handler, prepare_compute
from viewer.engine.host import end_with_parent, lower_thread_priority, settle_in, take_over_pipes
from viewer.engine.jobs import Job, Outlet
from viewer.engine.lane import Lane, as_viewer_error
from viewer.engine.protocol import Cancel, CloseDocument, Hello, LaneName, OpenFile, Remember, Request
from viewer.errors import Cancelled, ViewerError
from viewer.task import Task

SAVE_GRACE_S: Final = 1.0
"""How long an export may take to remove its temporary file when the window is gone."""

EXIT_BAD_REQUEST: Final = 65
"""Exit status when the client's bytes make no sense (EX_DATAERR in <sysexits.h>)."""


class Server:
    """Jobs, lanes and documents of one engine process."""

    def __init__(
        self,
        writer: FrameWriter,
        admitted: AdmittedClasses,
        handlers: Mapping[type[Request], Handler],
        prepare_compute: Callable[[], None],
    ) -> None:
        self._handlers = handlers
        self._prepare_compute = prepare_compute
        self._outlet = Outlet(writer, admitted)
        self._lock = threading.Lock()  # around the three below; never held while a task runs or a frame is sent
        self._jobs: dict[int, Job] = {}
        self._documents = Documents()
        self._held: list[Job] = []
        """Jobs that wait until no structure is being read."""
        compute = Lane("compute", self._task_of, self._done, prepare=self._prepare)
        self._lanes: dict[LaneName, Lane] = {
            "structure": Lane("structure", self._task_of, self._done, on_idle=self._release_held),
            "compute": compute,
            "scan": Lane("scan", self._task_of, self._done, prepare=self._prepare, gives_way_to=compute),
            # When the window is killed, an export is given the time to remove its temporary file.
            "save": Lane(
                "save", self._save_task_of, self._done, prepare=lower_thread_priority, on_idle=end_with_parent
            ),
        }

    def receive(self, number: int, message: object) -> None:
        """Act on a message from the client; called by the main thread alone."""
        if isinstance(message, Request):
            job = Job(number, message, self._outlet)
            with self._lock:
                self._jobs[number] = job
            job.accept()
            if message.lane == "save":
                end_with_parent(wanted=False)  # from now on the wish is the save lane's
            if isinstance(message, CloseDocument):
                self._close_document(job, message.document)
            else:
                self._start(job)
        elif isinstance(message, Cancel):
            self.cancel(message.job)
        elif isinstance(message, Remember):
            with self._lock:
                self._documents.remember(message)
        else:
            raise ProtocolError(f"a {type(message).__name__} is no message for the engine")

    def cancel(self, number: int) -> None:
        """Stop a job: at once where it has not begun, at its next step where it has."""
        with self._lock:
            job = self._jobs.get(number)
            if job is None:  # it is done
                return
            job.cancelled = True
            if job in self._held:
                self._held.remove(job)
            self._documents.stop_waiting(job)
        if self._lanes[job.request.lane].drop(job):
            self._fail(job, Cancelled("cancelled"))

    def finish(self) -> None:
        """The window is gone: let an export clean up after itself, and drop everything else."""
        with self._lock:
            for job in self._jobs.values():
                job.cancelled = True
        self._lanes["save"].wait_until_idle(SAVE_GRACE_S)

    def _start(self, job: Job) -> None:
        """Put a job into its lane, or where it waits for what it needs."""
        try:
            with self._lock:
                if isinstance(job.request, OpenFile):
                    self._documents.begin(job.number, job)
                for number in job.request.documents:
                    if self._documents.wait_for(number, job, self._reopen):
                        return
                if job.request.waits_for_idle and self._lanes["structure"].busy:
                    self._held.append(job)
                    return
        except ViewerError as error:
            self._fail(job, error)
        else:
            self._lanes[job.request.lane].put(job)

    def _reopen(self, remembered: Remember) -> Job:
        job = Job(0, OpenFile(remembered.path), self._outlet, reopens=remembered)
        self._lanes["structure"].put(job)
        return job

    def _release_held(self) -> None:
        with self._lock:
            held, self._held = self._held, []
        for job in held:
            self._lanes[job.request.lane].put(job)

    def _close_document(self, job: Job, number: int) -> None:
        with self._lock:
            concerned = self._documents.close(number)
            concerned += [other for other in self._jobs.values() if number in other.request.documents]
            for other in concerned:
                other.cancelled = True
        for other in concerned:
            self.cancel(other.number)
        self._done(job, None, None)

    def _prepare(self) -> None:
        lower_thread_priority()
        self._prepare_compute()

    def _task_of(self, job: Job) -> Task[object]:
        handler = self._handlers.get(type(job.request))
        if handler is None:
            raise ProtocolError(f"nothing here answers a {type(job.request).__name__}")
        with self._lock:
            documents = tuple([self._documents.checkpoint(number) for number in job.request.documents])
        task: Task[object] = handler(job.request, *documents)
        return task if job.reopens is None else unchanged(job.reopens, task)

    def _save_task_of(self, job: Job) -> Task[object]:
        end_with_parent(wanted=False)
        return self._task_of(job)

    def _done(self, job: Job, value: object, error: ViewerError | None) -> None:
        """A job has ended; called in its lane's thread."""
        if error is None:
            shown = value.without_blobs() if isinstance(value, Checkpoint) else value
            try:
                job.succeed(shown)
            except (Cancelled, TypeError, ProtocolError, MemoryError) as trouble:
                error = as_viewer_error(trouble, job)
        if error is not None:
            self._fail(job, error)
            return
        with self._lock:
            self._jobs.pop(job.number, None)
        if isinstance(job.request, OpenFile) and isinstance(value, Checkpoint):
            for waiting in self._end_opening(job, value):
                self._start(waiting)

    def _fail(self, job: Job, error: ViewerError) -> None:
        with self._lock:
            self._jobs.pop(job.number, None)
        job.fail(error)
        if isinstance(job.request, OpenFile):
            for waiting in self._end_opening(job, None):
                self._fail(waiting, error)

    def _end_opening(self, job: Job, checkpoint: Checkpoint | None) -> list[Job]:
        number = job.number if job.reopens is None else job.reopens.document
        with self._lock:
            return self._documents.end(number, checkpoint)


def main(
    handlers: Mapping[type[Request], Handler] = HANDLERS,
    admitted: AdmittedClasses = ADMITTED,
    prepare_compute: Callable[[], None] = prepare_compute,
) -> NoReturn:
    """Be the engine, over standard input and output, until the client closes its end. Ends the process."""
    status = EXIT_BAD_REQUEST
    try:
        read_fd, write_fd = take_over_pipes()
        with os.fdopen(read_fd, "rb") as pipe:
            serve(pipe, FrameWriter(write_fd), admitted, handlers, prepare_compute)
        status = 0
    except ProtocolError as error:
        print(f"engine: {error}", file=sys.stderr)  # noqa: T201 - the client keeps it for its message
    finally:
        # Without waiting for lanes: a task may be anywhere, and torch takes a third of a second to tear down.
        os._exit(status)


def serve(
    pipe: BinaryIO,
    writer: FrameWriter,
    admitted: AdmittedClasses,
    handlers: Mapping[type[Request], Handler],
    prepare_compute: Callable[[], None],
) -> None:
    """Answer requests until the pipe ends."""

    def receive() -> tuple[int, object] | None:
        decoder = Decoder(admitted)
        while (frame := read_frame(pipe.read)) is not None:
            plain = unpack(frame.payload)
            if frame.kind == MESSAGE:
                return frame.job, decoder.decode(plain)
            decoder.add_part(plain)  # the client writes the frames of a message one after the other
        return None

    first = receive()
    if first is None:
        return
    hello = first[1]
    if not isinstance(hello, Hello):
        raise ProtocolError("the client did not say hello")
    settle_in(hello.memory_nbytes)
    writer.write(hello.token)
    end_with_parent()
    server = Server(writer, admitted, handlers, prepare_compute)
    while (received := receive()) is not None:
        server.receive(*received)
    server.finish()
