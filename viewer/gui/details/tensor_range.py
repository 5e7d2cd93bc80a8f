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
        The range is there now, or it is known that it will not come.
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
    def full(self) -> tuple[float, float] | None:
        """The smallest and the largest value; None where that is not known, or none is finite."""
        if self._summary is None or self._summary.statistics.min is None or self._summary.statistics.max is None:
            return None
        return float(self._summary.statistics.min), float(self._summary.statistics.max)

    @property
    def inner(self) -> tuple[float, float] | None:
        """The quantiles at 1 and at 99 %; the full range where they are not known."""
        quantiles = {} if self._summary is None else {q.fraction: q.value for q in self._summary.statistics.quantiles}
        low, high = quantiles.get(0.01), quantiles.get(0.99)
        return self.full if low is None or high is None else (low, high)

    @property
    def largest(self) -> float | None:
        """The largest magnitude."""
        full = self.full
        return None if full is None else max(abs(full[0]), abs(full[1]))

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
