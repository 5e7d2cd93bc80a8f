"""What was in the runs that a scan took at one stride: answered afterwards, where it matters at all."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from typing import Final

from viewer.formats.pickle.runs import tokens_of_runs

# A quick look, which a string that ends in one of these letters ("weight") deceives.
_LIKE_TUPLE_PUTS: Final = re.compile(rb"[t\x85-\x87]r(?=(....))", re.DOTALL)
# From the begin of a run: to each LONG_BINPUT of a tuple, or to each MEMOIZE and whether a tuple is before it.
_TUPLE_PUTS: Final = re.compile(
    rb"(?:%b|r.{4}|[t\x85-\x87](?!r))*+(?:[t\x85-\x87]r(.{4})|\Z)" % tokens_of_runs(), re.DOTALL
)
_MEMOIZED: Final = re.compile(rb"(?:%b|[t\x85-\x87](?!\x94))*+([t\x85-\x87]?+\x94|\Z)" % tokens_of_runs(), re.DOTALL)


class RunLog:
    """Where the runs of one pickle are."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = data
        self._runs: list[tuple[int, int, int, int]] = []  # entries of the memo before it, start, end, entries in it

    def add(self, memo: int, start: int, end: int, made: int) -> None:
        self._runs.append((memo, start, end, made))

    def made(self, start: int, end: int, *, in_arguments: bool) -> int:
        """Entries of the memo that a run makes by MEMOIZE, whose byte may also stand in arguments, or does not."""
        return len(self._memoized(start, end)) if in_arguments else bytes(self._data[start:end]).count(b"\x94")

    def _memoized(self, start: int, end: int) -> list[bytes]:
        """The MEMOIZE opcodes of a run, each after the opcode of the tuple that it keeps, if it is one."""
        return [found for found in _MEMOIZED.findall(self._data, start, end) if found]

    def tuples_among(self, fetched: Counter[int], *, memoize: bool) -> int:
        """How many of the fetches outside runs are of a tuple that was made inside one.

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
            return self._tuples_memoized(fetched)
        # In runs alone: long strings between them can be gigabytes.
        runs = b"\xff".join(self._data[start:end] for _, start, end, _ in self._runs)
        like = fetched.keys() & {int.from_bytes(index, "little") for index in _LIKE_TUPLE_PUTS.findall(runs)}
        if not like:
            return 0
        made = Counter[bytes]()
        for _, start, end, _ in self._runs:
            made.update(_TUPLE_PUTS.findall(self._data, start, end))
        return sum(fetched[index] for index in like if made[index.to_bytes(4, "little")])

    def _tuples_memoized(self, fetched: Counter[int]) -> int:
        count = 0
        first = made = 0
        entries: list[bytes] = []
        for index in sorted(fetched):
            if index - first >= made:
                at = bisect_right(self._runs, (index, len(self._data), 0, 0)) - 1
                if at < 0:
                    continue
                first, start, end, made = self._runs[at]
                if index - first >= made:
                    continue  # made outside runs
                entries = self._memoized(start, end)
            if len(entries[index - first]) > 1:
                count += fetched[index]
        return count
