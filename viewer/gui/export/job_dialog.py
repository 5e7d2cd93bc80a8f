"""A window beside the main one that has the engine do something for a document. The main window stays usable."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QDialog, QPushButton, QWidget

from viewer.errors import ViewerError
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.export.parts import ProgressLine
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.task import Progress


class JobDialog(QDialog):
    """Its jobs end with it, and it ends with the page that is its parent.

    Attributes
    ----------
    running
        Shows the job under way.
    """

    def __init__(self, bridge: EngineBridge, theme: Theme, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._job: int | None = None
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.running = ProgressLine(theme, self)
        self.running.cancelled.connect(self.cancel)
        self._started: list[int] = []
        # Where the page goes with its document there is no close event.
        self.destroyed.connect(partial(_cancel_jobs, bridge, self._started))

    @property
    def is_running(self) -> bool:
        return self._job is not None

    def cancel(self) -> None:
        """Stop the job under way; its failure is Cancelled."""
        if self._job is not None:
            self.running.stopping()
            self._bridge.cancel(self._job)

    def run(
        self, request: Any, words: str, on_result: Callable[[Any], None], on_failure: Callable[[ViewerError], None]
    ) -> None:
        """Have the engine do something, and show how far it is."""

        def done(value: object) -> None:
            self._end()
            on_result(value)

        def failed(error: ViewerError) -> None:
            self._end()
            on_failure(error)

        self.running.begin(words)
        self._job = self._bridge.submit(
            request,
            owner=self,
            on_result=done,
            on_failure=failed,
            on_progress=self._progress,
            title=request.doing,
        )
        self._started.append(self._job)

    def _progress(self, progress: Progress) -> None:
        if self.running.cancel.isEnabled():
            self.running.take(progress)

    def _end(self) -> None:
        self._job = None
        self.running.hide()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        # Return presses the one button that is the default, and none because it has the focus.
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(button.isDefault())
        super().showEvent(event)

    @override
    def done(self, result: int) -> None:
        """Close. What runs is cancelled, and nobody is told of its end."""
        self._bridge.release(self)
        super().done(result)


def _cancel_jobs(bridge: EngineBridge, jobs: list[int], _gone: object = None) -> None:
    for job in jobs:
        bridge.cancel(job)
