"""Streams of bytes: hashed in one thread while another writes them."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from viewer.export.record_bytes import CHUNK_NBYTES, RING, SMALL_NBYTES
from viewer.export.zip_writer import Buffer
from viewer.task import Progress, Task

STEP_NBYTES: Final = 8 << 20
"""Work between two places to stop: some 10 ms."""


def gathered(stream: Iterable[Buffer]) -> Iterator[Buffer]:
    """The same bytes with small pieces joined: headers and small tensors come by the ten thousands."""
    waiting = bytearray()
    for chunk in stream:
        if len(chunk) >= SMALL_NBYTES:
            if waiting:
                yield bytes(waiting)
                waiting.clear()
            yield chunk
        else:
            waiting += chunk
            if len(waiting) >= CHUNK_NBYTES:
                yield bytes(waiting)
                waiting.clear()
    if waiting:
        yield bytes(waiting)


def hash_task(
    stream: Iterable[Buffer], total: int, write: Callable[[Buffer], None] | None = None, *, share: int = 1
) -> Task[str]:
    """The SHA-256 of a stream as hex digits; each chunk is also given to `write`.

    Parameters
    ----------
    total, share
        Progress goes from 0 to `total` of `share` times as much.
    """
    digest = hashlib.sha256()
    pending: deque[Future[None]] = deque()
    most = (RING - 1) * (1 if write is None else 2)
    done = told = 0
    yield Progress(0, total * share)
    # This thread reads and sums, one hashes, one writes: none holds the interpreter while it works on a chunk.
    with ThreadPoolExecutor(1, "sha256") as hashing, ThreadPoolExecutor(1, "write") as writing:
        for chunk in gathered(stream):
            pending.append(hashing.submit(digest.update, chunk))
            if write is not None:
                pending.append(writing.submit(write, chunk))
            done += len(chunk)
            while len(pending) >= most:
                pending.popleft().result()
            if done - told >= STEP_NBYTES:
                told = done
                yield Progress(done, total * share)
        while pending:
            pending.popleft().result()
    return digest.hexdigest()
