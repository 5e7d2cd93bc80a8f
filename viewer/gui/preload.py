"""Modules that will be needed soon, imported while the window answers.

An import on a thread of its own lets paints and clicks through (pyqtgraph: no gap above 30 ms instead of one of 300),
and makes no object that belongs to that thread.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from PySide6.QtCore import QObject, Qt, Signal, Slot

DETAILS: Final = "viewer.gui.details.panel"
PLOTS: Final = "viewer.gui.plots"


class Preload(QObject):
    """Imports one module on a thread.

    Signals
    -------
    loaded
        The import has ended; where it failed, the error went the way of every uncaught one.
    """

    loaded = Signal()
    _imported = Signal()

    def __init__(self, module: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._module = module
        self._is_running = False
        self._imported.connect(self._finish, Qt.ConnectionType.QueuedConnection)

    @property
    def is_loaded(self) -> bool:
        return self._module in sys.modules and not self._is_running

    @Slot()
    def start(self) -> None:
        """Begin, unless the module is there or under way."""
        if not self._is_running and self._module not in sys.modules:
            self._is_running = True
            threading.Thread(target=self._run, name=f"import {self._module}", daemon=True).start()

    def then(self, call: Callable[[], None]) -> None:
        """Have `call` called in this thread as soon as the module is there: now, if it is."""
        if self.is_loaded:
            call()
        else:
            self.loaded.connect(call, Qt.ConnectionType.SingleShotConnection)
            self.start()

    def _run(self) -> None:
        try:
            importlib.import_module(self._module)
        finally:
            with suppress(RuntimeError):  # the window closed meanwhile
                self._imported.emit()

    @Slot()
    def _finish(self) -> None:
        self._is_running = False
        self.loaded.emit()
