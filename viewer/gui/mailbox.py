"""Where the engine client's thread leaves its events. Free of Qt, so that the engine can start before Qt is there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class Mailbox:
    """Events in the order in which they came. One thread puts, another takes."""

    def __init__(self) -> None:
        self._events: deque[object] = deque()  # append and popleft are atomic
        self._notify: Callable[[], None] | None = None

    def put(self, event: object) -> None:
        """Called on the client's thread."""
        self._events.append(event)
        if self._notify is not None:
            self._notify()

    def on_put(self, notify: Callable[[], None] | None) -> None:
        """Have `notify` called, on the client's thread, after each event."""
        self._notify = notify

    def take(self) -> object | None:
        """The oldest event; None when there is none."""
        return self._events.popleft() if self._events else None

    def __len__(self) -> int:
        return len(self._events)
