"""Errors that nothing caught: from slots, paints and threads, to a sentence in the window. The program goes on."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType

from PySide6.QtCore import QObject, Qt, Signal


class FaultReporter(QObject):
    """Stands in for `sys.excepthook` and `threading.excepthook` until `release`.

    `report` is called in the window's thread with a summary and the traceback, which is written to stderr as well.
    """

    _happened = Signal(object, object)

    def __init__(self, report: Callable[[str, str], None]) -> None:
        super().__init__()
        # Queued, from this thread too: a fault inside a paint must not put widgets into the window at once.
        self._happened.connect(report, Qt.ConnectionType.QueuedConnection)
        self._former = sys.excepthook, threading.excepthook
        sys.excepthook = self._hook
        threading.excepthook = self._thread_hook

    def release(self) -> None:
        """Give the hooks back."""
        sys.excepthook, threading.excepthook = self._former

    def _hook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._former[0](kind, error, trace)
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        if sys.stderr is not None:  # a windowed program on Windows has none
            sys.stderr.write(text)
        try:
            self._happened.emit(f"{kind.__name__}: {error}"[:300], text)
        except RuntimeError:  # the application is gone; stderr has it
            return

    def _thread_hook(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._hook(args.exc_type, args.exc_value, args.exc_traceback)
