"""Files that the desktop hands to a running application (macOS sends an event instead of arguments)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from viewer.gui.override import override


class FileOpenEvents(QObject):
    """Calls `open_paths` for every QFileOpenEvent of the application, until `release`."""

    def __init__(self, app: QApplication, open_paths: Callable[[Sequence[str]], None]) -> None:
        super().__init__(app)
        self._app = app
        self._open_paths = open_paths
        app.installEventFilter(self)

    def release(self) -> None:
        self._app.removeEventFilter(self)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: ARG002
        if isinstance(event, QFileOpenEvent) and event.file():
            self._open_paths([event.file()])
            return True
        return False
