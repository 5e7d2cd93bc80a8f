"""Drive the real window from a script: for the demo, the pictures, the benchmarks and the end-to-end tests.

A script is a generator that gets the window and yields conditions; it goes on when the condition it yielded is true.
All of it runs in the window's own event loop, so the window behaves as it does under a person's hands.

    def script(window):
        yield lambda: document_is_shown(window)
        window.documents.page.tree.go_to_path("model/head.weight")
        yield lambda: histogram_is_shown(window)
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QApplication

from viewer.cli.window import WindowOptions
from viewer.gui.app import run_window
from viewer.gui.window import MainWindow

Condition: TypeAlias = Callable[[], bool]
Script: TypeAlias = Callable[[MainWindow], Generator[Condition, None, None]]

_POLL_MS = 10
PATIENCE_S = 60.0
"""How long a condition may take; torch alone needs some seconds on a cold and busy machine."""


class ScriptStuck(RuntimeError):
    """A condition of the script did not come true in time."""


class Director(QObject):
    """Runs a script in the event loop, and closes the window after it."""

    def __init__(self, script: Script, patience_s: float = PATIENCE_S) -> None:
        super().__init__()
        self._script = script
        self._patience_s = patience_s
        self._steps: Generator[Condition, None, None] | None = None
        self._condition: Condition = self._find_window
        self._window: MainWindow | None = None
        self._since_s = time.monotonic()
        self._timer = QTimer(self, interval=_POLL_MS)
        self._timer.timeout.connect(self._poll)
        self._timer.start()
        self.error: BaseException | None = None

    def _find_window(self) -> bool:
        windows = [widget for widget in QApplication.topLevelWidgets() if isinstance(widget, MainWindow)]
        self._window = windows[0] if windows and windows[0].isVisible() else None
        return self._window is not None

    def _poll(self) -> None:
        try:
            if self._condition():
                self._go_on()
            elif time.monotonic() - self._since_s > self._patience_s:
                raise ScriptStuck(f"waited {self._patience_s:.0f} s in vain for {self._where()}")
        except StopIteration:
            self._end()
        except BaseException as error:  # noqa: BLE001 - passed on when the window is closed
            self.error = error
            self._end()

    def _go_on(self) -> None:
        assert self._window is not None
        if self._steps is None:
            self._steps = self._script(self._window)
        self._condition = next(self._steps)
        self._since_s = time.monotonic()

    def _where(self) -> str:
        frame = getattr(self._steps, "gi_frame", None)
        return "the window" if frame is None else f"line {frame.f_lineno} of {frame.f_code.co_filename}"

    def _end(self) -> None:
        self._timer.stop()
        self._condition = _never
        if self._steps is not None:
            self._steps.close()
        if self._window is not None:
            self._window.close()
        else:
            QApplication.quit()


def drive(
    script: Script,
    paths: Sequence[str | os.PathLike[str]] = (),
    *,
    theme: str = "light",
    patience_s: float = PATIENCE_S,
) -> None:
    """Show the window on some files, with default settings, run a script in it, and close it.

    Raises
    ------
    ScriptStuck
        When the script waited too long.
    RuntimeError
        When the window ended with an exit code other than 0.
    """
    app = QApplication.instance() or QApplication(sys.argv[:1])
    director = Director(script, patience_s)
    code = run_window(paths, WindowOptions(theme=theme, fresh=True, new_window=True))
    if director.error is not None:
        raise director.error
    if code:
        raise RuntimeError(f"the window ended with exit code {code}")
    del app


def document_is_shown(window: MainWindow) -> bool:
    """The document in front is there: the rows of its tree, and the details beside it."""
    page = window.documents.page
    if page is None or page.tree is None or page.details is None:
        return False
    return len(page.tree.model.table) > 0


def histogram_is_shown(window: MainWindow) -> bool:
    """The histogram of the selected tensor is drawn, from all of its elements."""
    page = window.documents.page
    if page is None or page.details is None:
        return False
    distribution = page.details.distribution
    summary = distribution._summary  # nothing public says that it is complete
    return distribution.pane.shows_plot and summary is not None and summary.complete


def _never() -> bool:
    return False
