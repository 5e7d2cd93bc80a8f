"""The questions which file, which folder and where to, asked without stopping the window."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeAlias

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from viewer.gui.settings import Settings

OPEN_FILTERS: Final = (
    (
        "Checkpoints (*.pth *.pt *.ckpt *.bin *.safetensors *.index.json *.th *.pkl *.pickle *.pt2 *.ptl *.npy *.npz "
        "*.tar *.mar *.model *.zip *.tgz *.gz *.xz *.bz2)"
    ),
    "All files (*)",
)
_FOLDER: Final = "files/folder"

OpenPaths: TypeAlias = Callable[[Iterable[str | os.PathLike[str]]], None]


class FileDialogs(QObject):
    """Asks for files and folders to open, starting where the last one lay.

    Parameters
    ----------
    open_paths
        The one door through which everything is opened.
    window
        Whose dialogs these are.
    """

    def __init__(self, settings: Settings, open_paths: OpenPaths, window: QWidget) -> None:
        super().__init__(window)
        self._settings = settings
        self._open_paths = open_paths
        self._window = window

    @Slot()
    def choose_files(self) -> None:
        """Ask for files, and open them."""
        dialog = self._dialog("Open checkpoints", QFileDialog.FileMode.ExistingFiles)
        dialog.setNameFilters(OPEN_FILTERS)
        dialog.filesSelected.connect(self._open)
        dialog.open()

    @Slot()
    def choose_folder(self) -> None:
        """Ask for a folder that is one checkpoint, and open it."""
        dialog = self._dialog("Open the folder of a checkpoint", QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.filesSelected.connect(self._open)
        dialog.open()

    def choose_target(self, title: str, start: Path, on_chosen: Callable[[Path], object]) -> None:
        """Ask where to write a file. The dialog itself asks before a file that is there is replaced."""
        dialog = QFileDialog(self._window, title, str(start.parent))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setFileMode(QFileDialog.FileMode.AnyFile)
        dialog.selectFile(start.name)

        def chosen(name: str) -> None:
            on_chosen(Path(name))

        dialog.fileSelected.connect(chosen)
        dialog.open()

    @Slot(list)
    def _open(self, names: list[str]) -> None:
        self._open_paths(names)
        if names:
            self._settings.set(_FOLDER, str(Path(names[-1]).parent))

    def _dialog(self, title: str, mode: QFileDialog.FileMode) -> QFileDialog:
        dialog = QFileDialog(self._window, title, self._settings.get(_FOLDER))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(mode)
        return dialog
