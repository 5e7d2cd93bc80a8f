"""At most one question of a kind under way, and only the newest of those that came meanwhile after it.

A slider that is dragged asks faster than the engine answers. If each question cancelled the one before, none would
be answered until the slider rests; queued one after the other they would lag behind. So one runs to its end and is
shown, and the newest follows it.
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
    """Asks the engine for one thing at a time."""

    def __init__(self, bridge: EngineBridge, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._job: int | None = None
        self._running: _Question | None = None
        self._next: _Question | None = None

    @property
    def is_busy(self) -> bool:
        return self._job is not None

    def ask(self, request: Any, on_result: Callable[[Any], None], on_failure: Callable[[ViewerError], None]) -> None:
        """Ask now, or when what runs is answered, unless something newer is asked before."""
        question = _Question(request, on_result, on_failure)
        if self._running is not None:
            self._next = question
        else:
            self._submit(question)

    def stop(self) -> None:
        """Cancel what runs and forget what waits; neither is answered any more."""
        job, self._job, self._running, self._next = self._job, None, None, None
        if job is not None:
            self._bridge.cancel(job)

    def _submit(self, question: _Question) -> None:
        self._running = question

        def answered(value: Any) -> None:
            if self._running is question:
                self._end()
                question.on_result(value)

        def failed(error: ViewerError) -> None:
            if self._running is question:
                self._end()
                question.on_failure(error)

        self._job = self._bridge.submit(question.request, owner=self, on_result=answered, on_failure=failed)

    def _end(self) -> None:
        self._job = self._running = None
        question, self._next = self._next, None
        if question is not None:
            self._submit(question)
