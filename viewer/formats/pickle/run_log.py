"""What was in the runs that a scan took at one stride: answered afterwards, where it matters at all."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from typing import Final

_TUPLE_PUTS: Final = re.compile(rb"[t\x85-\x87\x91]r(?=(....))", re.DOTALL)
_FOLLOWED: Final = 1_000  # memo entries of one run that are counted through


class RunLog:
    """Where the runs of one pickle are."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = data
        self._runs: list[tuple[int, int, int, int]] = []  # entries of the memo before it, start, end, entries in it

    def add(self, memo: int, start: int, end: int, made: int) -> None:
        self._runs.append((memo, start, end, made))

    def tuples_among(self, fetched: Counter[int], *, memoize: bool) -> int:
        """How many of the fetches outside runs may be of a tuple that was made inside one.

        Parameters
        ----------
        fetched
            Fetches by memo index, from 256 on.
        memoize
            True for protocols 4 and 5, where MEMOIZE counts for itself.
        """
        if not self._runs or not fetched:
            return 0
        if memoize:
            return sum(count for index, count in fetched.items() if self._is_tuple(index))
        # In runs alone: long strings between them can be gigabytes.
        runs = b"\xff".join(self._data[start:end] for _, start, end, _ in self._runs)
        made = Counter(_TUPLE_PUTS.findall(runs))
        return sum(count for index, count in fetched.items() if made[index.to_bytes(4, "little")])

    def _is_tuple(self, index: int) -> bool:
        at = bisect_right(self._runs, (index, len(self._data), 0, 0)) - 1
        first, start, end, made = self._runs[at]
        if at < 0 or index - first >= made:
            return False  # made outside runs
        if index - first > _FOLLOWED:
            return True
        run = bytes(self._data[start:end])
        where = -1
        for _ in range(index - first + 1):
            where = run.find(b"\x94", where + 1)
        return run[where - 1] in b"t\x85\x86\x87\x91"
