"""The smallest and the largest finite value of a tensor, from its summary: asked for once somebody needs it."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject, Signal

from viewer.errors import ViewerError
from viewer.gui.details.summaries import SummaryKey, SummaryStore
from viewer.task import Progress
from viewer.tensors.results import TensorSummary

_BINS: Final = 256
_LANE: Final = "range"


class TensorRange(QObject):
    """Of one tensor at a time.

    Signals
    -------
    known
        `low` and `high` are there now, or it is known that they will not come.
    """

    known = Signal()

    def __init__(self, store: SummaryStore, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        self._device = "cpu"
        self._of = (-1, -1)
        self._summary: TensorSummary | None = None
        self._asked = False

    @property
    def is_known(self) -> bool:
        return self._summary is not None

    @property
    def low(self) -> float | None:
        """None where it is not known, or no value is finite."""
        return (
            None
            if self._summary is None or self._summary.statistics.min is None
            else float(self._summary.statistics.min)
        )

    @property
    def high(self) -> float | None:
        return (
            None
            if self._summary is None or self._summary.statistics.max is None
            else float(self._summary.statistics.max)
        )

    @property
    def largest(self) -> float | None:
        """The largest magnitude."""
        low, high = self.low, self.high
        return None if low is None or high is None else max(abs(low), abs(high))

    def set_device(self, name: str) -> None:
        self._device = name

    def turn_to(self, document: int, tensor: int) -> None:
        """Another tensor; nothing is asked yet."""
        if (document, tensor) != self._of:
            self._of = (document, tensor)
            self._summary = None
            self._asked = False

    def ask(self) -> None:
        """Find the range out, unless that is under way or was in vain."""
        if self._asked or self._summary is not None:
            return
        self._asked = True
        key = SummaryKey(*self._of, self._device, _BINS)
        if (kept := self._store.kept(key)) is not None:
            self._take(key, kept)
            return

        def arrived(summary: TensorSummary) -> None:
            self._take(key, summary)

        self._store.ask(key, _LANE, "", on_result=arrived, on_failure=self._fail, on_progress=_ignore)

    def _take(self, key: SummaryKey, summary: TensorSummary) -> None:
        if (key.document, key.tensor) == self._of:
            self._summary = summary
            self.known.emit()

    def _fail(self, _error: ViewerError) -> None:
        # The page says by itself what is wrong with a tensor; without a range there is only less colour.
        self.known.emit()


def _ignore(_progress: Progress) -> None:
    """The range comes with the result."""
