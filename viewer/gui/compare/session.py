"""A comparison under way: both files opened in the engine, the structure, then the values. Draws nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from viewer.checkpoint.document import Checkpoint
from viewer.compare.comparison import Comparison
from viewer.compare.results import CompareOptions, Overview, Structure, ValueBatch
from viewer.engine.protocol import CloseDocument, Compare, CompareStructure, OpenFile
from viewer.errors import ViewerError
from viewer.gui.engine_bridge import EngineBridge
from viewer.report.wording import printable
from viewer.task import Progress


@dataclass(frozen=True, slots=True)
class Side:
    """What stands on one side.

    Attributes
    ----------
    part
        The path of the node to compare; "" for the whole file.
    """

    path: Path
    part: str = ""

    @property
    def name(self) -> str:
        name = printable(self.path.name or str(self.path))
        return f"{name} › {self.part}" if self.part else name


class ComparisonSession(QObject):
    """Left is `a`, right is `b`. The session has documents of its own in the engine: tabs of the same files come and
    go without touching it. Both sides may be parts of one file, which is then opened once.

    Attributes
    ----------
    seconds
        That reading and comparing the values took, when it was complete.

    Signals
    -------
    opened
        Carries the Path of a file that could be opened.
    structured
        There is a new `comparison`.
    compared
        Carries the numbers of the rows whose values were compared.
    finished
        The comparison is complete.
    failed
        Carries the ViewerError, Cancelled among them; what was found by then stays.
    """

    opened = Signal(object)
    structured = Signal()
    compared = Signal(object)
    finished = Signal()
    failed = Signal(object)

    def __init__(self, bridge: EngineBridge, a: Side, b: Side, options: CompareOptions, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self.sides = [a, b]
        self.options = options
        self.comparison: Comparison | None = None
        self.is_running = False
        self.seconds = 0.0
        self._began = 0.0
        self._documents: list[int | None] = [None, None]
        self._checkpoints: list[Checkpoint | None] = [None, None]
        self._jobs: set[int] = set()

    @property
    def title(self) -> str:
        return " ⇄ ".join(side.name for side in self.sides)

    @property
    def documents(self) -> tuple[int, int] | None:
        """The engine's numbers of both; None before both are open."""
        document_a, document_b = self._documents
        if document_a is None or document_b is None or None in self._checkpoints:
            return None
        return document_a, document_b

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Those that are open."""
        return [checkpoint for checkpoint in self._checkpoints if checkpoint is not None]

    def start(self) -> None:
        """Open both files, or open them again, and compare."""
        self._bridge.release(self)
        self._jobs.clear()
        self._close_documents()
        self.is_running = True
        self._open(0, self.sides[0].path)
        if self.sides[0].path == self.sides[1].path:
            self._documents[1] = self._documents[0]
        else:
            self._open(1, self.sides[1].path)

    def compare(self, options: CompareOptions) -> None:
        """Compare the open files another way."""
        self.options = options
        if self.documents is None:
            self.start()
            return
        self._stop_jobs()
        self._compare()

    def set_side(self, number: int, side: Side) -> None:
        """Put something else on one side, and compare; the other file stays open."""
        other = 1 - number
        if side.path == self.sides[number].path and self.documents is not None:
            self.sides[number] = side
            self.compare(self.options)
            return
        self.sides[number] = side
        if self._checkpoints[other] is None or self._documents[0] == self._documents[1]:
            self.start()
            return
        self._stop_jobs()
        self._close(number)
        self.is_running = True
        if side.path == self.sides[other].path:
            self._documents[number], self._checkpoints[number] = self._documents[other], self._checkpoints[other]
            self._compare()
        else:
            self._open(number, side.path)

    def swap(self) -> None:
        """Exchange left and right; rules for one side go with it."""
        for pair in (self.sides, self._documents, self._checkpoints):
            pair.reverse()
        exchanged = {"a": "b", "b": "a", "": ""}
        rules = tuple(replace(rule, side=exchanged[rule.side]) for rule in self.options.rules)
        self.compare(replace(self.options, rules=rules))

    def cancel(self) -> None:
        """Stop what runs; `failed` then carries Cancelled."""
        for job in tuple(self._jobs):
            self._bridge.cancel(job)

    def close(self) -> None:
        """Forget everything in the engine."""
        self._bridge.release(self)
        self._close_documents()

    def full_options(self) -> CompareOptions:
        """How it is compared, with the parts of both sides."""
        return replace(self.options, select_a=self.sides[0].part, select_b=self.sides[1].part)

    def _open(self, number: int, path: Path) -> None:
        job = self._bridge.submit(
            OpenFile(path),
            owner=self,
            on_result=lambda checkpoint: self._take_checkpoint(job, checkpoint),
            on_failure=lambda error: self._fail(job, error.about(path)),
            title=f"opening {printable(path.name)}",
        )
        self._jobs.add(job)
        self._documents[number] = job

    def _take_checkpoint(self, job: int, checkpoint: Checkpoint) -> None:
        self._jobs.discard(job)
        for number, document in enumerate(self._documents):
            if document == job:
                self._checkpoints[number] = checkpoint
        self.opened.emit(checkpoint.path)
        if None not in self._checkpoints:
            self._compare()

    def _compare(self) -> None:
        documents = self.documents
        assert documents is not None
        self.is_running = True
        self._began = 0.0
        # By itself first: the tree is there while torch, which the values need, is still being imported.
        job = self._bridge.submit(
            CompareStructure(*documents, self.full_options()),
            owner=self,
            on_result=lambda structure: self._take_structure(job, structure),
            on_failure=lambda error: self._fail(job, error),
            title=f"comparing the structure of {self.title}",
            supersede="compare",
        )
        self._jobs.add(job)

    def _take_structure(self, job: int, structure: Structure) -> None:
        self._jobs.discard(job)
        a, b = self._checkpoints
        documents = self.documents
        assert a is not None
        assert b is not None
        assert documents is not None
        self.comparison = Comparison(a, b, structure)
        values = self._bridge.submit(
            Compare(*documents, structure.options, with_structure=False),
            owner=self,
            on_result=lambda overview: self._finish(values, overview),
            on_failure=lambda error: self._fail(values, error),
            on_progress=partial(self._take_progress, self.comparison),
            title=f"comparing {self.title}",
            supersede="compare",
        )
        self._jobs.add(values)
        self.structured.emit()

    def _take_progress(self, comparison: Comparison, progress: Progress) -> None:
        if not self._began:  # not before: the first comparison waits for numpy and torch
            self._began = time.monotonic()
        if isinstance(progress.partial, ValueBatch) and comparison is self.comparison:
            comparison.add(progress.partial)
            self.compared.emit([result.row for result in progress.partial.results])

    def _finish(self, job: int, overview: Overview) -> None:
        self._jobs.discard(job)
        self.is_running = False
        self.seconds = time.monotonic() - self._began if self._began else 0.0
        assert self.comparison is not None
        self.comparison.overview = overview
        self.finished.emit()

    def _fail(self, job: int, error: ViewerError) -> None:
        self._jobs.discard(job)
        if self.is_running:  # else the other side failed before
            self.is_running = False
            self._stop_jobs()
            self.failed.emit(error)

    def _stop_jobs(self) -> None:
        self._bridge.release(self)
        self._jobs.clear()

    def _close(self, number: int) -> None:
        if (document := self._documents[number]) is not None:
            self._bridge.submit(CloseDocument(document), owner=self._bridge, on_result=_ignore)
        self._documents[number] = self._checkpoints[number] = None

    def _close_documents(self) -> None:
        if self._documents[0] == self._documents[1]:
            self._documents[1] = None
        self._close(0)
        self._close(1)


def _ignore(_value: object) -> None:
    """The engine has closed the document; nobody waits for it."""
