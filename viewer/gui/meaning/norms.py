"""Norms and single values of an optimizer's tensors: asked of the engine on demand, in batches, and kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, Signal

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.tensors import numel_of
from viewer.engine.meaning_requests import Brief
from viewer.errors import ViewerError
from viewer.gui.engine_bridge import EngineBridge
from viewer.tensors.brief import TensorBrief

_BATCH: Final = 1_000
_BATCH_NBYTES: Final = 256 << 20
_BATCH_ROWS: Final = 2_000
"""A batch is one request: its results show before the next begins, and none is so large that it holds the window."""
_UNASKED_NBYTES: Final = 32 << 20
"""Rows that come into sight have their values read where these are no larger together."""


class NormStore(QObject):
    """The TensorBriefs of one document.

    Attributes
    ----------
    briefs
        By tensor number; grows.

    Signals
    -------
    found
        Further briefs are there.
    moved
        Carries done and total rows of what was asked for as a whole.
    ended
        That is done, or was stopped. Carries the ViewerError, or None.
    """

    found = Signal()
    moved = Signal(object, object)
    ended = Signal(object)

    def __init__(self, bridge: EngineBridge, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._document = -1
        self._device = "cpu"
        self._checkpoint: Checkpoint | None = None
        self._rows: Iterator[list[int]] = iter(())
        self._job: int | None = None
        self._done = self._total = 0
        self.briefs: dict[int, TensorBrief] = {}

    @property
    def is_running(self) -> bool:
        """True while all that was asked for as a whole is being read."""
        return self._job is not None

    def turn_to(self, document: int, checkpoint: Checkpoint) -> None:
        """Forget what was known of another document, or of an earlier reading of this one."""
        if checkpoint is not self._checkpoint:
            self.release()
            self.briefs = {}
            self._document, self._checkpoint = document, checkpoint

    def set_device(self, name: str) -> None:
        self._device = name

    def ask_in_sight(self, numbers: Sequence[int], *, place: str = "rows") -> None:
        """These are on screen: single values are read at once, the rest where it is little.

        A newer question for the same `place` cancels the one before.
        """
        if self._checkpoint is None:
            return
        missing = [number for number in dict.fromkeys(numbers) if number not in self.briefs]
        if sum(map(self._nbytes, missing)) > _UNASKED_NBYTES:
            shapes = self._checkpoint.tensors.shape
            missing = [number for number in missing if numel_of(shapes[number]) <= 1]
        if missing:
            self._bridge.submit(
                Brief(self._document, tuple(missing), self._device),
                owner=self,
                on_result=self._take,
                on_failure=self._ignore,
                supersede=f"in sight {place}",
            )

    def ask_all(self, rows: Iterator[list[int]], total: int) -> None:
        """Read all of these that are not known, in this order, showing what is there already.

        Parameters
        ----------
        rows
            The tensors of each row. They are drawn as the reading goes on: there may be a hundred thousand.
        total
            How many rows.
        """
        self.stop()
        self._rows = rows
        self._done, self._total = 0, total
        self._next()

    def stop(self) -> None:
        """Read no more of what was asked for as a whole; what is known stays."""
        self._rows = iter(())
        job, self._job = self._job, None
        if job is not None:
            self._bridge.cancel(job)
            self.ended.emit(None)

    def release(self) -> None:
        """Stop everything: the document is being closed, or another one shown."""
        self._rows = iter(())
        self._job = None
        self._bridge.release(self)

    def _next(self) -> None:
        batch: dict[int, None] = {}
        nbytes = n_rows = 0
        for numbers in self._rows:
            n_rows += 1
            for number in numbers:
                if number not in self.briefs and number not in batch:
                    batch[number] = None
                    nbytes += self._nbytes(number)
            if len(batch) >= _BATCH or nbytes >= _BATCH_NBYTES or n_rows >= _BATCH_ROWS:
                break
        if not n_rows:
            self._job = None
            self.ended.emit(None)
            return
        self._job = self._bridge.submit(
            Brief(self._document, tuple(batch), self._device),
            owner=self,
            on_result=partial(self._take_batch, n_rows),
            on_failure=self._fail,
            title="computing norms of optimizer state",
            supersede="all",
        )

    def _take_batch(self, n_rows: int, found: object) -> None:
        self._done += n_rows
        self._take(found)
        self.moved.emit(self._done, self._total)
        if self._job is not None:
            self._next()

    def _take(self, found: object) -> None:
        assert isinstance(found, dict)
        self.briefs.update(found)
        self.found.emit()

    def _fail(self, error: ViewerError) -> None:
        if self._job is not None:
            self._rows = iter(())
            self._job = None
            self.ended.emit(error)

    def _ignore(self, _error: ViewerError) -> None:
        """What is in sight says "not computed" as before; a button asks aloud."""

    def _nbytes(self, number: int) -> int:
        assert self._checkpoint is not None
        tensors = self._checkpoint.tensors
        return numel_of(tensors.shape[number]) * DTYPES[tensors.dtype[number]].itemsize
