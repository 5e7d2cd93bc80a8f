"""The records of two checkpoints compared bit by bit: what was read against what was written."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import StorageRef
from viewer.export.record_bytes import CHUNK_NBYTES, RecordSource
from viewer.export.values import Record
from viewer.export.zip_writer import Buffer
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task

_JOB_NBYTES: Final = 8 << 20
_JOB_RECORDS: Final = 256
_WORKERS: Final = 2
"""Comparing in memory is bound by two cores' bandwidth; the files come from the page cache, or else from one disk."""


@dataclass(frozen=True, slots=True)
class _Range:
    """Bytes that lie in both files as they are compared."""

    record: Record
    a: StorageRef
    a_offset: int
    b: StorageRef
    b_offset: int
    nbytes: int


def first_difference_task(
    a: Checkpoint, b: Checkpoint, pairs: list[tuple[Record, Record]], done: int, total: int
) -> Task[Record | None]:
    """The record of `a` in the first pair of records that are not the same bytes; None where all are.

    Parameters
    ----------
    done, total
        Progress goes from the one to the other.
    """
    ranges: list[_Range] = []
    others: list[tuple[Record, Record]] = []
    for one, other in pairs:
        _split(one, other, ranges, others)
    with RecordSource(a, counts=False) as before, RecordSource(b, counts=False) as after:
        for one, other in others:
            for nbytes in _equal_steps(before.chunks(one), after.chunks(other)):
                if nbytes < 0:
                    return one
                done += nbytes
                yield Progress(done, total)
    with StorageReader(a) as read_a, StorageReader(b) as read_b, ThreadPoolExecutor(_WORKERS, "compare") as pool:
        comparing = _Comparing(read_a, read_b)
        waiting: deque[tuple[Future[Record | None], int]] = deque()
        try:
            for job in _jobs(ranges):
                waiting.append((pool.submit(comparing.differing, job), sum(part.nbytes for part in job)))
                if len(waiting) > 2 * _WORKERS:
                    done = yield from _answer_task(waiting, done, total)
            while waiting:
                done = yield from _answer_task(waiting, done, total)
        except _Differs as found:
            return found.record
        finally:
            for future, _ in waiting:
                future.cancel()
    return None


class _Differs(Exception):
    def __init__(self, record: Record) -> None:
        super().__init__(record.path)
        self.record = record


def _answer_task(waiting: deque[tuple[Future[Record | None], int]], done: int, total: int) -> Task[int]:
    future, nbytes = waiting.popleft()
    found = future.result()
    if found is not None:
        raise _Differs(found)
    done += nbytes
    yield Progress(done, total)
    return done


def _split(one: Record, other: Record, ranges: list[_Range], others: list[tuple[Record, Record]]) -> None:
    places = _place(one), _place(other)
    if places[0] is None or places[1] is None or one.nbytes != other.nbytes:
        others.append((one, other))
        return
    (a, a_offset), (b, b_offset) = places[0], places[1]
    for at in range(0, one.nbytes, _JOB_NBYTES):
        count = min(_JOB_NBYTES, one.nbytes - at)
        ranges.append(_Range(one, a, a_offset + at, b, b_offset + at, count))


def _place(record: Record) -> tuple[StorageRef, int] | None:
    """Where a record lies as it is; None where it has to be made."""
    tensor = record.tensor
    if tensor is None or tensor.storage is None or not record.lies_as_written or tensor.storage.big_endian:
        return None
    if record.dtype.kind in ("bool", "quantized"):
        return None
    return tensor.storage, tensor.storage_offset * record.dtype.itemsize


def _jobs(ranges: list[_Range]) -> Iterator[list[_Range]]:
    job: list[_Range] = []
    nbytes = 0
    for part in ranges:
        job.append(part)
        nbytes += part.nbytes
        if nbytes >= _JOB_NBYTES or len(job) >= _JOB_RECORDS:
            yield job
            job, nbytes = [], 0
    if job:
        yield job


class _Comparing:
    """Compares ranges in any number of threads."""

    def __init__(self, a: StorageReader, b: StorageReader) -> None:
        self._a = a
        self._b = b
        self._buffers = threading.local()

    def differing(self, job: list[_Range]) -> Record | None:
        for part in job:
            at = 0
            while at < part.nbytes:
                count = min(CHUNK_NBYTES, part.nbytes - at)
                left, right = self._pair(count)
                self._a.read_into(part.a, part.a_offset + at, left)
                self._b.read_into(part.b, part.b_offset + at, right)
                if left != right:
                    return part.record
                at += count
        return None

    def _pair(self, nbytes: int) -> tuple[bytearray, bytearray]:
        """Two buffers of this thread. Whole bytearrays are compared at once, views of them byte by byte."""
        if nbytes < CHUNK_NBYTES:
            return bytearray(nbytes), bytearray(nbytes)
        pair: tuple[bytearray, bytearray] | None = getattr(self._buffers, "pair", None)
        if pair is None:
            pair = self._buffers.pair = bytearray(nbytes), bytearray(nbytes)
        return pair


def _equal_steps(wanted: Iterator[Buffer], found: Iterator[Buffer]) -> Iterator[int]:
    """Bytes that are equal, step by step; -1, and the end, at the first difference."""
    rest: Buffer = b""
    for chunk in wanted:
        view = memoryview(chunk)
        while view:
            rest = memoryview(rest or next(found, b""))
            count = min(len(view), len(rest))
            if not count or bytearray(view[:count]) != rest[:count]:
                yield -1
                return
            view, rest = view[count:], rest[count:]
            yield count
    if rest or next(found, b""):
        yield -1
