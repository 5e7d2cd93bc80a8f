"""The Model page: a state_dict as modules within modules, with what is tied and what is adapted."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QFontMetrics, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.module_tree import keys_listing
from viewer.checkpoint.meaning.results import ModuleTree, StateDictFacts
from viewer.engine.meaning_requests import ViewModel
from viewer.errors import ViewerError
from viewer.gui.details.page import WordsLabel
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.meaning.lora import lora_pairs
from viewer.gui.meaning.model_words import model_words, pair_words, tied_words
from viewer.gui.meaning.module_model import (
    DTYPE,
    ELEMENTS,
    NAME,
    ROLE,
    SHAPE,
    SIZE,
    ModuleIndex,
    ModuleModel,
    index_task,
)
from viewer.gui.meaning.table_view import PlainTree, inset
from viewer.gui.override import override
from viewer.gui.slices import SliceRunner
from viewer.gui.theme import Theme

if TYPE_CHECKING:
    from viewer.gui.meaning.tabs import Meaning

_WIDTHS: Final = {SHAPE: 14, DTYPE: 10, ELEMENTS: 13, SIZE: 10, ROLE: 17}
"""In digits."""
_NAME_WIDTH: Final = 30
_OPEN_AT_START: Final = 40
"""Rows: levels are opened while no more than these show."""


class ModuleView(PlainTree):
    """Signals: `chosen` carries the row that was activated."""

    chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self.modules = ModuleModel(theme)
        super().__init__(theme, self.modules, "Modules of the model", parent)
        self.modules.setParent(self)
        self.header().setStretchLastSection(False)
        self._size_columns()
        theme.changed.connect(self._size_columns)
        self.doubleClicked.connect(self._activate)

    @property
    def current_row(self) -> int | None:
        """The row that is selected."""
        return self.modules.row_of(self.currentIndex())

    def open_some(self) -> None:
        """Open level by level, while a screen holds what shows."""
        level = [self.modules.index(row, 0) for row in range(self.modules.rowCount())]
        shown = len(level)
        while level:
            inside = [
                self.modules.index(row, 0, index) for index in level for row in range(self.modules.rowCount(index))
            ]
            shown += len(inside)
            if not inside or shown > _OPEN_AT_START:
                return
            for index in level:
                self.expand(index)
            level = inside

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._size_columns()

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._activate(self.currentIndex())
        elif event.key() == Qt.Key.Key_Asterisk:
            self.open_some()  # Qt's own would open a million rows
        else:
            super().keyPressEvent(event)

    def _activate(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(self.modules.row_of(index))

    def _size_columns(self) -> None:
        digit = QFontMetrics(self._theme.mono()).horizontalAdvance("0")
        for column, digits in _WIDTHS.items():
            self.header().resizeSection(column, digits * digit)
        # Names have the room that is left, and never so little that they cannot be read: then the rest scrolls.
        rest = sum(_WIDTHS.values()) * digit
        self.header().resizeSection(NAME, max(_NAME_WIDTH * digit, self.viewport().width() - rest))


class ModelPage(QWidget):
    """One model.

    Signals
    -------
    node_requested
        Carries the number of a node that the person wants to see.
    """

    node_requested = Signal(object)

    def __init__(self, meaning: Meaning, bridge: EngineBridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._meaning = meaning
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._bridge = bridge
        self._document = -1
        self._checkpoint: Checkpoint | None = None
        self._facts: StateDictFacts | None = None
        self._runner = SliceRunner(self)
        self.head = WordsLabel(theme, "text", self)
        self.tied = WordsLabel(theme, "muted", self)
        self.pairs = WordsLabel(theme, "muted", self)
        self.fold = QCheckBox("Fold repeated blocks", self)
        self.fold.setChecked(True)
        self.fold.setToolTip("Show equal numbered blocks (layers.0 … layers.31) as one row")
        self.copy = QPushButton("Copy keys", self)
        self.copy.setToolTip("Copy the names as model.state_dict().keys() prints them")
        self.waiting = QLabel(self)
        self.waiting.setProperty("role", "muted")
        self.view = ModuleView(theme, self)
        self._lay_out()
        self.fold.toggled.connect(self._ask)
        self.copy.clicked.connect(self.copy_keys)
        self.view.chosen.connect(self._go_to_row)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._open_menu)
        copy = QAction("Copy name", self.view)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy_name)
        self.view.addAction(copy)

    @property
    def tree(self) -> ModuleTree | None:
        """What is shown; None while it is laid out."""
        return self.view.modules.tree

    def show_node(self, document: int, checkpoint: Checkpoint, node: int) -> None:
        """Show the model that a node is."""
        places = self._meaning.places(checkpoint)
        facts = None if places is None else places.model_at(node)
        if places is None or facts is None or (facts is self._facts and checkpoint is self._checkpoint):
            return
        label = places.recognition.labels.get(node)
        self._document, self._checkpoint, self._facts = document, checkpoint, facts
        self.head.show_words(model_words(facts, label))
        self.tied.show_words(tied_words(checkpoint, facts))
        self.pairs.show_words(pair_words(lora_pairs(checkpoint, facts)))
        self._ask()

    def set_active(self, active: bool) -> None:
        """Nothing runs on by itself."""

    def set_device(self, name: str) -> None:
        """Nothing is computed."""

    def clear(self) -> None:
        """Show nothing, and stop what runs."""
        self._facts = self._checkpoint = None
        self._runner.stop()
        self.view.modules.show(None, ModuleIndex())
        self._bridge.release(self)

    def copy_keys(self) -> None:
        """Put the names on the clipboard as `model.state_dict().keys()` prints them."""
        if self._facts is not None:
            QGuiApplication.clipboard().setText(keys_listing(self._facts.name))

    def copy_name(self) -> None:
        """Put the dotted name of the current row on the clipboard."""
        tree, row = self.tree, self.view.current_row
        if tree is not None and row is not None:
            QGuiApplication.clipboard().setText(tree.full_name(row))

    def make_menu(self) -> QMenu:
        """What can be done with the current row."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        tree, row = self.tree, self.view.current_row
        if tree is not None and row is not None:
            is_tensor = tree.entry[row] >= 0
            go = menu.addAction("Go to tensor" if tree.copies[row] == 1 else "Go to tensor of the first block")
            go.setEnabled(is_tensor)
            go.triggered.connect(partial(self._go_to_row, row))
            menu.addAction("Copy name\tCtrl+C", self.copy_name)
        menu.addAction("Copy keys", self.copy_keys)
        return menu

    def _ask(self) -> None:
        if self._facts is None:
            return
        self._runner.stop()
        self.view.modules.show(None, ModuleIndex())
        self.waiting.setText("laying out the modules …")
        self._bridge.submit(
            ViewModel(self._document, self._facts.node, self.fold.isChecked()),
            owner=self,
            on_result=self._take,
            on_failure=self._fail,
            supersede="model",
        )

    def _take(self, found: object) -> None:
        assert isinstance(found, ModuleTree)
        if self._facts is not None:
            self._runner.start(index_task(found), partial(self._show_tree, found))

    def _show_tree(self, tree: ModuleTree, index: ModuleIndex) -> None:
        self.waiting.setText("")
        self.view.modules.show(tree, index)
        self.view.open_some()

    def _fail(self, error: ViewerError) -> None:
        self.waiting.setText(f"✕ {error.fault}")

    def _go_to_row(self, row: int) -> None:
        tree, facts = self.tree, self._facts
        if tree is not None and facts is not None and (entry := tree.entry[row]) >= 0:
            self.node_requested.emit(facts.entry[entry])

    def _open_menu(self, at: QPoint) -> None:
        if self._facts is not None:
            self.make_menu().popup(self.view.viewport().mapToGlobal(at))

    def _lay_out(self) -> None:
        top = QVBoxLayout()
        top.setContentsMargins(13, 2, 16, 0)
        top.setSpacing(3)
        for words in (self.head, self.tied, self.pairs):
            top.addWidget(words)
        bar = QHBoxLayout()
        bar.setContentsMargins(16, 4, 16, 4)
        bar.setSpacing(8)
        bar.addWidget(self.fold)
        bar.addWidget(self.waiting)
        bar.addStretch(1)
        bar.addWidget(self.copy)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        column.addLayout(top)
        column.addLayout(bar)
        column.addWidget(inset(self.view, self), 1)
