"""A list of nodes by their paths; choosing one asks to go there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QAction, QFontMetrics, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QListView, QSizePolicy, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.tips import cut_middle, plain_tip
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.report.wording import printable

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_ROW_HEIGHT: Final = 22
_MOST_ROWS: Final = 8
"""Rows before the list scrolls by itself."""


def row_height(theme: Theme) -> int:
    return max(_ROW_HEIGHT, QFontMetrics(theme.mono()).height() + 6)


class NodeModel(QAbstractListModel):
    """Paths of nodes, made when they are drawn."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._checkpoint: Checkpoint | None = None
        self._nodes: Sequence[int] = ()

    @property
    def nodes(self) -> Sequence[int]:
        return self._nodes

    def set_nodes(self, checkpoint: Checkpoint | None, nodes: Sequence[int]) -> None:
        self.beginResetModel()
        self._checkpoint = checkpoint
        self._nodes = nodes
        self.endResetModel()

    def path(self, row: int) -> str:
        assert self._checkpoint is not None
        return self._checkpoint.path_of(self._nodes[row]) or printable(self._checkpoint.path.name)

    @override
    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._nodes)

    @override
    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return cut_middle(self.path(index.row()))
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tip(self.path(index.row()))
        if role == Qt.ItemDataRole.SizeHintRole:
            return QSize(0, row_height(self._theme))
        if role == Qt.ItemDataRole.FontRole:
            return self._theme.mono()
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._theme.color("accent")
        return None


class NodeList(QListView):
    """Paths to choose from, by a click or by Return.

    Signals
    -------
    node_requested
        Carries the number of the chosen node.
    """

    node_requested = Signal(object)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._model = NodeModel(theme, self)
        self.setUniformItemSizes(True)
        self.setModel(self._model)
        self.setLayoutMode(QListView.LayoutMode.Batched)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.clicked.connect(self._go)
        go = QAction("Go there", self)
        go.setShortcuts([QKeySequence(Qt.Key.Key_Return), QKeySequence(Qt.Key.Key_Enter)])
        go.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        go.triggered.connect(self._go_to_current)
        copy = QAction("Copy path", self)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self._copy_current)
        self.addActions([go, copy])
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        theme.changed.connect(self.updateGeometry)

    @property
    def nodes(self) -> Sequence[int]:
        return self._model.nodes

    def paths(self) -> list[str]:
        """All paths, as they are shown."""
        return [self._model.path(row) for row in range(self._model.rowCount())]

    def show_nodes(self, checkpoint: Checkpoint | None, nodes: Sequence[int]) -> None:
        self._model.set_nodes(checkpoint, nodes)
        self.updateGeometry()

    @override
    def sizeHint(self) -> QSize:
        return QSize(320, row_height(self._theme) * max(1, min(_MOST_ROWS, len(self._model.nodes))) + 4)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.sizeHint().height())

    def _go(self, index: QModelIndex) -> None:
        self.node_requested.emit(self._model.nodes[index.row()])

    def _go_to_current(self) -> None:
        if (index := self.currentIndex()).isValid():
            self._go(index)

    def _copy_current(self) -> None:
        if (index := self.currentIndex()).isValid():
            QGuiApplication.clipboard().setText(self._model.path(index.row()))
