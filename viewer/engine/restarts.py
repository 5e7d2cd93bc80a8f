"""How often an engine that ends is started again by itself."""

from __future__ import annotations

import time
from collections import deque


class RestartBudget:
    """Allows a number of restarts within a time, so that an engine that cannot live does not flicker for ever."""

    def __init__(self, restarts: int, within_s: float) -> None:
        self.restarts = restarts
        self.within_s = within_s
        self._taken_s: deque[float] = deque()

    def take(self) -> bool:
        """True when another restart is allowed now, and count it."""
        now_s = time.monotonic()
        while self._taken_s and now_s - self._taken_s[0] > self.within_s:
            self._taken_s.popleft()
        if len(self._taken_s) >= self.restarts:
            return False
        self._taken_s.append(now_s)
        return True
