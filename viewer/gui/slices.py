"""Work that the window does itself, a few milliseconds at a time: a generator, stepped between paints and clicks."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any, Final

from PySide6.QtCore import QObject, QTimer, Slot

from viewer.task import Task

_SLICE_S: Final = 0.004
"""Up to four runners are stepped between two paints while a document opens, and a step that begins just before the
end takes some more; a frame has 16 ms."""


class SliceRunner(QObject):
    """Runs one task; starting another drops it.

    For what is made of Python objects that live in this process anyway. Whatever reads files or touches values is the
    engine's.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._task: Task[Any] | None = None
        self._on_result: Callable[[Any], None] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._step)

    @property
    def is_running(self) -> bool:
        return self._task is not None

    def start(self, task: Task[Any], on_result: Callable[[Any], None]) -> None:
        """Run `task`; the first slice is run now, so that what is short is done when this returns."""
        self.stop()
        self._task = task
        self._on_result = on_result
        self._timer.start()
        self._step()

    def stop(self) -> None:
        """Drop the task; its result is not delivered."""
        self._timer.stop()
        task, self._task, self._on_result = self._task, None, None
        if task is not None:
            task.close()

    @Slot()
    def _step(self) -> None:
        task, on_result = self._task, self._on_result
        if task is None or on_result is None:
            return
        # What a slice makes outlives it, so a collection inside it finds nothing: with a million rows, collections
        # took half of the time and were longer than the slices.
        collecting = gc.isenabled()
        gc.disable()
        end_s = time.perf_counter() + _SLICE_S
        try:
            while time.perf_counter() < end_s:
                next(task)
        except StopIteration as stop:
            self.stop()
            on_result(stop.value)
        except BaseException:
            self.stop()
            raise
        finally:
            if collecting:
                gc.enable()
