"""Ctrl+C in the terminal closes the window, as its close button does.

Python runs signal handlers between two of its own instructions, and Qt's event loop runs none of those while it
waits. So the signal's number goes through a socket that the event loop listens to.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier, Slot


class Interrupts(QObject):
    """Calls `on_interrupt` at SIGINT and SIGTERM, in the window's thread, until `release`."""

    def __init__(self, on_interrupt: Callable[[], object]) -> None:
        super().__init__()
        self._on_interrupt = on_interrupt
        self._former: dict[int, object] = {}
        self._read_end, self._write_end = socket.socketpair()
        self._read_end.setblocking(False)
        self._write_end.setblocking(False)
        self._notifier = QSocketNotifier(self._read_end.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._interrupted)
        self._former_fd = -1
        if threading.current_thread() is threading.main_thread():  # others may not set handlers
            self._former_fd = signal.set_wakeup_fd(self._write_end.fileno())
            for number in (signal.SIGINT, signal.SIGTERM):
                self._former[number] = signal.signal(number, _do_nothing)

    def release(self) -> None:
        """Give the signals back."""
        self._notifier.setEnabled(False)
        for number, handler in self._former.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal returned
        if self._former:
            signal.set_wakeup_fd(self._former_fd)
        self._read_end.close()
        self._write_end.close()

    @Slot()
    def _interrupted(self) -> None:
        self._read_end.recv(64)
        self._on_interrupt()


def _do_nothing(_number: int, _frame: object) -> None:
    """The socket has the signal already; without a handler Python would raise KeyboardInterrupt somewhere in Qt."""
