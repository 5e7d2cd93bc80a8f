"""A lane: one thread that runs jobs one after the other, step by step."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable

from viewer.engine.faults import EngineFault, OutOfMemory
from viewer.engine.jobs import Job
from viewer.errors import Cancelled, ViewerError
from viewer.task import Task

_LOOK_S = 0.05
"""How often a lane that gives way looks whether its job was cancelled."""

EXIT_LANE_LOST = 70
"""Exit status when a lane's thread cannot go on (EX_SOFTWARE in <sysexits.h>)."""


class Lane:
    """Runs jobs in a thread of its own.

    Parameters
    ----------
    make_task
        Gives the task of a job; called in the lane's thread.
    on_done
        Called in the lane's thread with the job and its result or error, before the next one begins. It answers.
    prepare
        Called once in the lane's thread before the first job that is not cancelled: imports that take seconds.
    on_idle
        Called in the lane's thread when no job is left.
    gives_way_to
        A lane whose jobs people wait for: while it has any, this one stops between two steps.
    """

    def __init__(
        self,
        name: str,
        make_task: Callable[[Job], Task[object]],
        on_done: Callable[[Job, object, ViewerError | None], None],
        *,
        prepare: Callable[[], None] | None = None,
        on_idle: Callable[[], None] | None = None,
        gives_way_to: Lane | None = None,
    ) -> None:
        self._make_task = make_task
        self._on_done = on_done
        self._prepare = prepare
        self._on_idle = on_idle
        self._gives_way_to = gives_way_to
        self._queue: deque[Job] = deque()
        self._changed = threading.Condition()
        self._current: Job | None = None
        self._preparing = False
        # A daemon: the process ends by os._exit and waits for no lane.
        threading.Thread(target=self._run, name=f"lane-{name}", daemon=True).start()

    @property
    def busy(self) -> bool:
        with self._changed:
            return bool(self._queue) or self._current is not None

    def put(self, job: Job) -> None:
        with self._changed:
            self._queue.append(job)
            self._changed.notify_all()

    def drop(self, job: Job) -> bool:
        """Take a cancelled job out, wherever it is; False when it runs, and then it stops at its next step."""
        with self._changed:
            if job in self._queue:
                self._queue.remove(job)
            # While the lane prepares nothing of the job has run, and it will look at the flag first.
            return job is not self._current or self._preparing

    def wait_until_idle(self, timeout_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self._queue and self._current is None, timeout_s)

    def wait_while_busy(self, waiting: Job) -> None:
        """Return when no job is left here, or soon after `waiting`, a job of another lane, was cancelled."""
        while not waiting.cancelled and not self.wait_until_idle(_LOOK_S):
            pass

    def _run(self) -> None:
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._queue)
                    job = self._current = self._queue.popleft()
                    self._preparing = self._prepare is not None and not job.cancelled
                self._on_done(job, *self._outcome(job))
                del job  # and with it what its request holds
                with self._changed:
                    self._current = None
                    idle = not self._queue
                    self._changed.notify_all()
                if idle and self._on_idle is not None:
                    self._on_idle()
        except OSError as error:  # the window is gone
            print(f"engine: {error}", file=sys.stderr)  # noqa: T201 - the client keeps it for its message
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            # Without its lane a request would wait for ever; the client notices the end of the process.
            os._exit(EXIT_LANE_LOST)

    def _outcome(self, job: Job) -> tuple[object, ViewerError | None]:
        """The job's result, or None and the error with which it ended."""
        try:
            self._make_ready(job)
            return self._run_task(self._make_task(job), job), None
        except Exception as error:  # noqa: BLE001 - whatever a task raises is its job's answer
            return None, as_viewer_error(error, job)

    def _run_task(self, task: Task[object], job: Job) -> object:
        try:
            while True:
                if self._gives_way_to is not None:
                    self._gives_way_to.wait_while_busy(job)
                if job.cancelled:
                    raise Cancelled("cancelled")
                job.report(next(task))
        except StopIteration as stop:
            return stop.value
        finally:
            task.close()

    def _make_ready(self, job: Job) -> None:
        try:
            if self._prepare is not None and not job.cancelled:
                self._prepare()
                self._prepare = None
        finally:
            with self._changed:
                self._preparing = False


def as_viewer_error(error: Exception, job: Job) -> ViewerError:
    """What the window is told of an exception."""
    if isinstance(error, ViewerError):
        return error
    doing = job.request.doing
    if isinstance(error, MemoryError):
        return OutOfMemory(
            f"not enough memory while {doing}", advice="Close other documents or programs and try again"
        )
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    details = "".join(traceback.format_exception(error, limit=-12))
    return EngineFault(
        f"an unexpected error while {doing}: {text[:500]}",
        advice="This is a fault of Checkpoint Viewer; please report it with the details",
        details=details[-4000:],
    )
