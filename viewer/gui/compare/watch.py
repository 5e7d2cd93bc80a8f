"""Notices that a compared file is another one on disk: told by the system, and when the window is in front."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import QFileSystemWatcher, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication

from viewer.checkpoint.document import Checkpoint, FileFacts

_MAX_WATCHED: Final = 32
"""Files of a document that are looked at: the first of a sharded one."""
_SETTLES_MS: Final = 700
"""A file that is being written changes many times."""


class FileWatch(QObject):
    """Signals: `changed` carries the paths that are not what was opened, once for each set of documents."""

    changed = Signal(object)
    _checked = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._facts: tuple[FileFacts, ...] = ()
        self._watcher: QFileSystemWatcher | None = None
        self._told = False
        self._settle = QTimer(self, singleShot=True, interval=_SETTLES_MS)
        self._settle.timeout.connect(self.check)
        self._checked.connect(self._take, Qt.ConnectionType.QueuedConnection)
        application = QGuiApplication.instance()
        assert isinstance(application, QGuiApplication)
        application.applicationStateChanged.connect(self._state_changed)

    def watch(self, checkpoints: Sequence[Checkpoint]) -> None:
        """Look at the files of these from now on."""
        self.stop()
        found = [fact for checkpoint in checkpoints for fact in checkpoint.files[:_MAX_WATCHED]]
        self._facts = tuple(dict.fromkeys(found))
        self._told = False
        if self._facts:
            self._watcher = QFileSystemWatcher([str(fact.path) for fact in self._facts], self)
            self._watcher.fileChanged.connect(self._settle.start)

    def stop(self) -> None:
        """Look no more."""
        self._settle.stop()
        self._facts = ()
        if self._watcher is not None:
            self._watcher.deleteLater()
            self._watcher = None

    @Slot()
    def check(self) -> None:
        """Look now. Returns at once: a dead network drive takes minutes."""
        if self._facts and not self._told:
            threading.Thread(target=self._look, args=(self._facts,), name="file-watch", daemon=True).start()

    @Slot(Qt.ApplicationState)
    def _state_changed(self, state: Qt.ApplicationState) -> None:
        if state == Qt.ApplicationState.ApplicationActive:
            self.check()

    def _look(self, facts: tuple[FileFacts, ...]) -> None:
        paths = [fact.path for fact in facts if _is_other(fact)]
        try:
            self._checked.emit((facts, paths))
        except RuntimeError:  # the tab closed meanwhile
            return

    @Slot(object)
    def _take(self, found: tuple[tuple[FileFacts, ...], list[Path]]) -> None:
        facts, paths = found
        if paths and facts == self._facts and not self._told:
            self._told = True
            self.changed.emit(paths)


def _is_other(fact: FileFacts) -> bool:
    try:
        status = fact.path.stat()
    except FileNotFoundError:
        return True
    except OSError:  # a drive that is away for a moment
        return False
    return (status.st_size, status.st_mtime_ns) != (fact.nbytes, fact.mtime_ns)
