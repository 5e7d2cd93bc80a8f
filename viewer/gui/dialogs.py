"""Small dialogs: all opened without waiting for them."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Final

import PySide6
from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAction, QIcon, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMessageBox,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from viewer import __version__
from viewer.errors import BadPath
from viewer.gui.theme import Theme

_TREE_KEYS: Final = (
    ("Open or close a row", "Right, Left"),
    ("Open a row and everything inside", "*"),
    ("From the filter into the tree", "Down, Return"),
    ("Clear the filter", "Esc"),
    ("Follow a link", "Return"),
    ("Copy the path of the current row", "Ctrl+C"),
)


class GoToPathDialog(QDialog):
    """Asks for a path; stays, and says why, while nothing is there."""

    def __init__(self, go: Callable[[str], None], theme: Theme, start: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._go = go
        self.setWindowTitle("Go to path")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.edit = QLineEdit(start, self)
        self.edit.setFont(theme.mono())
        self.edit.setPlaceholderText('model/layer1.0.conv1.weight, optimizer/state[0]/exp_avg, files["a/b.py"] …')
        self.edit.setAccessibleName("Path")
        self.edit.selectAll()
        self.fault = QLabel("Keys are separated by /, numbers stand in brackets", self)
        self.fault.setTextFormat(Qt.TextFormat.PlainText)
        self.fault.setProperty("role", "muted")
        self.fault.setWordWrap(True)
        self.fault.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.fault.setMinimumHeight(3 * self.fault.fontMetrics().lineSpacing())  # a fault may need so many
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel, self)
        buttons.button(QDialogButtonBox.StandardButton.Ok).setText("Go")
        without_icons(buttons)
        buttons.accepted.connect(self._try)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        for widget in (self.edit, self.fault, buttons):
            column.addWidget(widget)
        self.resize(560, self.sizeHint().height())

    @Slot()
    def _try(self) -> None:
        try:
            self._go(self.edit.text().strip())
        except BadPath as error:
            self.fault.setText(str(error)[:500])
        else:
            self.accept()


class ShortcutsDialog(QDialog):
    """The keys, from the same table that makes them work."""

    def __init__(self, actions: list[QAction], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        rows = [(_plain(action.text()), _keys(action)) for action in actions if not action.shortcut().isEmpty()]
        rows += _TREE_KEYS
        self.table = QTableWidget(len(rows), 2, self)
        self.table.setHorizontalHeaderLabels(["", "keys"])
        self.table.verticalHeader().hide()
        self.table.setShowGrid(False)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        for number, (what, keys) in enumerate(rows):
            self.table.setItem(number, 0, QTableWidgetItem(what))
            self.table.setItem(number, 1, QTableWidgetItem(keys))
        buttons = without_icons(QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self))
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.addWidget(self.table)
        column.addWidget(buttons)
        self.resize(520, 560)


def about_box(parent: QWidget) -> QMessageBox:
    """Version, what the program stands on, licence."""
    box = QMessageBox(parent)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setWindowTitle("About Checkpoint Viewer")
    box.setText(f"Checkpoint Viewer {__version__}")
    box.setInformativeText(
        "Opens PyTorch checkpoints without running anything in them: files, folders (sharded, distributed, "
        "DeepSpeed, Trainer), and the index files of shards.\n\n"
        f"Python {platform.python_version()}, PySide6 {PySide6.__version__}\n"
        f"{platform.platform()}\n\nMIT licence"
    )
    return box


def without_icons(buttons: QDialogButtonBox) -> QDialogButtonBox:
    """The same without the desktop's own icons, which fit neither theme."""
    for button in buttons.buttons():
        button.setIcon(QIcon())
    return buttons


def _plain(text: str) -> str:
    return text.replace("&", "").removesuffix("…")


def _keys(action: QAction) -> str:
    """Its shortcuts, without those of keys that few keyboards have ("Zoom In", "Refresh")."""
    texts = [sequence.toString(QKeySequence.SequenceFormat.NativeText) for sequence in action.shortcuts()]
    return ", ".join(text for text in texts if "+" in text or text[1:].isdigit())
