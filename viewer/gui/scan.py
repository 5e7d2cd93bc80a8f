"""The scan of all values of a document: asked for by the person, filled in as it goes, kept while the document is."""

from __future__ import annotations

from collections import Counter
from enum import Enum

from PySide6.QtCore import QObject, Signal

from viewer.engine.values_requests import ScanAll
from viewer.errors import Cancelled, ViewerError
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.scan_troubles import Trouble, troubles_of, worst
from viewer.task import Progress
from viewer.tensors.scan_results import ScanBatch, ScanRow, ScanTotals


class ScanState(Enum):
    """How far a scan is."""

    NONE = "not scanned"
    RUNNING = "scanning"
    DONE = "scanned"
    STOPPED = "stopped"
    FAILED = "failed"


class ScanStore(QObject):
    """What a scan found, tensor by tensor.

    Signals
    -------
    changed
        Another state: a scan began, ended, or all was forgotten.
    rows_came
        Carries a list of tensor numbers whose rows are there now.
    """

    changed = Signal()
    rows_came = Signal(object)

    def __init__(self, bridge: EngineBridge, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._job: int | None = None
        self.rows: dict[int, ScanRow] = {}
        """By tensor number. The same mapping throughout: whoever shows it may hold it."""
        self.troubled: dict[int, Trouble] = {}
        """By tensor number, of those that deserve a look."""
        self.by_worst: dict[Trouble, list[int]] = {kind: [] for kind in Trouble}
        """Their numbers as they came, each under its worst kind."""
        self.counts: Counter[Trouble] = Counter()
        """How many tensors have each kind of trouble."""
        self.state = ScanState.NONE
        self.n_tensors = 0
        self.totals: ScanTotals | None = None
        self.failure: ViewerError | None = None

    @property
    def is_running(self) -> bool:
        return self.state is ScanState.RUNNING

    @property
    def has_begun(self) -> bool:
        return self.state is not ScanState.NONE

    def start(self, document: int, n_tensors: int, name: str, device: str) -> None:
        """Scan a document; does nothing while a scan runs. What a stopped scan left out is read, the rest is kept;
        after one that is done all is read anew."""
        if self.is_running:
            return
        again = self.state is ScanState.DONE
        missing = tuple(number for number in range(n_tensors) if number not in self.rows)
        if again:
            self._clear()
        self.n_tensors = n_tensors
        self._turn(ScanState.RUNNING)
        self._job = self._bridge.submit(
            ScanAll(document, device, None if again or not self.rows else missing, use_cache=not again),
            owner=self,
            on_result=self._finish,
            on_failure=self._fail,
            on_progress=self._take,
            title=f"scanning all values of {name}",
            supersede="scan",
        )

    def stop(self) -> None:
        """Stop reading; what came so far stays."""
        if self._job is not None:
            self._bridge.cancel(self._job)

    def forget(self) -> None:
        """Drop everything: the file is read anew."""
        self._bridge.release(self)
        self._job = None
        if self.has_begun:
            self._clear()
            self._turn(ScanState.NONE)

    def _clear(self) -> None:
        self.rows.clear()
        self.troubled.clear()
        self.counts.clear()
        for numbers in self.by_worst.values():
            numbers.clear()
        self.totals = None

    def _turn(self, state: ScanState, failure: ViewerError | None = None) -> None:
        self.state = state
        self.failure = failure
        self.changed.emit()

    def _take(self, progress: Progress) -> None:
        if not isinstance(progress.partial, ScanBatch):
            return
        new = [row for row in progress.partial.rows if row.number not in self.rows]
        for row in new:
            self.rows[row.number] = row
            if found := troubles_of(row):
                self.troubled[row.number] = found
                self.by_worst[worst(found)].append(row.number)
                self.counts.update(kind for kind in Trouble if kind & found)
        self.rows_came.emit([row.number for row in new])

    def _finish(self, totals: object) -> None:
        assert isinstance(totals, ScanTotals)
        self._job = None
        self.totals = totals
        self._turn(ScanState.DONE)

    def _fail(self, error: ViewerError) -> None:
        self._job = None
        stopped = isinstance(error, Cancelled)
        self._turn(ScanState.STOPPED if stopped else ScanState.FAILED, None if stopped else error)
