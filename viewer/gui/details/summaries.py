"""Summaries of tensors: asked of the engine once, then kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from PySide6.QtCore import QObject

from viewer.engine.protocol import Summarise
from viewer.engine.values_requests import RuleHistogram
from viewer.errors import ViewerError
from viewer.gui.engine_bridge import EngineBridge
from viewer.task import Progress
from viewer.tensors.histogram_results import BinRule, RuledHistogram, RuledSummary
from viewer.tensors.results import TensorSummary

_KEPT: Final = 128
"""Summaries to keep: with 4,096 bins and three parts each they are 25 MB together, with 256 bins 2 MB."""


@dataclass(frozen=True, slots=True)
class SummaryKey:
    """What makes two summaries the same; attributes as in `Summarise`, or the rule of a `RuleHistogram`."""

    document: int
    tensor: int
    device: str
    bins: int
    value_range: tuple[float, float] | None = None
    rule: BinRule | None = None


class SummaryStore:
    """Asks the engine for summaries and keeps the last ones. A newer question replaces an older one of its lane."""

    def __init__(self, bridge: EngineBridge, owner: QObject) -> None:
        self._bridge = bridge
        self._owner = owner
        self._kept: OrderedDict[SummaryKey, TensorSummary] = OrderedDict()
        self._ruled: dict[SummaryKey, tuple[RuledHistogram, ...]] = {}
        self._running: dict[str, int] = {}

    def kept(self, key: SummaryKey) -> TensorSummary | None:
        """The summary if it is there already."""
        summary = self._kept.get(key)
        if summary is not None:
            self._kept.move_to_end(key)
        return summary

    def ruled(self, key: SummaryKey) -> tuple[RuledHistogram, ...]:
        """How the edges came about of each histogram of a kept summary with a rule; nothing for others."""
        return self._ruled.get(key, ())

    def ask(
        self,
        key: SummaryKey,
        lane: str,
        title: str,
        *,
        on_result: Callable[[TensorSummary], None],
        on_failure: Callable[[ViewerError], None],
        on_progress: Callable[[Progress], None],
    ) -> None:
        """Have the engine compute a summary; what was asked before in the same lane is cancelled."""
        self.cancel(lane)
        request = (
            Summarise(key.document, key.tensor, key.device, key.bins, key.value_range)
            if key.rule is None
            else RuleHistogram(key.document, key.tensor, key.rule, key.device)
        )
        self._running[lane] = self._bridge.submit(
            request,
            owner=self._owner,
            on_result=partial(self._keep, key, lane, on_result),
            on_failure=partial(self._fail, lane, on_failure),
            on_progress=on_progress,
            title=title,
            supersede=lane,
        )

    def cancel(self, lane: str) -> None:
        """Stop what runs in a lane, if anything does."""
        job = self._running.pop(lane, None)
        if job is not None:
            self._bridge.cancel(job)

    def forget(self, document: int) -> None:
        """Drop the summaries of a document."""
        for key in [key for key in self._kept if key.document == document]:
            self._drop(key)

    def _keep(self, key: SummaryKey, lane: str, on_result: Callable[[TensorSummary], None], found: object) -> None:
        self._running.pop(lane, None)
        if isinstance(found, RuledSummary):
            self._ruled[key] = found.histograms
            found = _with_histograms(found)
        assert isinstance(found, TensorSummary)
        self._kept[key] = found
        self._kept.move_to_end(key)
        while len(self._kept) > _KEPT:
            self._drop(next(iter(self._kept)))
        on_result(found)

    def _drop(self, key: SummaryKey) -> None:
        del self._kept[key]
        self._ruled.pop(key, None)

    def _fail(self, lane: str, on_failure: Callable[[ViewerError], None], error: ViewerError) -> None:
        self._running.pop(lane, None)
        on_failure(error)


def _with_histograms(found: RuledSummary) -> TensorSummary:
    """The summary with the histograms by the rule in place of its own."""
    first, *others = (ruled.histogram for ruled in found.histograms)
    parts = tuple(
        replace(part, histogram=histogram) for part, histogram in zip(found.summary.parts, others, strict=True)
    )
    return replace(found.summary, histogram=first, parts=parts)
