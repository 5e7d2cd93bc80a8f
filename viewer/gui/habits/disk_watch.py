"""Notices that a file which is open was written anew, and that it has come to rest."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from viewer.checkpoint.document import FileFacts
from viewer.gui.message_bar import Message

if TYPE_CHECKING:
    from viewer.gui.document_page import DocumentPage
    from viewer.gui.documents import DocumentTabs

_EVERY_MS: Final = 3000
_GONE: Final = (-1, -1)

Stamp: TypeAlias = tuple[int, int]
"""Bytes and the time of the last change in ns."""


class DiskWatch(QObject):
    """Looks every few seconds, in a thread of its own: a network drive may take minutes to answer.

    Signals
    -------
    said
        Carries the Message that offers to read the file again.
    """

    said = Signal(object)
    _looked = Signal(object)

    def __init__(self, tabs: DocumentTabs, parent: QObject, *, every_ms: int = _EVERY_MS) -> None:
        super().__init__(parent)
        self._tabs = tabs
        self._is_looking = False
        self._seen: dict[Path, Stamp] = {}
        self._told: dict[Path, Stamp] = {}
        self._looked.connect(self._take)
        self._timer = QTimer(self, interval=every_ms)
        self._timer.timeout.connect(self.look)
        tabs.opened.connect(self._begin)

    @Slot()
    def look(self) -> None:
        """Look at the files of all open documents; returns at once."""
        paths = [file.path for page in self._tabs.pages if page.checkpoint for file in page.checkpoint.files]
        if not paths:
            self._timer.stop()
        elif not self._is_looking:
            self._is_looking = True
            threading.Thread(target=self._look, args=(paths,), name="disk-watch", daemon=True).start()

    @Slot(object)
    def _begin(self, path: Path) -> None:
        for page in self._tabs.pages:
            if page.path == path and page.checkpoint is not None:
                for file in page.checkpoint.files:
                    self._seen.pop(file.path, None)
                    self._told.pop(file.path, None)
        self._timer.start()

    def _look(self, paths: Sequence[Path]) -> None:
        found: dict[Path, Stamp] = {}
        for path in paths:
            try:
                status = path.stat()
            except FileNotFoundError:
                found[path] = _GONE
            except OSError:  # a drive that is away for a while says nothing about the file
                continue
            else:
                found[path] = (status.st_size, status.st_mtime_ns)
        try:
            self._looked.emit(found)
        except RuntimeError:  # the window closed meanwhile
            return

    @Slot(object)
    def _take(self, found: dict[Path, Stamp]) -> None:
        self._is_looking = False
        for page in self._tabs.pages:
            if page.checkpoint is None or page.is_opening:
                continue
            for file in page.checkpoint.files:
                if file.path in found and self._is_news(file, found[file.path]):
                    self._tell(page, file.path, found[file.path])
                    break
        self._seen = found

    def _is_news(self, file: FileFacts, stamp: Stamp) -> bool:
        """Whether the file is another, has been so for two looks (it is not being written), and nobody was told."""
        was = (file.nbytes, file.mtime_ns)
        return stamp != was and self._seen.get(file.path) == stamp and self._told.get(file.path) != stamp

    def _tell(self, page: DocumentPage, path: Path, stamp: Stamp) -> None:
        assert page.checkpoint is not None
        for file in page.checkpoint.files:
            self._told[file.path] = self._seen.get(file.path, stamp)
        self._told[path] = stamp
        key = f"disk {page.path}"
        if stamp == _GONE:
            text = f"{path.name} is no longer in its folder: no more of its values can be read"
            self.said.emit(Message("warning", text, str(path), key=key))
        else:
            text = f"{path.name} was changed on disk since it was opened"
            reload = partial(_reload, page)
            self.said.emit(Message("warning", text, str(path), action="Reload", on_action=reload, key=key))


def _reload(page: DocumentPage) -> None:
    page.open()
