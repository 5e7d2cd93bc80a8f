"""Asks which two files to compare: open ones, or others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QLabel,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.file_dialogs import OPEN_FILTERS


class CompareDialog(QDialog):
    """Two boxes with the paths of the open documents, that take any other path too."""

    def __init__(
        self, compare: Callable[[Path, Path], None], open_paths: Sequence[Path], folder: str, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._compare = compare
        self._folder = folder
        self.setWindowTitle("Compare two checkpoints")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.left, self.right = QComboBox(self), QComboBox(self)
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        for row, (words, box) in enumerate((("Left", self.left), ("Right", self.right))):
            box.setEditable(True)
            box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            box.addItems([str(path) for path in open_paths])
            box.setCurrentIndex(row if row < len(open_paths) else -1)
            box.setMinimumContentsLength(48)
            box.setAccessibleName(f"{words} file")
            box.currentTextChanged.connect(self._look)
            browse = QPushButton("Browse…", self)
            browse.setAccessibleName(f"Browse for the {words.lower()} file")
            browse.clicked.connect(self._browse_left if box is self.left else self._browse_right)
            grid.addWidget(QLabel(words, self), row, 0)
            grid.addWidget(box, row, 1)
            grid.addWidget(browse, row, 2)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        self.go = buttons.addButton("Compare", QDialogButtonBox.ButtonRole.AcceptRole)
        self.go.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self.accepted.connect(self._tell)
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addLayout(grid)
        column.addWidget(buttons)
        self._look()

    def _look(self) -> None:
        self.go.setEnabled(bool(self.left.currentText().strip() and self.right.currentText().strip()))

    def _browse_left(self) -> None:
        self._browse(self.left)

    def _browse_right(self) -> None:
        self._browse(self.right)

    def _browse(self, box: QComboBox) -> None:
        dialog = QFileDialog(self, "Choose a checkpoint", self._folder)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(OPEN_FILTERS)
        dialog.fileSelected.connect(box.setEditText)
        dialog.open()

    def _tell(self) -> None:
        self._compare(Path(self.left.currentText().strip()), Path(self.right.currentText().strip()))
