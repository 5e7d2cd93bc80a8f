"""The documents that the engine has open, by number, and who waits for them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.engine.faults import DocumentClosed
from viewer.engine.jobs import Job
from viewer.engine.protocol import Remember
from viewer.errors import FileChanged
from viewer.task import Task

FREEZE_FROM: Final = 10_000
"""Nodes from which on a walk of the collector takes some 50 ms, in which no lane works."""


@dataclass(slots=True)
class Document:
    """One document.

    Attributes
    ----------
    remembered
        What the client knows of it; None for a document that this engine opened first.
    checkpoint
        None until it is open.
    opened_by
        The job that is opening it; None before and after.
    waiting
        Jobs that begin when it is open.
    """

    remembered: Remember | None = None
    checkpoint: Checkpoint | None = None
    opened_by: Job | None = None
    waiting: list[Job] = field(default_factory=list)


class Documents:
    """Not thread-safe: the server holds its lock around every call."""

    def __init__(self) -> None:
        self._documents: dict[int, Document] = {}

    def remember(self, remembered: Remember) -> None:
        self._documents[remembered.document] = Document(remembered)

    def begin(self, number: int, opened_by: Job) -> None:
        """A document is being opened for the first time."""
        self._documents[number] = Document(opened_by=opened_by)

    def wait_for(self, number: int, job: Job, reopen: Callable[[Remember], Job]) -> bool:
        """True when `job` has to wait for a document, and is then among those that `end` returns.

        A document of an earlier engine is opened again with the first job that needs it. Raises DocumentClosed.
        """
        document = self._get(number)
        if document.checkpoint is not None:
            return False
        if document.opened_by is None:
            assert document.remembered is not None
            document.opened_by = reopen(document.remembered)
        document.waiting.append(job)
        return True

    def end(self, number: int, checkpoint: Checkpoint | None) -> list[Job]:
        """Opening has ended, without a checkpoint when it failed. Returns the jobs that waited for it."""
        document = self._documents.get(number)
        if document is None:  # closed meanwhile
            return []
        waiting, document.waiting, document.opened_by = document.waiting, [], None
        document.checkpoint = checkpoint
        if checkpoint is not None:
            if len(checkpoint.nodes) >= FREEZE_FROM:
                # Millions of entries that live until the document is closed: the collector need not walk them.
                gc.freeze()
        elif document.remembered is None:
            del self._documents[number]
        # One of an earlier engine stays: the next job that needs it tries again, and the disk may be back.
        return waiting

    def close(self, number: int) -> list[Job]:
        """Forget a document. Returns the jobs that opened it or waited for it."""
        document = self._documents.pop(number, None)
        if document is None:
            return []
        # What was set aside beside it, among which is garbage in cycles, is the collector's again.
        gc.unfreeze()
        return document.waiting + ([document.opened_by] if document.opened_by is not None else [])

    def checkpoint(self, number: int) -> Checkpoint:
        """The checkpoint of an open document; raises DocumentClosed."""
        checkpoint = self._get(number).checkpoint
        if checkpoint is None:
            raise _closed()
        return checkpoint

    def stop_waiting(self, job: Job) -> None:
        """A job was cancelled. The opening goes on: the window shows the document, and the next click needs it."""
        for document in self._documents.values():
            if job in document.waiting:
                document.waiting.remove(job)

    def _get(self, number: int) -> Document:
        document = self._documents.get(number)
        if document is None:
            raise _closed()
        return document


def unchanged(remembered: Remember, task: Task[object]) -> Task[object]:
    """Open a document again. Numbers of tensors hold only for the files they were given for: raises FileChanged."""
    checkpoint = yield from task
    if not isinstance(checkpoint, Checkpoint) or checkpoint.files != remembered.files:
        raise FileChanged(
            "the file changed on disk since it was opened",
            path=remembered.path,
            advice="Reload it to see what it holds now",
        )
    return checkpoint


def _closed() -> DocumentClosed:
    return DocumentClosed("the document is not open any more", advice="Open the file again")
