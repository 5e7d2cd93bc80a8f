"""The page of the round trip: a table of ways, and for the chosen one what changed, why, and code that repeats it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtCore import QItemSelectionModel, QModelIndex, Qt, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QCheckBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QSplitter,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from viewer.checkpoint.document import Checkpoint
from viewer.engine.roundtrip_requests import KeepCopy, RemoveScratch, TryRoundTrip
from viewer.errors import Cancelled, EngineLost, LimitExceeded, ViewerError
from viewer.gui.details.notice import Notice
from viewer.gui.details.page import TEXT_INSET, Page, WordsLabel
from viewer.gui.details.tabs import TabTools
from viewer.gui.details.tips import plain_tip
from viewer.gui.format import format_bytes, format_count
from viewer.gui.roundtrip.kept import kept_folder
from viewer.gui.roundtrip.model import WayModel
from viewer.gui.roundtrip.rows import about
from viewer.gui.tree.expression import python_expression
from viewer.roundtrip.results import RoundTrip, WayResult
from viewer.roundtrip.snippet import snippet
from viewer.task import Progress

_SAYS: Final = (
    "Saves it in each way that people use, loads it again, and shows what changed: values, bits, and everything "
    "around them. Nothing of the file is executed, and what is written for it is removed."
)
_CHANGED: Final = 2
_START: Final = "Save and reload"


class RoundTripPage(QWidget):
    """Asks nothing of the engine until the button is pressed.

    Parameters
    ----------
    compare
        Opens a comparison of two files.
    new_folder
        Makes a folder for what is compared; who made it removes it.
    """

    def __init__(
        self,
        tools: TabTools,
        compare: Callable[[Path, Path], None],
        parent: QWidget | None = None,
        new_folder: Callable[[], Path] = kept_folder,
    ) -> None:
        super().__init__(parent)
        self._tools = tools
        self._compare = compare
        self._new_folder = new_folder
        self._checkpoint: Checkpoint | None = None
        self._document = -1
        self._node = 0
        self._device = "cpu"
        self._job: int | None = None
        self._large = False

        self.notice = Notice(self)
        self.notice.acted.connect(self.start)
        self.model = WayModel(tools.theme, self)
        self.table = _way_table(self.model)
        self.table.selectionModel().currentRowChanged.connect(self._show_current)
        self.said = QLabel(self)
        self.said.setProperty("role", "muted")
        self.said.setTextFormat(Qt.TextFormat.PlainText)
        self.bytes = QCheckBox("Compare &bytes of two processes", self)
        self.bytes.setToolTip(
            "Save it twice more, in fresh processes with different hash seeds, and compare what they write"
        )
        self.bytes.setChecked(True)
        self.again = QPushButton(_START, self)
        self.again.clicked.connect(self.start)
        self.cancel = QPushButton("Cancel", self)
        self.cancel.clicked.connect(self._cancel)
        self.copy = QPushButton("Copy as &Python", self)
        self.copy.setToolTip("Copy a program that repeats this row on its own")
        self.copy.clicked.connect(self.copy_snippet)
        self.look = QPushButton("&Compare with original", self)
        self.look.setToolTip("Open original and reloaded copy side by side: histograms, maps, largest differences")
        self.look.clicked.connect(self.open_comparison)
        self.words = WordsLabel(tools.theme, "text", self)
        self._stack = QStackedWidget(self)
        self._stack.addWidget(self.notice)
        self._stack.addWidget(self._findings())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._stack)
        self._offer()

    # What the panel asks for

    def show_node(self, document: int, checkpoint: Checkpoint, node: int) -> None:
        self.clear()
        self._document, self._checkpoint, self._node = document, checkpoint, node
        self._offer()

    def set_active(self, active: bool) -> None:
        """Nothing is asked by looking at the page, and what was started goes on."""

    def set_device(self, name: str) -> None:
        self._device = name

    def clear(self) -> None:
        self._tools.bridge.release(self)
        self._job = None
        self._large = False
        self.model.clear()
        self._checkpoint = None

    # What a person does

    @Slot()
    def start(self) -> None:
        """Try all ways on the node."""
        if self._checkpoint is None or self._job is not None:
            return
        self.model.clear()
        self.words.show_words("")
        self.said.setText("starting …")
        self._stack.setCurrentIndex(1)
        self._job = self._tools.bridge.submit(
            TryRoundTrip(
                self._document,
                self._node,
                self._device,
                check_bytes=None if self.bytes.isChecked() else False,
                large=self._large,
            ),
            owner=self,
            on_result=self._take,
            on_failure=self._fail,
            on_progress=self._take_progress,
            title=f"saving and reloading {self._checkpoint.path_of(self._node) or self._checkpoint.path.name}",
        )
        self._set_buttons()

    @Slot()
    def copy_snippet(self) -> None:
        """Put a program that repeats the current row on the clipboard."""
        result = self._current()
        if result is not None and self._checkpoint is not None:
            path = str(self._checkpoint.path)
            load, imports = f"torch.load({path!r}, map_location='cpu', weights_only=True)", ""
            if self._checkpoint.container == "safetensors":
                load, imports = f"load_file({path!r})", "from safetensors.torch import load_file\n"
            expression = python_expression(self._checkpoint, self._node, load)
            QGuiApplication.clipboard().setText(snippet(result.way, expression, imports))

    @Slot()
    def open_comparison(self) -> None:
        """Keep original and copy in files, and open their comparison."""
        result = self._current()
        if result is None or self._checkpoint is None or result.error:
            return
        self.look.setEnabled(False)
        self._tools.bridge.submit(
            KeepCopy(self._document, self._node, result.way.name, str(self._new_folder()), self._device),
            owner=self,
            on_result=self._open_kept,
            on_failure=self._fail_kept,
            title=f"keeping what {result.way.title} gives",
            supersede="keep",
        )

    @Slot()
    def copy_all(self) -> None:
        """Put the table on the clipboard as TSV."""
        QGuiApplication.clipboard().setText(self.model.tsv())

    @Slot()
    def _cancel(self) -> None:
        if self._job is not None:
            self._tools.bridge.cancel(self._job)

    # What the engine answers

    def _take_progress(self, progress: Progress) -> None:
        if isinstance(progress.partial, WayResult):
            self._add(progress.partial)
        if progress.unit == "bytes":
            self.said.setText(f"reading {format_bytes(progress.done)} of {format_bytes(progress.total)}")
        elif progress.unit == "processes":
            self.said.setText("two processes save it to compare their bytes …")
        else:
            self.said.setText(f"{format_count(progress.done)} of {format_count(progress.total)} ways")

    def _take(self, found: RoundTrip) -> None:
        self._job = None
        for result in found.ways:
            self._add(result)
        words = f"{format_count(found.n_tensors)} tensors, {format_bytes(found.nbytes)}, on {found.device}"
        if found.n_tensors == 1:
            words = words.replace("tensors", "tensor", 1)
        if found.left_out:
            more = f" and {format_count(len(found.left_out) - 1)} more" if len(found.left_out) > 1 else ""
            words += f" · left out: {found.left_out[0]}{more}"
        self.said.setText(words)
        self.said.setToolTip(plain_tip("\n".join(found.left_out)))
        self._show_current()
        self._set_buttons()

    def _fail(self, error: ViewerError) -> None:
        self._job = None
        self._set_buttons()
        self._remove_left(error)
        if isinstance(error, LimitExceeded) and not self._large:
            self._large = True
            self.notice.show_notice(f"{error.fault[:1].upper()}{error.fault[1:]}.", "Try it all the same")
            self._stack.setCurrentIndex(0)
        elif isinstance(error, Cancelled):
            tried = len(self.model.results)
            if tried:
                self.said.setText(f"cancelled, {format_count(tried)} ways tried")
            else:
                self._offer()
        else:
            self.notice.show_notice(str(error), "Try again")
            self._stack.setCurrentIndex(0)

    def _open_kept(self, file: Path) -> None:
        self._set_buttons()
        self._compare(file.parent / "original.pth", file)

    def _fail_kept(self, error: ViewerError) -> None:
        self._set_buttons()
        self._remove_left(error)
        if not isinstance(error, Cancelled):
            self.words.show_words(f"✕ {error}\n\n{self.words.text()}")

    def _remove_left(self, error: ViewerError) -> None:
        """An engine that was killed could not remove what it had saved on the way; the next one does."""
        if isinstance(error, EngineLost):
            bridge = self._tools.bridge
            bridge.submit(RemoveScratch(), owner=bridge, on_result=_ignore, on_failure=_ignore)

    # The parts

    def _offer(self) -> None:
        self.notice.show_notice(_SAYS, _START)
        self._stack.setCurrentIndex(0)
        self._set_buttons()

    def _add(self, result: WayResult) -> None:
        self.model.add(result)
        if len(self.model.results) == 1:
            self.table.selectionModel().setCurrentIndex(
                self.model.index(0, 0),
                QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows,
            )

    def _current(self) -> WayResult | None:
        return self.model.result_at(self.table.currentIndex().row())

    @Slot(QModelIndex, QModelIndex)
    def _show_current(self, *_rows: object) -> None:
        result = self._current()
        self.words.show_words("" if result is None else about(result.way, result))
        self._set_buttons()

    def _set_buttons(self) -> None:
        running, result = self._job is not None, self._current()
        self.again.setVisible(not running)
        self.cancel.setVisible(running)
        self.bytes.setEnabled(not running)
        self.copy.setEnabled(result is not None)
        self.look.setEnabled(result is not None and not result.error and not running)

    def _findings(self) -> QWidget:
        top = QHBoxLayout()
        top.setContentsMargins(16, 8, 16, 8)
        top.setSpacing(8)
        top.addWidget(self.said, 1)
        for widget in (self.bytes, self.again, self.cancel):
            top.addWidget(widget)
        actions = QHBoxLayout()
        actions.setContentsMargins(16, 8, 16, 4)
        actions.setSpacing(8)
        for button in (self.copy, self.look):
            actions.addWidget(button)
        actions.addStretch(1)
        text = Page(self)
        text.column.addWidget(self.words)
        text.column.addStretch(1)
        below = QWidget(self)
        column = QVBoxLayout(below)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(actions)
        column.addWidget(text, 1)
        splitter = QSplitter(Qt.Orientation.Vertical, self)
        splitter.setHandleWidth(1)
        splitter.setChildrenCollapsible(False)
        above = QWidget(self)
        inset = QHBoxLayout(above)
        inset.setContentsMargins(16 - TEXT_INSET, 0, 16 - TEXT_INSET, 0)
        inset.addWidget(self.table)
        splitter.addWidget(above)
        splitter.addWidget(below)
        splitter.setStretchFactor(0, 3)
        splitter.setStretchFactor(1, 2)
        whole = QWidget(self)
        layout = QVBoxLayout(whole)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(splitter, 1)
        copy_all = QAction("Copy all as TSV", self.table)
        copy_all.setShortcut(QKeySequence("Ctrl+Shift+C"))
        copy_all.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy_all.triggered.connect(self.copy_all)
        self.table.addAction(copy_all)
        return whole


def _ignore(_answer: object) -> None:
    """Nobody waits for it."""


def _way_table(model: WayModel) -> QTableView:
    table = QTableView()
    table.setModel(model)
    table.setAccessibleName("Ways to save and reload")
    table.setShowGrid(False)
    table.setWordWrap(False)
    table.setTabKeyNavigation(False)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setTextElideMode(Qt.TextElideMode.ElideRight)
    table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
    table.verticalHeader().hide()
    table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    table.verticalHeader().setDefaultSectionSize(24)
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setStyleSheet(f"QHeaderView::section {{ padding: 4px {TEXT_INSET}px; }}")
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    for column, width in enumerate((172, 84, 140, 64, 124)):
        table.setColumnWidth(column, width)
    header.setSectionResizeMode(_CHANGED, QHeaderView.ResizeMode.Stretch)
    header.setMinimumSectionSize(48)
    return table
