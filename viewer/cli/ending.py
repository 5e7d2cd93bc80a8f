"""Commands that write temporary files remove them when a signal ends them, as on Ctrl+C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

_SIGNALS: Final = tuple(
    number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None)) is not None
)


@contextmanager
def tidy_ending() -> Iterator[None]:
    """Within this, signals that end the process at once unwind it first; the exit code is 128 + the signal."""
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's alone
        yield
        return
    # One that is ignored (by nohup) stays ignored.
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    ours = [number for number, handler in before.items() if handler == signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
