"""The main of a process that helps with passes over large tensors (see `viewer.helper_process`)."""

from __future__ import annotations

import contextlib
from typing import Protocol

from viewer.errors import ViewerError
from viewer.helper_process import Orders
from viewer.tensors.bins import Binner
from viewer.tensors.decode import decoder_of
from viewer.tensors.helper_orders import ADMITTED, READY, JobAnswer, JobOrder, PatternOrder, ScanOrder
from viewer.tensors.pattern_scan import PatternJobs
from viewer.tensors.patterns import table_of
from viewer.tensors.scan import ScanJobs, StreamScan
from viewer.tensors.source import ElementSource
from viewer.tensors.walk import Room, Walk


class _Pass(Protocol):
    def found(self, job: JobOrder, room: Room) -> JobAnswer: ...

    def close(self) -> None: ...


class _ScanPass:
    def __init__(self, order: ScanOrder) -> None:
        import numpy as np
        import torch

        self._source = ElementSource(order.checkpoint, order.tensor)
        decoder = decoder_of(order.tensor.dtype, order.tensor.flags)
        scans = []
        for stream, edges, inside, is_finite in zip(
            decoder.streams, order.edges, order.inside, order.is_finite, strict=True
        ):
            binner = None if edges is None else Binner(np.array(edges), stream.domain, inside=inside)
            scans.append(StreamScan.of(stream, binner, is_finite=is_finite))
        self._jobs = ScanJobs(
            Walk(self._source), decoder, scans, torch.device("cpu"), facts=order.facts, careful=order.careful
        )

    def found(self, job: JobOrder, room: Room) -> JobAnswer:
        found = self._jobs.found(job.blocks, room, job.known)
        return JobAnswer(tuple(scan.facts for scan in found), tuple(scan.counts.tobytes() for scan in found))

    def close(self) -> None:
        self._source.__exit__(None, None, None)


class _PatternPass:
    def __init__(self, order: PatternOrder) -> None:
        import torch

        self._source = ElementSource(order.checkpoint, order.tensor)
        self._jobs = PatternJobs(Walk(self._source), [table_of(order.tensor)], torch.device("cpu"))

    def found(self, job: JobOrder, room: Room) -> JobAnswer:
        counts, places = self._jobs.found(job.blocks, room, job.known)
        return JobAnswer(tuple(places), (counts.tobytes(),))

    def close(self) -> None:
        self._source.__exit__(None, None, None)


def main() -> None:
    """Be a helper until the other end closes."""
    orders = Orders(ADMITTED)
    import torch

    torch.set_num_threads(1)
    current: _Pass | ViewerError | None = None
    room = Room()
    with contextlib.suppress(EOFError, BrokenPipeError):
        orders.answer(READY)
        while True:
            order = orders.next()
            if isinstance(order, JobOrder):
                assert current is not None
                orders.answer(_answer(current, order, room))
                continue
            current = _begun(order)


def _begun(order: object) -> _Pass | ViewerError:
    """The pass, or why there is none: said instead of the answer to its first job."""
    try:
        if isinstance(order, ScanOrder):
            return _ScanPass(order)
        assert isinstance(order, PatternOrder)
        return _PatternPass(order)
    except ViewerError as error:
        return error


def _answer(current: _Pass | ViewerError, job: JobOrder, room: Room) -> JobAnswer | ViewerError:
    if isinstance(current, ViewerError):
        return current
    try:
        return current.found(job, room)
    except ViewerError as error:
        return error
    finally:
        current.close()  # opened again for the next job: nobody says which is the last, and a file must not stay open
