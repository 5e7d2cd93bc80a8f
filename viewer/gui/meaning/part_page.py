"""The page of a scheduler, a random state, a scaler, hyperparameters: the values looked for first, then all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.gui.details.cell_table import CellTable
from viewer.gui.details.facts import Fact
from viewer.gui.details.page import SectionLabel, WordsLabel
from viewer.gui.details.value_view import ValueView
from viewer.gui.details.values import value_words
from viewer.gui.meaning.part_words import first_facts, part_words
from viewer.gui.meaning.table_view import PlainTree, inset
from viewer.gui.meaning.value_model import ValueModel
from viewer.gui.override import override
from viewer.gui.theme import Theme

if TYPE_CHECKING:
    from viewer.gui.meaning.tabs import Meaning

_OPEN_AT_START = 60


class ValueTree(PlainTree):
    """Names and values. Signals: `node_chosen` carries the current node, `node_activated` the one to go to."""

    node_chosen = Signal(object)
    node_activated = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self.values = ValueModel(theme)
        super().__init__(theme, self.values, "All values", parent)
        self.values.setParent(self)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.header().setStretchLastSection(True)
        self.header().resizeSection(0, 260)
        self.doubleClicked.connect(self._activate)
        copy = QAction("Copy value", self)
        copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy_value)
        self.addAction(copy)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def copy_value(self) -> None:
        """Put what the current row says on the clipboard."""
        node = self.values.node_of(self.currentIndex())
        if node is not None:
            QGuiApplication.clipboard().setText(self.values.value(node))

    @override
    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:  # type: ignore[override]
        super().currentChanged(current, previous)
        self.node_chosen.emit(self.values.node_of(current))

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._activate(self.currentIndex())
        elif event.key() != Qt.Key.Key_Asterisk:  # Qt's own opens everything, however much it is
            super().keyPressEvent(event)

    def _activate(self, index: QModelIndex) -> None:
        node = self.values.node_of(index)
        if node is not None and not self.values.rowCount(index):
            self.node_activated.emit(node)


class PartPage(QWidget):
    """
    Signals
    -------
    node_requested
        Carries the number of a node that the person wants to see.
    """

    node_requested = Signal(object)

    def __init__(self, meaning: Meaning, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._meaning = meaning
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._checkpoint: Checkpoint | None = None
        self.why = WordsLabel(theme, "muted", self)
        self.first = CellTable(theme, "Values looked for first", self)
        self._all = SectionLabel("All values", self)
        self.tree = ValueTree(theme, self)
        self.value = ValueView(theme, self)
        self.value.hide()
        top = QWidget(self)
        head = QVBoxLayout(top)
        head.setContentsMargins(13, 2, 16, 0)
        head.setSpacing(6)
        for widget in (self.why, self.first, self._all):
            head.addWidget(widget)
        below = QWidget(self)
        viewer = QVBoxLayout(below)
        viewer.setContentsMargins(13, 6, 16, 8)
        viewer.addWidget(self.value)
        self._below = below
        splitter = QSplitter(Qt.Orientation.Vertical, self)
        splitter.setHandleWidth(1)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(inset(self.tree, splitter))
        splitter.addWidget(below)
        splitter.setStretchFactor(0, 3)
        splitter.setStretchFactor(1, 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(top)
        column.addWidget(splitter, 1)
        below.hide()
        self.tree.node_chosen.connect(self._show_value)
        self.tree.node_activated.connect(self.node_requested)

    def show_node(self, document: int, checkpoint: Checkpoint, node: int) -> None:  # noqa: ARG002 - as all pages
        """Show the part of a checkpoint that a node is."""
        places = self._meaning.places(checkpoint)
        part = None if places is None else places.part_at(node)
        if places is None or part is None:
            return
        label = places.recognition.labels.get(node)
        self._checkpoint = checkpoint
        self.why.show_words(part_words(part, label))
        facts: list[Fact] = first_facts(checkpoint, part)
        self.first.setVisible(bool(facts))
        self.first.show_facts(facts)
        has_inside = checkpoint.nodes.n_children[part.node] > 0
        self._all.setVisible(has_inside)
        self.tree.setVisible(has_inside)
        self._below.hide()
        self.tree.values.show(checkpoint, part.node)
        shown = self.tree.values.rowCount()
        for row in range(min(shown, _OPEN_AT_START)):
            index = self.tree.values.index(row, 0)
            inside = self.tree.values.rowCount(index)
            if inside and shown + inside <= _OPEN_AT_START:
                shown += inside
                self.tree.expand(index)

    def set_active(self, active: bool) -> None:
        """Nothing runs."""

    def set_device(self, name: str) -> None:
        """Nothing is computed."""

    def clear(self) -> None:
        """Show nothing."""
        self._checkpoint = None
        self.tree.values.show(None, 0)
        self._below.hide()

    def _show_value(self, node: int | None) -> None:
        """Long text in a viewer; what fits its row is there already."""
        checkpoint = self._checkpoint
        if checkpoint is None or node is None:
            return
        value = checkpoint.nodes.value[node]
        kind = checkpoint.nodes.kind[node]
        long = isinstance(value, str) and kind in (Kind.SCALAR, Kind.TEXT) and (len(value) > 60 or "\n" in value)
        self._below.setVisible(long)
        self.value.setVisible(long)
        if long:
            self.value.show_value(value_words(value), checkpoint.nodes.type_name(node), code=kind == Kind.TEXT)
