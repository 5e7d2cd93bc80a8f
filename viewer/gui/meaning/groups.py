"""The parameter groups of an optimizer: a row for each hyperparameter, a column for each group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QAction, QFont, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.parts import short_text
from viewer.checkpoint.meaning.results import OptimizerFacts
from viewer.gui.details.tips import cut_middle, plain_tip
from viewer.gui.format import NO_VALUE, format_count, format_number
from viewer.gui.meaning.entry_cells import NOT_COMPUTED
from viewer.gui.meaning.optimizer_words import MOST_GROUPS
from viewer.gui.meaning.table_view import PlainTable
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.tensors.brief import TensorBrief

_Index: TypeAlias = QModelIndex | QPersistentModelIndex
_Role: TypeAlias = Qt.ItemDataRole
_NO_PARENT: Final = QModelIndex()
_FIRST: Final = ("lr", "initial_lr", "weight_decay", "betas", "momentum", "eps")
"""What people look for first."""
_LARGEST_CELL: Final = 200
_MOST_ROWS: Final = 40
"""Rows before the table scrolls by itself."""


class GroupModel(QAbstractTableModel):
    """Cells from the columns of the checkpoint; "≠" before the name of what groups have otherwise."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._look: Look | None = None
        self._optimizer: OptimizerFacts | None = None
        self._briefs: Mapping[int, TensorBrief] = {}
        self._names: list[str] = []
        self._tables: list[dict[str, int]] = []
        self._differing: frozenset[str] = frozenset()

    def show(
        self, checkpoint: Checkpoint | None, optimizer: OptimizerFacts | None, briefs: Mapping[int, TensorBrief]
    ) -> None:
        """Show the groups of an optimizer."""
        self.beginResetModel()
        self._look = None if checkpoint is None else Look(checkpoint)
        self._optimizer = optimizer
        self._briefs = briefs
        groups = [] if optimizer is None else optimizer.groups[:MOST_GROUPS]
        self._tables = [dict(group.hyperparameters) for group in groups]
        self._differing = frozenset(name for group in groups for name in group.differing)
        names = list(dict.fromkeys(name for table in self._tables for name in table))
        known = [name for name in _FIRST if name in names]
        rest = [name for name in names if name not in known]
        # Differences first: among twenty hyperparameters that are equal they would be out of sight.
        ordered = known + rest
        self._names = sorted(ordered, key=self._agrees)
        self.endResetModel()

    @property
    def names(self) -> list[str]:
        """The hyperparameters in the order of their rows."""
        return self._names

    def differs(self, row: int) -> bool:
        return row > 0 and self._names[row - 1] in self._differing

    def text(self, row: int, column: int) -> str:
        """The text of a cell; column 0 has the names."""
        assert self._optimizer is not None
        if not row:
            return "parameters" if not column else format_count(self._optimizer.groups[column - 1].n_parameters)
        name = self._names[row - 1]
        if not column:
            return f"≠ {name}" if self.differs(row) else name
        node = self._tables[column - 1].get(name)
        return NO_VALUE if node is None else self._value(node)

    def tensors(self) -> list[int]:
        """Hyperparameters that are tensors: their values have to be read."""
        assert self._look is not None
        found = (self._look.tensor(node) for table in self._tables for node in table.values())
        return [number for number in found if number is not None]

    def values_came(self) -> None:
        if self._names:
            self.dataChanged.emit(self.index(0, 0), self.index(self.rowCount() - 1, self.columnCount() - 1))

    def as_tsv(self) -> str:
        rows, columns = range(self.rowCount()), range(self.columnCount())
        head = "\t".join(["", *(str(self._head(column)) for column in columns[1:])])
        return "\n".join([head, *("\t".join(self.text(row, column) for column in columns) for row in rows)]) + "\n"

    @override
    def rowCount(self, parent: _Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() or not self._tables else len(self._names) + 1

    @override
    def columnCount(self, parent: _Index = _NO_PARENT) -> int:
        return 0 if parent.isValid() or not self._tables else len(self._tables) + 1

    @override
    def data(self, index: _Index, role: int = _Role.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = index.row(), index.column()
        if role == _Role.DisplayRole:
            return cut_middle(self.text(row, column), _LARGEST_CELL)
        if role == _Role.ToolTipRole:
            return plain_tip(self._tip(row, column)) or None
        if role == _Role.ForegroundRole:
            return self._theme.color("changed" if self.differs(row) else "text" if column else "muted")
        if role == _Role.FontRole:
            font = self._theme.mono()
            if self.differs(row):
                font.setWeight(QFont.Weight.DemiBold)
            return font
        if role == _Role.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    @override
    def headerData(self, section: int, orientation: Qt.Orientation, role: int = _Role.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == _Role.DisplayRole:
            return self._head(section)
        if role == _Role.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if section else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def _head(self, section: int) -> str:
        return f"group {section - 1}" if section else "hyperparameter"

    def _agrees(self, name: str) -> bool:
        return name not in self._differing

    def _value(self, node: int) -> str:
        assert self._look is not None
        number = self._look.tensor(node)
        if number is None:
            value = self._look.scalar(node)
            return format_number(value) if type(value) in (int, float) else short_text(self._look, node)  # type: ignore[arg-type]
        brief = self._briefs.get(number)
        if brief is None:
            return NOT_COMPUTED
        return f"tensor {self._look.tensors.shape[number]}" if brief.value is None else format_number(brief.value)

    def _tip(self, row: int, column: int) -> str:
        if self.differs(row):
            return f"{self.text(row, column)}\nThe groups do not all have this alike."
        if column and row and self._look is not None:
            node = self._tables[column - 1].get(self._names[row - 1])
            if node is not None and self._look.tensor(node) is None:
                value = self._look.scalar(node)
                return repr(value) if isinstance(value, float) else self.text(row, column)
        return self.text(row, column)


class GroupView(PlainTable):
    """As high as its rows, as wide as there is room; many groups scroll sideways."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        self.groups = GroupModel(theme)
        super().__init__(theme, self.groups, "Parameter groups", parent)
        self.groups.setParent(self)
        self.horizontalHeader().setSectionsClickable(False)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        copy = QAction("Copy all as TSV", self)
        copy.setShortcuts([QKeySequence(QKeySequence.StandardKey.Copy), QKeySequence("Ctrl+Shift+C")])
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy_all)
        self.addAction(copy)

    def show_groups(
        self, checkpoint: Checkpoint | None, optimizer: OptimizerFacts | None, briefs: Mapping[int, TensorBrief]
    ) -> None:
        self.groups.show(checkpoint, optimizer, briefs)
        self.fit_columns({}, range(self.groups.rowCount()))
        self.updateGeometry()

    def copy_all(self) -> None:
        """Put the table on the clipboard as tab-separated lines."""
        QGuiApplication.clipboard().setText(self.groups.as_tsv())

    @override
    def sizeHint(self) -> QSize:
        bar = self.horizontalScrollBar()
        head = self.horizontalHeader().sizeHint().height() + (bar.sizeHint().height() if bar.maximum() else 0)
        return QSize(320, head + min(self.groups.rowCount(), _MOST_ROWS) * self.row_height + 2)

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.sizeHint().height())
