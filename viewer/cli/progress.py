"""A progress bar on standard error: only on a terminal, and only where the work takes a while."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final, Self, TextIO, TypeVar

from viewer.report.wording import size_text, whole_number
from viewer.task import Progress, Task, run

Result = TypeVar("Result")

_FIRST_AFTER_S: Final = 0.5
_EVERY_S: Final = 0.1
_BAR_WIDTH: Final = 28


class ProgressBar:
    """Draws one line over and over, and wipes it at the end.

    Parameters
    ----------
    title
        What is going on, in a word or two ("reading").
    stream
        Where to draw; standard error by default. Nothing is drawn where it is not a terminal.
    """

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self._title = title
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream is not None and self._stream.isatty()
        self._next_s = time.monotonic() + _FIRST_AFTER_S
        self._drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._draw("")
            self._stream.write("\r")
            self._stream.flush()

    def update(self, progress: Progress) -> None:
        """Show how far it is, at most ten times a second."""
        if not self._terminal or (now := time.monotonic()) < self._next_s:
            return
        self._next_s = now + _EVERY_S
        self._draw(f"{self._title}  {_how_far(progress)}")

    def _draw(self, line: str) -> None:
        self._stream.write("\r" + line.ljust(self._drawn))
        self._stream.flush()
        self._drawn = len(line)


def _how_far(progress: Progress) -> str:
    done = _amount(progress.done, progress.unit)
    if progress.total <= 0:
        return done
    share = min(progress.done / progress.total, 1.0)
    filled = int(share * _BAR_WIDTH)
    bar = "#" * filled + "." * (_BAR_WIDTH - filled)
    return f"[{bar}] {share:4.0%}  {done} of {_amount(progress.total, progress.unit)}"


def _amount(count: int, unit: str) -> str:
    if unit != "bytes":
        return f"{whole_number(count)} {unit}"
    text = size_text(count)
    return text[text.index("(") + 1 : -1] if "(" in text else text


def run_with_bar(task: Task[Result], title: str) -> Result:
    """Run a task to its end, with a bar."""
    with ProgressBar(title) as bar:
        return run(task, bar.update)
