"""What the engine is doing, at the bottom left: title, bar, amount, time left, cancel. Empty when it is idle."""

from __future__ import annotations

import time
from typing import Final

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QToolButton, QWidget

from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.engine_bridge import EngineBridge, Job
from viewer.gui.format import format_count
from viewer.gui.icons import IconSet
from viewer.gui.theme import Theme
from viewer.task import Progress

APPEARS_MS: Final = 150
"""Shorter jobs are not worth a flicker."""
_REFRESH_MS: Final = 100
_ESTIMATE_AFTER_S: Final = 0.7
"""Before that, the speed of the first chunks says little."""
_BAR_STEPS: Final = 1000


class JobStrip(QWidget):
    """Shows the oldest job that has a title, and how many more there are."""

    def __init__(self, bridge: EngineBridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        # It gives way first: the verdict on the file stands at the other end of the line.
        self._title = ElidedLabel(Qt.TextElideMode.ElideMiddle, self)
        self._bar = QProgressBar(self)
        self._bar.setFixedWidth(120)
        self._bar.setTextVisible(False)
        self._amount = QLabel(self)
        self._cancel = QToolButton(self)
        self._cancel.setProperty("role", "flat")
        self._cancel.setText("cancel")
        self._cancel.setIconSize(QSize(13, 13))
        self._cancel.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._cancel.setAccessibleName("Cancel the job")
        self._cancel.clicked.connect(self._cancel_shown)
        line = QHBoxLayout(self)
        line.setContentsMargins(8, 0, 0, 0)
        line.setSpacing(10)
        for widget in (self._title, self._bar, self._amount, self._cancel):
            line.addWidget(widget)
        line.addStretch(1)
        self._parts = (self._title, self._bar, self._amount, self._cancel)
        self._appear = QTimer(self, singleShot=True, interval=APPEARS_MS)
        self._appear.timeout.connect(self._refresh)
        self._tick = QTimer(self, interval=_REFRESH_MS)
        self._tick.timeout.connect(self._refresh)
        bridge.job_started.connect(self._job_started)
        bridge.job_ended.connect(self._job_ended)
        theme.changed.connect(self._take_theme)
        self._take_theme()
        self._set_shown(False)

    @property
    def shown_job(self) -> Job | None:
        """The job that the strip is about."""
        return next((job for job in self._bridge.jobs if job.title and not job.stale), None)

    @property
    def is_shown(self) -> bool:
        return self._title.isVisibleTo(self)

    @Slot(object)
    def _job_started(self, job: Job) -> None:
        if job.title and not self._appear.isActive() and not self._tick.isActive():
            self._appear.start()

    @Slot(object)
    def _job_ended(self, _job: Job) -> None:
        if self.shown_job is None:
            self._appear.stop()
            self._tick.stop()
            self._set_shown(False)

    @Slot()
    def _refresh(self) -> None:
        job = self.shown_job
        if job is None:
            self._tick.stop()
            self._set_shown(False)
            return
        if not self._tick.isActive():
            self._tick.start()
        others = sum(1 for other in self._bridge.jobs if other.title and not other.stale) - 1
        title = f"{job.title[:1].upper()}{job.title[1:]}"
        self._title.set_text(f"{title} (+{others} more)" if others else title)
        progress = job.progress
        if progress is None or progress.total <= 0:
            self._bar.setRange(0, 0)
        else:
            self._bar.setRange(0, _BAR_STEPS)
            self._bar.setValue(min(_BAR_STEPS, progress.done * _BAR_STEPS // progress.total))
        self._amount.setText(
            "cancelling…" if job.cancelling else amount_text(progress, time.monotonic() - job.started_s)
        )
        self._cancel.setEnabled(not job.cancelling)
        self._set_shown(True)

    @Slot()
    def _cancel_shown(self) -> None:
        job = self.shown_job
        if job is not None:
            self._bridge.cancel(job.number)
            self._refresh()

    @Slot()
    def _take_theme(self) -> None:
        self._amount.setFont(self._theme.mono(-1))
        self._cancel.setIcon(IconSet(self._theme.tokens).icon("close", "muted"))

    def _set_shown(self, shown: bool) -> None:
        # The strip itself keeps its place, so that the rest of the line does not jump.
        for part in self._parts:
            part.setVisible(shown)


def amount_text(progress: Progress | None, elapsed_s: float) -> str:
    """How far a job is, in words: "1.2 of 4.8 GB · 2 s left"."""
    if progress is None:
        return ""
    if progress.total <= 0:
        return _amount(progress.done, progress.done, progress.unit) if progress.done else ""
    total = max(progress.total, progress.done)
    text = _amount(progress.done, total, progress.unit, of=True)
    if progress.done and elapsed_s >= _ESTIMATE_AFTER_S and progress.done < total:
        text += f" · {_duration(elapsed_s * (total - progress.done) / progress.done)} left"
    return text


def _amount(done: int, total: int, unit: str, of: bool = False) -> str:
    if unit != "bytes":
        both = f"{format_count(done)} of {format_count(total)}" if of else format_count(done)
        return f"{both} {unit}"
    step, name = 1, "B"
    for larger in ("KB", "MB", "GB", "TB", "PB"):
        if total < step * 1000:
            break
        step, name = step * 1024, larger
    digits = 0 if step == 1 else 1
    both = f"{done / step:,.{digits}f} of {total / step:,.{digits}f}" if of else f"{done / step:,.{digits}f}"
    return f"{both} {name}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
