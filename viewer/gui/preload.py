"""Modules that will be needed soon, loaded before they are, so that no click waits for an import.

What touches Qt is loaded in this thread, a few milliseconds at a time: PySide makes its classes when they are first
named, and two threads that do so crash the process (6.11.3; pyqtgraph, which names all of them, imported on a thread:
2 crashes in 15 runs). Python's own modules and numpy know nothing of Qt and are loaded on a thread.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from PySide6.QtCore import QObject, QTimer, Slot

from viewer.gui.slices import SliceRunner
from viewer.task import Progress, Task

_QT_MODULES: Final = ("QtCore", "QtGui", "QtWidgets", "QtSvg", "QtOpenGL", "QtOpenGLWidgets", "QtTest")
"""What pyqtgraph copies every name of."""
_WITHOUT_QT: Final = ("numpy", "pydoc", "subprocess", "decimal")
"""What pyqtgraph imports besides, the slowest of it."""
_NAMES_PER_STEP: Final = 10
_PAUSE_MS: Final = 800
"""The document comes first: its sums are still being counted when its rows are on screen."""


class Preloader(QObject):
    """Loads what the next steps of a person will need. Each slot does its work once."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runner = SliceRunner(self)
        self._begun: set[str] = set()
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._load_qt)

    @Slot()
    def ready_details(self) -> None:
        """The window is painted: soon a document will be shown."""
        if self._begins("details"):
            self._runner.start(_details_task(), _ignore)

    @Slot()
    def ready_qt(self) -> None:
        """A document is shown: soon a tensor will be chosen. Neither numpy nor pyqtgraph is loaded yet."""
        if self._begins("qt"):
            self._pause.start()

    @Slot()
    def _load_qt(self) -> None:
        if "pyqtgraph" not in sys.modules:
            self._runner.start(_qt_classes_task(), _ignore)

    @Slot()
    def ready_numbers(self) -> None:
        """A tensor was chosen: when the engine has counted, a plot will be drawn."""
        if self._begins("numbers") and "numpy" not in sys.modules:
            # Not a daemon: at the end of the process an import is worth waiting for, being the shorter evil.
            threading.Thread(target=_import_without_qt, name="import numpy").start()

    def _begins(self, what: str) -> bool:
        if what in self._begun:
            return False
        self._begun.add(what)
        return True


def _details_task() -> Task[None]:
    import viewer.gui.details as package

    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
        yield Progress(0, 0, "modules")


def _qt_classes_task() -> Task[None]:
    for name in _QT_MODULES:
        with suppress(ImportError):  # an optional part of Qt; who needs it will say so
            module = importlib.import_module(f"PySide6.{name}")
            yield Progress(0, 0, "classes")
            for position, _ in enumerate(_values(module)):
                if position % _NAMES_PER_STEP == 0:
                    yield Progress(position, 0, "classes")


def _values(module: object) -> Iterator[object]:
    for name in dir(module):
        yield getattr(module, name, None)


def _import_without_qt() -> None:
    for name in _WITHOUT_QT:
        importlib.import_module(name)


def _ignore(_result: object) -> None:
    """The modules are where Python keeps them."""
