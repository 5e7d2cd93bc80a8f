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
_WITHOUT_QT: Final = (
    "numpy", "numpy.typing", "pydoc", "subprocess", "decimal", "cProfile", "importlib.resources", "colorama",
    "xml.etree.ElementTree", "multiprocessing.connection",
)  # fmt: skip
"""What pyqtgraph imports besides, the slowest of it."""
_LOOK_MS: Final = 10
"""How often to look whether the thread is done: a signal from it could meet a window that is gone."""
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
        self._thread: threading.Thread | None = None
        self._look = QTimer(self, interval=_LOOK_MS)
        self._look.timeout.connect(self._load_plots)

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
            self._thread = threading.Thread(target=_import_without_qt, name="import numpy")
            self._thread.start()
            self._look.start()

    @Slot()
    def _load_plots(self) -> None:
        """Import pyqtgraph in an event of its own: with the first drawing it would make one of twice the length."""
        if self._thread is not None and not self._thread.is_alive():
            self._look.stop()
            self._thread = None
            importlib.import_module("viewer.gui.plots")

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
        with suppress(ImportError):  # colorama is there on some systems only; who needs a module will say so
            importlib.import_module(name)


def _ignore(_result: object) -> None:
    """The modules are where Python keeps them."""
