"""The bottom line: what is being done, the device, and what the document in front is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLabel, QPushButton, QStatusBar, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.tips import plain_tip
from viewer.gui.device_box import DeviceBox
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.format import format_bytes, format_bytes_exact
from viewer.gui.job_strip import JobStrip
from viewer.gui.safety import verdict
from viewer.gui.theme import Theme

if TYPE_CHECKING:
    from viewer.gui.compare.page import ComparePage


class StatusLine(QStatusBar):
    """Signals: `verdict_clicked` when the person wants to see what the file names."""

    verdict_clicked = Signal()

    def __init__(self, bridge: EngineBridge, theme: Theme, device: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeGripEnabled(False)
        self.jobs = JobStrip(bridge, theme, self)
        self.device_box = DeviceBox(device, self)
        self._container = QLabel(self)
        self._compared = QLabel(self)
        self._compared.setProperty("role", "muted")
        self._compared.setContentsMargins(8, 0, 0, 0)
        self.verdict = QPushButton(self)
        self.verdict.setProperty("role", "verdict")
        self.verdict.setToolTip("Show the classes and functions that the file names")
        self.verdict.clicked.connect(self.verdict_clicked)
        self.addWidget(self._compared)
        self.addWidget(self.jobs, 1)
        for widget in (self.device_box, self._container, self.verdict):
            self.addPermanentWidget(widget)
        self.show_document(None)

    def show_comparison(self, comparison: ComparePage | None) -> None:
        """Say how much was compared in what time, and what the two are; None for no comparison."""
        figures = None if comparison is None else comparison.figures
        self._compared.setVisible(figures is not None)
        if comparison is None or figures is None:
            return
        assert comparison.comparison is not None
        nbytes, seconds = figures
        what = f" {format_bytes(nbytes)}" if nbytes else ""  # names alone where nothing has a partner
        self._compared.setText(f"✓ compared{what} in {_seconds_text(seconds)}")
        self._compared.setToolTip(f"{format_bytes_exact(nbytes)} of both files together were read")
        structure = comparison.comparison.structure
        left, right = structure.container_a, structure.container_b
        containers = left if left == right else f"{left} ⇄ {right}"
        self._container.setText(f"{containers} · ✓ nothing was executed")
        self._container.setToolTip(plain_tip(f"{structure.path_a}\n{structure.path_b}"))
        self._container.show()

    @Slot(object)
    def show_document(self, checkpoint: Checkpoint | None) -> None:
        """Say what the document in front is; None for none."""
        self._container.setVisible(checkpoint is not None)
        self.verdict.setVisible(checkpoint is not None)
        if checkpoint is None:
            return
        files = len(checkpoint.files)
        several = f" in {files} files" if files > 1 else ""
        self._container.setText(f"{checkpoint.container} · {format_bytes(checkpoint.nbytes)}{several}")
        self._container.setToolTip(plain_tip(f"{checkpoint.path}\n{format_bytes_exact(checkpoint.nbytes)}{several}"))
        words, harmless = verdict(checkpoint)
        self.verdict.setText(words)
        self.verdict.setProperty("state", "ok" if harmless else "warning")
        self.verdict.style().unpolish(self.verdict)
        self.verdict.style().polish(self.verdict)


def _seconds_text(seconds: float) -> str:
    if seconds < 9.95:
        return f"{max(seconds, 0.1):.1f} s"
    return f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"
