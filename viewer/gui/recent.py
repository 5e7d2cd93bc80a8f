"""The files that were opened lately, and which of them are gone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Signal

from viewer.gui.settings import Settings

MAX_RECENT: Final = 12


class RecentFiles(QObject):
    """Signals: `changed` when the list is another; `checked` carries the set of paths that were found missing."""

    changed = Signal()
    checked = Signal(object)

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings

    @property
    def paths(self) -> list[Path]:
        """The last opened first."""
        return [Path(text) for text in self._settings.get("files/recent")]

    def add(self, path: Path) -> None:
        """Put a path on top."""
        others = [other for other in self._settings.get("files/recent") if other != str(path)]
        self._settings.set("files/recent", [str(path), *others][:MAX_RECENT])
        self.changed.emit()

    def clear(self) -> None:
        self._settings.set("files/recent", [])
        self.changed.emit()

    def check(self) -> None:
        """Look which files are missing; `checked` tells. Returns at once: a dead network drive takes minutes."""
        threading.Thread(target=self._check, args=(self.paths,), name="recent-files", daemon=True).start()

    def _check(self, paths: Sequence[Path]) -> None:
        missing = set()
        for path in paths:
            try:
                path.stat()
            except OSError:
                missing.add(path)
        try:
            self.checked.emit(missing)
        except RuntimeError:  # the window closed meanwhile
            return
