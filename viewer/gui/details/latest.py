"""One question of a kind under way, or two, and only the newest of those that came meanwhile after them.

A slider that is dragged asks faster than the engine answers. If each question cancelled the one before, none would
be answered until the slider rests; queued one after the other they would lag behind. So what runs is
let come to its end and is shown, and the newest follows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject

from viewer.errors import ViewerError
from viewer.gui.engine_bridge import EngineBridge


@dataclass(frozen=True, slots=True)
class _Question:
    request: Any
    on_result: Callable[[Any], None]
    on_failure: Callable[[ViewerError], None]


class Latest(QObject):
    """Asks the engine for few things at a time, and answers in the order in which they were asked.

    Parameters
    ----------
    depth
        Questions under way: with a second one the engine goes on while the window draws the answer to the first.
    """

    def __init__(self, bridge: EngineBridge, parent: QObject, depth: int = 1) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._depth = depth
        self._running: dict[int, _Question] = {}
        self._next: _Question | None = None

    @property
    def is_busy(self) -> bool:
        return bool(self._running)

    def ask(self, request: Any, on_result: Callable[[Any], None], on_failure: Callable[[ViewerError], None]) -> None:
        """Ask now, or when what runs is answered, unless something newer is asked before."""
        question = _Question(request, on_result, on_failure)
        if len(self._running) >= self._depth:
            self._next = question
        else:
            self._submit(question)

    def stop(self) -> None:
        """Cancel what runs and forget what waits; neither is answered any more."""
        running, self._running, self._next = self._running, {}, None
        for job in running:
            self._bridge.cancel(job)

    def _submit(self, question: _Question) -> None:
        def answered(value: Any) -> None:
            if self._end(job):
                question.on_result(value)

        def failed(error: ViewerError) -> None:
            if self._end(job):
                question.on_failure(error)

        job = self._bridge.submit(question.request, owner=self, on_result=answered, on_failure=failed)
        self._running[job] = question

    def _end(self, job: int) -> bool:
        """Go on with what waits; False where nobody wants the answer any more."""
        if self._running.pop(job, None) is None:
            return False
        question, self._next = self._next, None
        if question is not None:
            self._submit(question)
        return True
