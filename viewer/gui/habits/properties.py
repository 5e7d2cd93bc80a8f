"""The properties of a file: where it lies, how large it is, and when it was written."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFormLayout, QLabel, QVBoxLayout, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.gui.dialogs import without_icons
from viewer.gui.format import format_bytes_exact, format_count
from viewer.gui.theme import Theme
from viewer.report.wording import printable

_MOST_FILES: Final = 12


def property_rows(checkpoint: Checkpoint) -> list[tuple[str, str]]:
    """What to show, as it was when the file was opened."""
    rows = [
        ("Name", printable(checkpoint.path.name)),
        ("Folder", str(checkpoint.path.parent)),
        ("Container", checkpoint.container),
        ("Size", format_bytes_exact(checkpoint.nbytes)),
    ]
    files = checkpoint.files
    if len(files) == 1:
        rows.append(("Changed", _when(files[0].mtime_ns)))
    elif files:
        rows.append(("Files", format_count(len(files))))
        rows += [
            ("", f"{printable(file.path.name)}: {format_bytes_exact(file.nbytes)}") for file in files[:_MOST_FILES]
        ]
        if len(files) > _MOST_FILES:
            rows.append(("", f"and {format_count(len(files) - _MOST_FILES)} more"))
        rows.append(("Last changed", _when(max(file.mtime_ns for file in files))))
    rows.append(("Tensors", format_count(len(checkpoint.tensors))))
    rows.append(("Nodes", format_count(len(checkpoint.nodes))))
    rows += [(name[:1].upper() + name[1:], text) for name, text in checkpoint.facts.items()]
    return rows


class PropertiesDialog(QDialog):
    """Shows them, to be selected and copied."""

    def __init__(self, theme: Theme, checkpoint: Checkpoint, parent: QWidget) -> None:
        super().__init__(parent)
        self._path = checkpoint.path
        self.setWindowTitle(f"Properties of {printable(checkpoint.path.name)}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        form = QFormLayout()
        form.setHorizontalSpacing(16)
        form.setVerticalSpacing(6)
        for name, text in property_rows(checkpoint):
            value = QLabel(text, self)
            value.setTextFormat(Qt.TextFormat.PlainText)
            value.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
            value.setWordWrap(True)
            value.setMinimumWidth(360)
            value.setAccessibleName(name)
            label = QLabel(name, self)
            label.setProperty("role", "muted")
            form.addRow(label, value)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close, self)
        copy = buttons.addButton("Copy path", QDialogButtonBox.ButtonRole.ActionRole)
        copy.clicked.connect(self._copy)
        folder = buttons.addButton("Open folder", QDialogButtonBox.ButtonRole.ActionRole)
        folder.clicked.connect(self._open_folder)
        buttons.button(QDialogButtonBox.StandardButton.Close).setDefault(True)
        for button in (copy, folder):
            button.setAutoDefault(False)
        buttons.rejected.connect(self.reject)
        without_icons(buttons)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(16)
        column.addLayout(form)
        column.addStretch(1)
        column.addWidget(buttons)
        theme.changed.connect(self.update)

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(str(self._path))

    @Slot()
    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._path.parent)))


def _when(mtime_ns: int) -> str:
    return datetime.fromtimestamp(mtime_ns / 1e9).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z").rstrip()
