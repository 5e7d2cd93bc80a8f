"""One document: a tab that is there at once, says what it waits for, and then shows tree and details."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QElapsedTimer, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QSplitter,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.engine.protocol import CloseDocument, OpenFile
from viewer.errors import ViewerError
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.job_strip import amount_text
from viewer.gui.meaning.tabs import Meaning
from viewer.gui.override import override
from viewer.gui.recognition import RecognitionStore
from viewer.gui.scan import ScanStore
from viewer.gui.scan_troubles import ANY_TROUBLE
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.tree.display import DisplayOptions
from viewer.gui.view_memory import remember_columns
from viewer.report.wording import printable
from viewer.task import Progress, Task

if TYPE_CHECKING:
    from viewer.gui.details.making import Pages
    from viewer.gui.details.panel import DetailsPanel
    from viewer.gui.tree.panel import TreePanel

_BAR_STEPS: Final = 1000
_FREEZE_FROM: Final = 10_000
"""Nodes from which on a full garbage collection stops the window for some 50 ms: what a document consists of is set
aside until a document is closed."""


class DocumentPage(QWidget):
    """Opens a file in the engine and shows what it found.

    Signals
    -------
    opened
        Carries the Checkpoint, each time that the file was read.
    failed
        Carries the ViewerError: nothing can be shown, or the file could not be read again.
    shown
        The first rows of the tree are on screen.
    filled
        The details show the document too.
    tensor_chosen
        The engine is about to compute.
    said
        Carries a sentence for the message bar.
    files_compared
        Carries two paths whose comparison is to be opened.
    """

    opened = Signal(object)
    failed = Signal(object)
    shown = Signal()
    filled = Signal()
    tensor_chosen = Signal()
    said = Signal(object)
    files_compared = Signal(object, object)

    def __init__(
        self,
        bridge: EngineBridge,
        theme: Theme,
        path: Path,
        options: DisplayOptions,
        device: str,
        tree_width: int,
        parent: QWidget | None = None,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(parent)
        self.path = path
        self.checkpoint: Checkpoint | None = None
        self.tree: TreePanel | None = None
        self.details: DetailsPanel | None = None
        self.recognition = RecognitionStore(bridge, self)
        self.scan = ScanStore(bridge, self)
        self.meaning = Meaning(self.recognition, self)
        self.recognition.changed.connect(self._show_meaning)
        self._bridge = bridge
        self._theme = theme
        self._options = options
        self._device = device
        self._tree_width = tree_width
        self._settings = settings
        self._document: int | None = None
        self._opening: int | None = None
        self._clock = QElapsedTimer()
        self._splitter: QSplitter | None = None
        self._making: Task[Pages] | None = None
        self._is_filled = False  # the details show the document that the tree shows
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._next_step)
        self._waiting = _WaitingPage(path, self)
        self._waiting.cancel.clicked.connect(self.cancel)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._waiting)
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)

    @property
    def document(self) -> int | None:
        """The engine's number of the document; None before it is open."""
        return self._document

    @property
    def is_opening(self) -> bool:
        return self._opening is not None

    @property
    def tree_width(self) -> int:
        """The width that the person gave the tree."""
        return self._splitter.sizes()[0] if self._splitter is not None else self._tree_width

    def open(self) -> None:
        """Read the file, or read it again; what is shown stays until the new contents are there."""
        if self._opening is not None:
            return
        self._clock.start()
        self._opening = self._bridge.submit(
            OpenFile(self.path),
            owner=self,
            on_result=self._take_checkpoint,
            on_failure=self._take_failure,
            on_progress=self._take_progress,
            title=f"opening {printable(self.path.name)}",
        )

    @Slot()
    def cancel(self) -> None:
        """Stop reading the file; `failed` then carries Cancelled."""
        if self._opening is not None:
            self._bridge.cancel(self._opening)

    def close_document(self) -> None:
        """Forget everything in the engine; the page is about to go."""
        self._later.stop()
        self._bridge.release(self)
        self.recognition.release()
        self.scan.forget()
        gc.unfreeze()
        if self.details is not None:
            self.details.release()
        if self._document is not None:
            self._bridge.submit(CloseDocument(self._document), owner=self._bridge, on_result=_ignore)
            self._document = None

    def set_options(self, options: DisplayOptions) -> None:
        """Show the tree another way."""
        self._options = options
        if self.tree is not None:
            self.tree.set_options(options)

    def show_whole(self, tab: str = "") -> None:
        """Leave the row of the tree and show the file as a whole; turn to a tab of it."""
        if self.tree is not None and self.details is not None and self._is_filled:
            self.tree.view.leave_row()
            self.details.show_node(0)
            self.details.choose_tab(tab)

    @Slot()
    def scan_values(self) -> None:
        """Read all tensors, for the columns and filters of the tree and the problems of the overview."""
        if self._document is not None and self.checkpoint is not None:
            self.scan.start(self._document, len(self.checkpoint.tensors), printable(self.path.name), self._device)

    def set_device(self, name: str) -> None:
        """Compute values on another device from now on."""
        self._device = name
        if self.details is not None:
            self.details.set_device(name)

    def _take_checkpoint(self, checkpoint: Checkpoint) -> None:
        former, self._document, self._opening = self._document, self._opening, None
        assert self._document is not None
        self.checkpoint = checkpoint
        self.scan.forget()
        self._show(checkpoint)
        if former is not None:
            self._bridge.submit(CloseDocument(former), owner=self._bridge, on_result=_ignore)
        self.opened.emit(checkpoint)

    def _take_failure(self, error: ViewerError) -> None:
        self._opening = None
        self.failed.emit(error)

    def _take_progress(self, progress: Progress) -> None:
        self._waiting.show_progress(progress, self._clock.elapsed() / 1000)

    def _show(self, checkpoint: Checkpoint) -> None:
        from viewer.gui.tree.panel import TreePanel

        former = self.tree
        tree = TreePanel(self._theme, checkpoint, self._options, former, self)
        if self._settings is not None:
            remember_columns(tree.view.columns, self._settings, restore=former is None)
        tree.said.connect(self.said)
        tree.shown.connect(self.shown)
        if former is None:
            self._split(tree)
        else:
            assert self._splitter is not None
            sizes = self._splitter.sizes()
            self._splitter.replaceWidget(0, tree)
            self._splitter.setSizes(sizes)
            if self.details is not None and self._is_filled:
                self.details.node_requested.disconnect(former.go_to_node)
            former.deleteLater()
        self.tree = tree
        self._is_filled = False
        tree.node_changed.connect(self._show_node)
        tree.group_changed.connect(self._show_group)
        tree.several_chosen.connect(self._show_several)
        tree.values.scan_asked.connect(self.scan_values)
        tree.values.columns_came.connect(self._make_room)
        tree.values.set_store(self.scan)
        tree.start()
        tree.view.setFocus()
        self._later.start()  # the tree is painted before the details are made

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.tree is not None and not self._is_filled:
            self._later.start()

    @Slot()
    def _next_step(self) -> None:
        """Make, place and fill the details, in steps of 30 ms; in a tab that nobody looks at they would only cost."""
        if not self.isVisible():
            return
        if self.details is None:
            pages = self._next_page()
            if pages is None:
                self._later.start()
                return
            # Imported with the first document: the empty window is there sooner without them.
            from viewer.gui.details.panel import DetailsPanel
            from viewer.gui.roundtrip.tab import roundtrip_tab

            self.details = DetailsPanel(self._bridge, self._theme, self, self._settings, pages)
            self.details.overview.set_recognition(self.recognition)
            problems = self.details.overview.problems
            problems.set_scan(self.scan)
            problems.scan_asked.connect(self.scan_values)
            problems.list_asked.connect(self._list_problems)
            for tab in (*self.meaning.tabs(), roundtrip_tab(self.files_compared.emit)):
                self.details.add_tab(tab)
            self.details.set_device(self._device)
            self.details.hide()
        elif self._splitter is not None and self._splitter.indexOf(self.details) < 0:
            sizes = self._splitter.sizes()
            if (placeholder := self._splitter.replaceWidget(1, self.details)) is not None:
                placeholder.deleteLater()
            self._splitter.setStretchFactor(1, 1)
            self._splitter.setSizes(sizes)
            self.details.show()
        else:
            self._fill_details(self.details)
            return
        self._later.start()

    def _next_page(self) -> Pages | None:
        """Make one more page of the details; all of them once they are there."""
        from viewer.gui.details.making import pages_task

        if self._making is None:
            self._making = pages_task(self._bridge, self._theme, self)
        try:
            next(self._making)
        except StopIteration as done:
            self._making = None
            pages: Pages = done.value
            return pages
        return None

    def _fill_details(self, details: DetailsPanel) -> None:
        tree, checkpoint, document = self.tree, self.checkpoint, self._document
        if tree is not None and checkpoint is not None and document is not None:
            self.recognition.ask(document)
            details.set_document(document, checkpoint)
            details.node_requested.connect(tree.go_to_node)
            self._is_filled = True
            if len(checkpoint.nodes) >= _FREEZE_FROM:
                gc.freeze()
            if tree.view.current_row:
                tree.tell_row()
            self.filled.emit()

    @Slot()
    def _show_meaning(self) -> None:
        """What the parts of the document are is known, or not any more."""
        if self.tree is not None and self.checkpoint is not None:
            self.tree.set_marks(self.meaning.marks(self.checkpoint))
        if self.details is not None and self._is_filled:
            self.details.refresh_tabs()

    @Slot(object)
    def _show_node(self, node: int) -> None:
        if self.checkpoint is not None and self.checkpoint.nodes.kind[node] == Kind.TENSOR:
            self.tensor_chosen.emit()
        if self.details is not None and self._is_filled:
            self.details.show_node(node)

    @Slot(object, object)
    def _show_group(self, name: str, nodes: list[int]) -> None:
        if self.details is not None and self._is_filled:
            self.details.show_group(name, nodes)

    @Slot(object)
    def _show_several(self, nodes: list[int]) -> None:
        if self.details is not None and self._is_filled:
            self.tensor_chosen.emit()
            self.details.show_several(nodes)

    @Slot()
    def _list_problems(self) -> None:
        if self.tree is not None:
            self.tree.values.choose(ANY_TROUBLE)

    @Slot()
    def _make_room(self) -> None:
        """More columns show: the tree takes what they need, up to three fifths."""
        if self._splitter is not None and self.tree is not None:
            total = sum(self._splitter.sizes())
            width = min(self.tree.view.columns.wanted_width, total * 3 // 5)
            if width > self._splitter.sizes()[0]:
                self._splitter.setSizes([width, total - width])

    def _split(self, tree: TreePanel) -> None:
        splitter = QSplitter(Qt.Orientation.Horizontal, self)
        splitter.setHandleWidth(1)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(tree)
        splitter.addWidget(QWidget(splitter))
        splitter.setStretchFactor(0, 0)
        splitter.setStretchFactor(1, 1)
        width = min(self._tree_width, max(320, self.width() * 3 // 5))
        splitter.setSizes([width, max(320, self.width() - width)])
        self._splitter = splitter
        self._stack.addWidget(splitter)
        self._stack.setCurrentWidget(splitter)


class _WaitingPage(QWidget):
    def __init__(self, path: Path, parent: QWidget) -> None:
        super().__init__(parent)
        title = QLabel(f"Opening {printable(path.name)}", self)
        title.setTextFormat(Qt.TextFormat.PlainText)
        title.setAlignment(Qt.AlignmentFlag.AlignCenter)
        title.setWordWrap(True)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(280)
        self._bar.setRange(0, 0)
        self._amount = QLabel(" ", self)
        self._amount.setProperty("role", "muted")
        self._amount.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.cancel = QPushButton("Cancel", self)
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addStretch(2)
        column.addWidget(title)
        for widget in (self._bar, self._amount, self.cancel):
            row = QHBoxLayout()
            row.addStretch(1)
            row.addWidget(widget)
            row.addStretch(1)
            column.addLayout(row)
        column.addStretch(3)

    def show_progress(self, progress: Progress, elapsed_s: float) -> None:
        self._amount.setText(amount_text(progress, elapsed_s))
        if progress.total > 0:
            self._bar.setRange(0, _BAR_STEPS)
            self._bar.setValue(min(_BAR_STEPS, progress.done * _BAR_STEPS // progress.total))


def _ignore(_value: object) -> None:
    """The engine has closed the document; nobody waits for it."""
