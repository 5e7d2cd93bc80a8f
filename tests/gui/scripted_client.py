"""An engine client that does nothing until a test says what it answers."""

from __future__ import annotations

from viewer.engine.protocol import Failure, ProgressEvent, Result
from viewer.errors import ViewerError
from viewer.gui.mailbox import Mailbox
from viewer.task import Progress


class ScriptedClient:
    def __init__(self) -> None:
        self.mailbox = Mailbox()
        self.requests: dict[int, object] = {}
        self.keys: dict[int, str | None] = {}
        self.cancelled: list[int] = []
        self.is_closed = False

    def submit(self, request: object, *, supersede: str | None = None) -> int:
        number = len(self.requests) + 1
        self.requests[number] = request
        self.keys[number] = supersede
        return number

    def cancel(self, job: int) -> None:
        self.cancelled.append(job)

    def close(self) -> None:
        self.is_closed = True

    def answer(self, job: int, value: object) -> None:
        self.mailbox.put(Result(job, value))

    def fail(self, job: int, error: ViewerError) -> None:
        self.mailbox.put(Failure(job, error))

    def report(self, job: int, done: int, total: int, unit: str = "bytes", partial: object = None) -> None:
        self.mailbox.put(ProgressEvent(job, Progress(done, total, unit, partial)))

    def jobs_of(self, kind: type) -> list[int]:
        return [number for number, request in self.requests.items() if isinstance(request, kind)]
