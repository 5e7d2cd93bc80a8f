"""The Checks page: what a person should know before training goes on."""

from __future__ import annotations

from collections import Counter
from typing import Final

import shiboken6
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checks.results import SEVERITIES, CheckReport
from viewer.engine.meaning_requests import Check
from viewer.errors import Cancelled, ViewerError
from viewer.gui.details.page import Page, WordsLabel
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.format import format_count
from viewer.gui.job_strip import amount_text
from viewer.gui.meaning.finding_box import GLYPHS, WORDS, FindingBox
from viewer.gui.theme import Theme
from viewer.task import Progress

_MOST: Final = 60
"""Findings that get a box: a file chooses how many there are."""
_STEPS: Final = 1000


class ChecksPage(Page):
    """Checks the structure by itself, which reads nothing; the values when the person asks.

    Signals
    -------
    node_requested
        Carries the number of a node that the person wants to see.
    """

    node_requested = Signal(object)

    def __init__(self, bridge: EngineBridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._document = -1
        self._checkpoint: Checkpoint | None = None
        self._device = "cpu"
        self._job: int | None = None
        self._reads_values = False
        self.report: CheckReport | None = None
        self.boxes: list[FindingBox] = []
        self.check = QPushButton("Check", self.body)
        self.check.setToolTip("Read all tensors and check their values too")
        self.cancel = QPushButton("Cancel", self.body)
        self.bar = QProgressBar(self.body)
        self.bar.setTextVisible(False)
        self.bar.setMaximumWidth(220)
        self.amount = WordsLabel(theme, "muted", self.body)
        self.summary = WordsLabel(theme, "text", self.body)
        self.made = WordsLabel(theme, "muted", self.body)
        self.rest = WordsLabel(theme, "muted", self.body)
        line = QHBoxLayout()
        line.setContentsMargins(3, 6, 0, 4)
        line.setSpacing(8)
        line.addWidget(self.check)
        line.addWidget(self.cancel)
        line.addWidget(self.bar)
        line.addWidget(self.amount, 1)
        line.addStretch(0)
        self.column.addLayout(line)
        self.column.addWidget(self.summary)
        self.column.addWidget(self.made)
        self.column.addWidget(self.rest)
        self.column.addStretch(1)
        self.check.clicked.connect(self.start)
        self.cancel.clicked.connect(self._cancel)
        self._show_running(None)

    @property
    def is_running(self) -> bool:
        return self._job is not None

    def set_device(self, name: str) -> None:
        """Compute on another device from now on."""
        self._device = name

    def show_node(self, document: int, checkpoint: Checkpoint, node: int) -> None:  # noqa: ARG002 - the root
        """Turn to a document."""
        if checkpoint is not self._checkpoint:
            self.clear()
            self._document, self._checkpoint = document, checkpoint

    def set_active(self, active: bool) -> None:
        """On screen: what needs no values is checked, once."""
        if active and self._checkpoint is not None and self.report is None and not self.is_running:
            self._submit(with_values=False)

    def start(self) -> None:
        """Check everything, values too."""
        if self._checkpoint is not None:
            self._submit(with_values=True)

    def clear(self) -> None:
        """Show nothing, and stop what runs."""
        self._bridge.release(self)
        self._checkpoint = None
        self.report = None
        self._show_running(None)
        self._drop_boxes()
        for words in (self.summary, self.made, self.rest):
            words.show_words("")

    def _submit(self, *, with_values: bool) -> None:
        self._reads_values = with_values
        number = self._bridge.submit(
            Check(self._document, self._device, with_values),
            owner=self,
            on_result=self._take,
            on_failure=self._fail,
            on_progress=self._progress,
            title="checking the checkpoint" if with_values else "",
            supersede="check",
        )
        self._show_running(number)

    def _cancel(self) -> None:
        if self._job is not None:
            self._bridge.cancel(self._job)

    def _show_running(self, job: int | None) -> None:
        self._job = job
        running = job is not None and self._reads_values
        self.check.setEnabled(not running)
        self.cancel.setVisible(running)
        self.bar.setVisible(running)
        self.bar.setRange(0, 0)
        self.amount.show_words("checking what needs no values …" if job is not None and not running else "")

    def _progress(self, progress: Progress) -> None:
        if not self._reads_values:
            return
        if progress.total > 0:
            self.bar.setRange(0, _STEPS)
            self.bar.setValue(min(_STEPS, progress.done * _STEPS // progress.total))
        self.amount.show_words(amount_text(progress, 0.0))

    def _take(self, found: object) -> None:
        assert isinstance(found, CheckReport)
        self._show_running(None)
        checkpoint = self._checkpoint
        if checkpoint is None:
            return
        self.report = found
        self._drop_boxes()
        self.summary.show_words(summary_words(found))
        made = f"Checked: {', '.join(found.checks)}."
        if not found.with_values:
            made += " Values were not read: Check does that."
        self.made.show_words(made)
        place = self.column.indexOf(self.rest)
        for nth, finding in enumerate(found.findings[:_MOST]):
            box = FindingBox(self._theme, checkpoint, finding, self.body)
            box.node_requested.connect(self.node_requested)
            self.column.insertWidget(place + nth, box)
            self.boxes.append(box)
        notes = list(found.notes)
        if (more := len(found.findings) - _MOST) > 0:
            notes.append(f"… and {format_count(more)} more findings; checkpoint-viewer check lists them all")
        self.rest.show_words("\n".join(notes))

    def _fail(self, error: ViewerError) -> None:
        self._show_running(None)
        stopped = isinstance(error, Cancelled)
        self.amount.show_words("stopped" if stopped else f"✕ {error.fault}")

    def _drop_boxes(self) -> None:
        for box in self.boxes:
            box.hide()
            if shiboken6.isValid(box):
                box.deleteLater()
        self.boxes.clear()


def summary_words(report: CheckReport) -> str:
    """How many findings of which severity."""
    if not report.findings:
        return "✓ Nothing found" + ("." if report.with_values else " in what needs no values.")
    counts = Counter(finding.severity for finding in report.findings)
    parts = []
    for severity in SEVERITIES:
        if count := counts[severity]:
            word = WORDS[severity] + ("" if count == 1 else "s")
            parts.append(f"{GLYPHS[severity]} {format_count(count)} {word}")
    return " · ".join(parts)
