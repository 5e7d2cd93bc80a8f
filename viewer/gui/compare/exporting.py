"""Reports of a comparison: asks where to, and has the engine write them; or copies the text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QPushButton

from viewer.engine.compare_requests import ReportComparison, ReportFormat
from viewer.errors import Cancelled, ViewerError
from viewer.gui.compare.session import ComparisonSession
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.message_bar import Message

_FORMATS: Final[tuple[tuple[ReportFormat, str, str], ...]] = (
    ("html", "Page (HTML)…", "html"),
    ("json", "JSON…", "json"),
    ("csv", "Table (CSV)…", "csv"),
    ("text", "Text…", "txt"),
)
_MAX_COPIED: Final = 20_000_000
"""Characters for the clipboard; a file takes more."""


class ReportExporter(QObject):
    """Gives a button its menu. Signals: `said` carries a Message."""

    said = Signal(object)

    def __init__(self, bridge: EngineBridge, session: ComparisonSession, button: QPushButton) -> None:
        super().__init__(button)
        self._bridge = bridge
        self._session = session
        self._button = button
        self.menu = QMenu(button)
        for format_, title, suffix in _FORMATS:
            self.menu.addAction(title, partial(self._ask, format_, suffix))
        self.menu.addSeparator()
        self.menu.addAction("Copy text", self.copy)
        button.setMenu(self.menu)
        button.setToolTip("Write the comparison to a file, or copy it as text")
        button.setEnabled(False)

    def write(self, format_: ReportFormat, target: Path) -> None:
        """Have the engine write a report; it appears under its name when it is whole."""

        def written(_none: None) -> None:
            self.said.emit(Message("ok", f"Wrote {target.name}", key="report"))

        self._submit(format_, target, written)

    def copy(self) -> None:
        """Put the text report on the clipboard."""

        def copied(text: str) -> None:
            QGuiApplication.clipboard().setText(text[:_MAX_COPIED])
            self.said.emit(Message("ok", "Copied the comparison as text", key="report"))

        self._submit("text", None, copied)

    def release(self) -> None:
        """The tab is about to go; a report that is being written is dropped as a whole."""
        self._bridge.release(self)

    def _submit(self, format_: ReportFormat, target: Path | None, on_result: Callable[[Any], None]) -> None:
        documents, comparison = self._session.documents, self._session.comparison
        if documents is None or comparison is None:
            return
        self._bridge.submit(
            ReportComparison(*documents, comparison.structure.options, format_, target),
            owner=self,
            on_result=on_result,
            on_failure=self._fail,
            title="writing a report",
        )

    def _fail(self, error: ViewerError) -> None:
        if not isinstance(error, Cancelled):
            self.said.emit(Message.of(error, key="report"))

    def _ask(self, format_: ReportFormat, suffix: str) -> None:
        left, right = self._session.sides
        dialog = QFileDialog(self._button.window(), "Write the comparison", str(left.path.parent))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        dialog.setDefaultSuffix(suffix)
        dialog.selectFile(f"{left.path.stem}-{right.path.stem}.{suffix}")

        def chosen(name: str) -> None:
            self.write(format_, Path(name))

        dialog.fileSelected.connect(chosen)
        dialog.open()
