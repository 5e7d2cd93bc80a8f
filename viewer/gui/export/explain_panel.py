"""The page of a comparison that says why two files differ in bytes."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from viewer.engine.export_requests import Explain
from viewer.errors import Cancelled, ViewerError
from viewer.export.explain_results import Explanation
from viewer.gui.details.jump_table import JumpTable
from viewer.gui.details.page import WordsLabel
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.export.parts import HashLine, ListingPage, ProgressLine
from viewer.gui.export.rows import REASON_HEADS, reason_rows
from viewer.gui.theme import Theme
from viewer.task import Progress


class ExplainPanel(QWidget):
    """Signals: `closed`, the person wants to see the tensors again."""

    closed = Signal()

    def __init__(self, bridge: EngineBridge, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._documents: tuple[int, int] | None = None
        self._job: int | None = None
        self.explanation: Explanation | None = None
        self.verdict = QLabel(self)
        self.verdict.setTextFormat(Qt.TextFormat.PlainText)
        self.verdict.setWordWrap(True)
        self.verdict.setProperty("role", "title")
        self.told = WordsLabel(theme, "muted", self)
        self.running = ProgressLine(theme, self)
        self.running.cancelled.connect(self.cancel)
        self.back = QPushButton("Back to the tensors", self)
        self.back.clicked.connect(self.closed)
        self.again = QPushButton("Try again", self)
        self.again.clicked.connect(self._start)
        self.found = ListingPage(theme, self)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.verdict, 1)
        head.addWidget(self.again, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self.back, 0, Qt.AlignmentFlag.AlignTop)
        upper = QVBoxLayout()
        upper.setContentsMargins(16, 12, 12, 0)  # where the text of the sections begins
        upper.setSpacing(8)
        upper.addLayout(head)
        upper.addWidget(self.told)
        upper.addWidget(self.running)
        self.told.setContentsMargins(0, 0, 0, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addLayout(upper)
        column.addWidget(self.found, 1)
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    def explain(self, document_a: int, document_b: int) -> None:
        """Show why two documents differ in bytes; asked once for the same two."""
        if self._documents != (document_a, document_b) or (self.explanation is None and self._job is None):
            self._documents = document_a, document_b
            self._start()

    @Slot()
    def cancel(self) -> None:
        if self._job is not None:
            self.running.stopping()
            self._bridge.cancel(self._job)

    def release(self) -> None:
        """Cancel what runs; nobody is told of its end."""
        self._bridge.release(self)
        self._documents = self._job = self.explanation = None

    @Slot()
    def _start(self) -> None:
        assert self._documents is not None
        self.explanation = None
        self.found.clear()
        self.again.hide()
        self.verdict.setText("Why do the bytes differ?")
        self.told.show_words("")
        self.running.begin("Comparing byte by byte")
        request = Explain(*self._documents)
        self._job = self._bridge.submit(
            request,
            owner=self,
            on_result=self._take,
            on_failure=self._fail,
            on_progress=self._progress,
            title=request.doing,
            supersede="explain",
        )

    def _progress(self, progress: Progress) -> None:
        if self.running.cancel.isEnabled():
            self.running.take(progress)

    def _take(self, found: Explanation) -> None:
        self._job = None
        self.running.hide()
        self.explanation = found
        verdict = found.verdict
        self.verdict.setText(f"{verdict[:1].upper()}{verdict[1:]}")
        self.told.show_words("" if found.same_bytes else "Every byte that differs is counted under one reason.")
        if not found.same_bytes:
            table = JumpTable(self._theme, "Reasons", self.found.body)
            table.show_jumps(reason_rows(found), REASON_HEADS)
            self.found.add_title("Reasons")
            self.found.add(table)
        if found.content:
            self.found.add_title("In the content")
            self.found.add_words("\n".join(f"•  {sentence}" for sentence in found.content), "text")
        if found.a_digest and found.b_digest:
            names = [("Content name (SHA-256) of both", found.a_digest)]
            if not found.same_content:
                names = [("Content name of left", found.a_digest), ("Content name of right", found.b_digest)]
            for title, sha256 in names:
                self.found.add_title(title)
                line = HashLine(self._theme, title, self.found.body)
                line.show_hash(sha256)
                self.found.add(line)

    def _fail(self, error: ViewerError) -> None:
        self._job = None
        self.running.hide()
        self.again.show()
        cancelled = isinstance(error, Cancelled)
        self.verdict.setText("Cancelled" if cancelled else "This cannot be told")
        self.told.show_words("" if cancelled else str(error))


class ExplainStack(QStackedWidget):
    """A comparison, and behind it the page that explains its bytes, made when it is first asked for.

    Parameters
    ----------
    front
        What is shown otherwise.
    """

    def __init__(self, bridge: EngineBridge, theme: Theme, front: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self.panel: ExplainPanel | None = None
        self.addWidget(front)

    def explain(self, document_a: int, document_b: int) -> None:
        """Show why two documents differ in bytes."""
        if self.panel is None:
            self.panel = ExplainPanel(self._bridge, self._theme, self)
            self.panel.closed.connect(self.show_front)
            self.addWidget(self.panel)
        self.setCurrentWidget(self.panel)
        self.panel.explain(document_a, document_b)

    @Slot()
    def show_front(self) -> None:
        """Show the comparison again."""
        self.setCurrentIndex(0)

    def release(self) -> None:
        """The documents are about to go: cancel what runs, and show the comparison."""
        self.show_front()
        if self.panel is not None:
            self.panel.release()
