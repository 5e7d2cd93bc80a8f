"""Asks which two files to compare: open ones, or others; whole, or a part of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.compare.session import Side
from viewer.gui.file_dialogs import OPEN_FILTERS

_HINT: Final = "A part is the path of a row: “model”, “optimizer/state”. Two parts of one file can be compared, too."
_SAME: Final = "Both sides are the same: name another file, or two parts of it."


class CompareDialog(QDialog):
    """Two boxes with the paths of files, that take any other path too, and two fields for parts of these."""

    def __init__(
        self,
        compare: Callable[[Side, Side], None],
        sides: tuple[Side | None, Side | None],
        choices: Sequence[Path],
        folder: str,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._compare = compare
        self._folder = folder
        self.setWindowTitle("Compare two checkpoints")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.left, self.right = QComboBox(self), QComboBox(self)
        self.left_part, self.right_part = QLineEdit(self), QLineEdit(self)
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setVerticalSpacing(8)
        fields: list[QWidget] = []
        for number, (words, box, part, side) in enumerate(
            (
                ("Left", self.left, self.left_part, sides[0]),
                ("Right", self.right, self.right_part, sides[1]),
            )
        ):
            box.setEditable(True)
            box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            box.addItems([str(path) for path in choices])
            box.setEditText("" if side is None else str(side.path))
            box.setMinimumContentsLength(48)
            box.setAccessibleName(f"{words} file")
            box.currentTextChanged.connect(self._look)
            browse = QPushButton("Browse…", self)
            browse.setAccessibleName(f"Browse for the {words.lower()} file")
            browse.setAutoDefault(False)
            browse.clicked.connect(partial(self._browse, box))
            part.setText("" if side is None else side.part)
            part.setPlaceholderText("the whole file")
            part.setAccessibleName(f"Part of the {words.lower()} file")
            part.textChanged.connect(self._look)
            grid.addWidget(QLabel(words, self), 2 * number, 0)
            grid.addWidget(box, 2 * number, 1)
            grid.addWidget(browse, 2 * number, 2)
            label = QLabel("part", self)
            label.setProperty("role", "muted")
            grid.addWidget(label, 2 * number + 1, 0)
            grid.addWidget(part, 2 * number + 1, 1)
            fields += [box, browse, part]
        self.hint = QLabel(_HINT, self)
        self.hint.setWordWrap(True)
        self.hint.setProperty("role", "muted")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        self.go = buttons.addButton("Compare", QDialogButtonBox.ButtonRole.AcceptRole)
        self.go.setDefault(True)
        for before, after in pairwise([*fields, self.go]):  # as they are read, not as they were made
            self.setTabOrder(before, after)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self.accepted.connect(self._tell)
        column = QVBoxLayout(self)
        column.setSpacing(12)
        column.addLayout(grid)
        column.addWidget(self.hint)
        column.addWidget(buttons)
        self._look()

    def sides(self) -> tuple[Side, Side]:
        """What is written."""
        return (
            Side(_path(self.left.currentText()), self.left_part.text().strip()),
            Side(_path(self.right.currentText()), self.right_part.text().strip()),
        )

    def _look(self) -> None:
        both = bool(self.left.currentText().strip() and self.right.currentText().strip())
        left, right = self.sides()
        self.go.setEnabled(both and left != right)
        self.hint.setText(_SAME if both and left == right else _HINT)

    def _browse(self, box: QComboBox, *_checked: object) -> None:
        dialog = QFileDialog(self, "Choose a checkpoint", self._folder)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(OPEN_FILTERS)
        dialog.fileSelected.connect(box.setEditText)
        dialog.open()

    def _tell(self) -> None:
        self._compare(*self.sides())


def _path(text: str) -> Path:
    """What was typed; "~" is the home folder, as in a shell."""
    path = Path(text.strip())
    try:
        return path.expanduser().absolute()
    except RuntimeError:  # "~nobody"
        return path.absolute()
