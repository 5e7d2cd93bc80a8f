"""The tab of a comparison: opens both files, shows the structure at once and the values as they come."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSplitter, QVBoxLayout, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.compare.comparison import Comparison
from viewer.compare.overview import sentence
from viewer.compare.results import Overview, Status, Structure, ValueBatch
from viewer.engine.protocol import CloseDocument, Compare, CompareStructure, OpenFile
from viewer.errors import Cancelled, ViewerError
from viewer.gui.compare.details import PairPanel
from viewer.gui.compare.filter_bar import FilterBar
from viewer.gui.compare.header import SidesHeader
from viewer.gui.compare.model import CompareModel
from viewer.gui.compare.shown import row_texts, shape_of, tree_order
from viewer.gui.compare.verdicts import DIFFERENCES
from viewer.gui.compare.view import CompareView
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.message_bar import Message
from viewer.gui.theme import Theme
from viewer.task import Progress

_REFRESH_MS: Final = 200
"""Between two looks at the results that came in."""


class ComparePage(QWidget):
    """Two files side by side. Left is `a`, right is `b`.

    The page has documents of its own in the engine: tabs of the same files come and go without touching it.

    Signals
    -------
    retitled
        The sides were swapped.
    said
        Carries a Message.
    opened
        Carries the Path of a file that could be opened.
    finished
        The comparison is complete.
    """

    retitled = Signal()
    said = Signal(object)
    opened = Signal(object)
    finished = Signal()

    def __init__(
        self, bridge: EngineBridge, theme: Theme, path_a: Path, path_b: Path, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._paths = [path_a, path_b]
        self._documents: list[int | None] = [None, None]
        self._checkpoints: list[Checkpoint | None] = [None, None]
        self._is_running = False
        self._texts: list[str] = []
        self.comparison: Comparison | None = None
        self.header = SidesHeader(theme, self)
        self.sentence = QLabel(self)
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence.setWordWrap(True)
        self.sentence.setContentsMargins(12, 6, 12, 6)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.hints = QLabel(self)
        self.hints.setTextFormat(Qt.TextFormat.PlainText)
        self.hints.setProperty("role", "muted")
        self.hints.setWordWrap(True)
        self.hints.setContentsMargins(12, 0, 12, 6)
        self.hints.hide()
        self.again = QPushButton("Compare again", self)
        self.again.hide()
        self.filters = FilterBar(self)
        self.model = CompareModel(theme, self)
        self.view = CompareView(theme, self.model, self)
        self.details = PairPanel(bridge, theme, self)
        self._lay_out()
        self._refresh = QTimer(self, singleShot=True, interval=_REFRESH_MS)
        self._refresh.timeout.connect(self._show_results)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.filters.focus_text)
        self.header.swap.clicked.connect(self.swap)
        self.again.clicked.connect(self.start)
        self.filters.changed.connect(self._reshape)
        self.filters.entered.connect(self.view.setFocus)
        self.filters.next.clicked.connect(self.next_difference)
        self.filters.previous.clicked.connect(self.previous_difference)
        self.view.row_changed.connect(self.details.show_row)
        self.header.show_paths(path_a, path_b)

    @property
    def title(self) -> str:
        """Both names: "a.pth ⇄ b.pth"."""
        return " ⇄ ".join(path.name or str(path) for path in self._paths)

    @property
    def paths(self) -> tuple[Path, Path]:
        return self._paths[0], self._paths[1]

    @property
    def is_running(self) -> bool:
        return self._is_running

    @Slot()
    def start(self) -> None:
        """Open both files, or open them again, and compare."""
        self._bridge.release(self)
        self._close_documents()
        self._is_running = True
        self.again.hide()
        self.sentence.setText("Opening both files …")
        for side, path in enumerate(self._paths):
            self._open(side, path)

    @Slot()
    def swap(self) -> None:
        """Exchange left and right, and compare again: differences are those of right against left."""
        for pair in (self._paths, self._documents, self._checkpoints):
            pair.reverse()
        self.header.show_paths(*self._paths)
        self.retitled.emit()
        if None in self._checkpoints:
            self.start()
        else:
            self._compare()

    @Slot()
    def next_difference(self) -> None:
        """Go to the next shown row that differs."""
        self._step(forward=True)

    @Slot()
    def previous_difference(self) -> None:
        self._step(forward=False)

    def close_document(self) -> None:
        """Forget everything in the engine; the page is about to go."""
        self._refresh.stop()
        self.details.release()
        self._bridge.release(self)
        self._close_documents()

    def _open(self, side: int, path: Path) -> None:
        number = self._bridge.submit(
            OpenFile(path),
            owner=self,
            on_result=lambda checkpoint: self._take_checkpoint(number, checkpoint),
            on_failure=lambda error: self._fail(error.about(path)),
            title=f"opening {path.name}",
        )
        self._documents[side] = number

    def _take_checkpoint(self, number: int, checkpoint: Checkpoint) -> None:
        self._checkpoints[self._documents.index(number)] = checkpoint
        self.opened.emit(checkpoint.path)
        if None not in self._checkpoints:
            self._compare()

    def _compare(self) -> None:
        document_a, document_b = self._open_documents()
        self._is_running = True
        self.again.hide()
        self.sentence.setText("Comparing …")
        # By itself first: the tree is there while torch, which the values need, is still being imported.
        self._bridge.submit(
            CompareStructure(document_a, document_b),
            owner=self,
            on_result=self._take_structure,
            on_failure=self._fail,
            title=f"comparing the structure of {self.title}",
            supersede="compare",
        )

    def _take_progress(self, progress: Progress) -> None:
        if isinstance(progress.partial, ValueBatch) and self.comparison is not None:
            self.comparison.add(progress.partial)
            if not self._refresh.isActive():
                self._refresh.start()

    def _take_structure(self, structure: Structure) -> None:
        a, b = self._checkpoints
        assert a is not None
        assert b is not None
        document_a, document_b = self._open_documents()
        self.comparison = Comparison(a, b, structure)
        self._texts = row_texts(structure.rows)
        spec = self.filters.spec
        self.view.show_first(self.comparison, shape_of(self.comparison, self.filters.statuses, spec, self._texts))
        self.details.set_comparison(self.comparison, document_a, document_b)
        hints = [*structure.warnings, *_offers(structure)]
        self.hints.setText("\n".join(hints))
        self.hints.setVisible(bool(hints))
        self._show_results()
        self._bridge.submit(
            Compare(document_a, document_b, with_structure=False),
            owner=self,
            on_result=self._finish,
            on_failure=self._fail,
            on_progress=self._take_progress,
            title=f"comparing {self.title}",
            supersede="compare",
        )

    @Slot()
    def _show_results(self) -> None:
        """Say what is known by now."""
        comparison = self.comparison
        if comparison is None:
            return
        totals = comparison.totals()
        self.filters.show_totals(totals)
        if self._is_running:
            self.sentence.setText(f"So far: {sentence(comparison)}")
        if self.filters.statuses is not None:
            self._reshape()
        else:
            self.model.verdicts_changed()
        self.details.refresh()

    @Slot()
    def _reshape(self) -> None:
        if self.comparison is None:
            return
        shape = shape_of(self.comparison, self.filters.statuses, self.filters.spec, self._texts)
        if list(shape.rows) == list(self.model.shape.rows) and shape.n_matches == self.model.shape.n_matches:
            self.model.verdicts_changed()
        else:
            self.view.show_shape(self.comparison, shape)

    def _finish(self, overview: Overview) -> None:
        self._is_running = False
        assert self.comparison is not None
        self.comparison.overview = overview
        self._refresh.stop()
        self._show_results()
        self.sentence.setText(overview.sentence)
        self.finished.emit()

    def _fail(self, error: ViewerError) -> None:
        if not self._is_running:
            return  # the other side failed before
        self._is_running = False
        self._refresh.stop()
        self._show_results()
        self._bridge.release(self)
        cancelled = isinstance(error, Cancelled)
        known = f": {sentence(self.comparison)}" if self.comparison is not None else ""
        self.sentence.setText(f"{'Cancelled' if cancelled else 'Stopped'} before the end{known}")
        self.again.show()
        if not cancelled:
            self.said.emit(Message.of(error, key=f"compare {self.title}"))

    def _step(self, *, forward: bool) -> None:
        comparison = self.comparison
        if comparison is None:
            return
        rows = comparison.rows
        order = list(tree_order(self.model.shape))
        current = self.view.current_row
        here = order.index(current) if current in order else 0
        ahead = order[here + 1 :] if forward else order[:here][::-1]
        for row in ahead:
            if row and rows.counted[row] and Status(rows.status[row]) in DIFFERENCES:
                self.view.go_to(row)
                return
        where = "below" if forward else "above"
        unread = comparison.totals()[Status.UNREAD]
        more = " so far: not everything has been compared" if unread else ""
        self.said.emit(Message("info", f"No difference {where} the current row{more}", key="next difference"))

    def _open_documents(self) -> tuple[int, int]:
        document_a, document_b = self._documents
        assert document_a is not None
        assert document_b is not None
        return document_a, document_b

    def _close_documents(self) -> None:
        for side, document in enumerate(self._documents):
            if document is not None:
                self._bridge.submit(CloseDocument(document), owner=self._bridge, on_result=_ignore)
            self._documents[side] = None
            self._checkpoints[side] = None

    def _lay_out(self) -> None:
        upper = QWidget(self)
        column = QVBoxLayout(upper)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        told = QHBoxLayout()
        told.setContentsMargins(0, 0, 12, 0)
        told.addWidget(self.sentence, 1)
        told.addWidget(self.again)
        column.addWidget(self.header)
        column.addLayout(told)
        column.addWidget(self.hints)
        column.addWidget(self.filters)
        column.addWidget(self.view, 1)
        splitter = QSplitter(Qt.Orientation.Vertical, self)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(1)
        splitter.addWidget(upper)
        splitter.addWidget(self.details)
        splitter.setStretchFactor(0, 1)
        splitter.setSizes([480, 280])
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(splitter)
        for widget in (self, upper):
            widget.setProperty("role", "panel")
            widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)


def _offers(structure: Structure) -> list[str]:
    return [
        f"Names do not match: the rule {offer.rule} would pair {offer.matches:,} more "
        f"({offer.example[0]} with {offer.example[1]}); checkpoint-viewer diff --map applies it"
        for offer in structure.offers
    ]


def _ignore(_value: object) -> None:
    """The engine has closed the document; nobody waits for it."""
