"""Back and forward among the rows that were looked at, over all open documents."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QMouseEvent

from viewer.errors import BadPath
from viewer.gui.override import override

if TYPE_CHECKING:
    from viewer.gui.document_page import DocumentPage
    from viewer.gui.documents import DocumentTabs

MOST: Final = 200
_PASSING_S: Final = 0.4
"""A row that was current for so short a time was passed on the way, with the arrow keys, and is not come back to."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A row of a document, by the path of its node, which stays the same when the file is read again."""

    file: Path
    node_path: str


class History(QObject):
    """Signals: `changed` when it is other whether there is a way back or forward."""

    changed = Signal()

    def __init__(self, tabs: DocumentTabs, parent: QObject, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(parent)
        self._tabs = tabs
        self._clock = clock
        self._visits: list[Visit] = []
        self._at = -1
        self._since_s = 0.0
        self._going = False
        tabs.opened.connect(self._watch)
        parent.installEventFilter(self)

    @property
    def can_go_back(self) -> bool:
        return self._at > 0

    @property
    def can_go_forward(self) -> bool:
        return self._at < len(self._visits) - 1

    def go(self, by: int) -> None:
        """Go back (-1) or forward (1), past rows that are gone with their tab or from their file."""
        self._going = True
        try:
            while 0 <= self._at + by < len(self._visits):
                self._at += by
                if self._show(self._visits[self._at]):
                    break
                del self._visits[self._at]
                self._at -= by > 0
        finally:
            self._going = False
        self._since_s = 0.0
        self.changed.emit()

    def _show(self, visit: Visit) -> bool:
        page = next((page for page in self._tabs.pages if page.path == visit.file), None)
        if page is None or page.tree is None:
            return False
        self._tabs.setCurrentWidget(page)
        try:
            page.tree.go_to_path(visit.node_path)
        except BadPath:
            return False
        return True

    def _watch(self, path: Path) -> None:
        """A document was read: its tree is a new one."""
        for page in self._tabs.pages:
            if page.path == path and page.tree is not None:
                # The tree owns the listener, so that it goes with it.
                page.tree.node_changed.connect(_Listener(self, page, page.tree).visit)
                page.tree.view.viewport().installEventFilter(self)

    def visit(self, page: DocumentPage, node: int) -> None:
        """A row became current."""
        if self._going or page.checkpoint is None or page is not self._tabs.page:
            return
        visit = Visit(page.path, page.checkpoint.path_of(node))
        if self._at >= 0 and self._visits[self._at] == visit:
            return
        now_s = self._clock()
        is_passing = self._at >= 0 and now_s - self._since_s < _PASSING_S
        del self._visits[self._at + (not is_passing) :]
        self._visits.append(visit)
        del self._visits[:-MOST]
        self._at = len(self._visits) - 1
        self._since_s = now_s
        self.changed.emit()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonPress and isinstance(event, QMouseEvent):
            by = {Qt.MouseButton.BackButton: -1, Qt.MouseButton.ForwardButton: 1}.get(event.button())
            if by is not None:
                self.go(by)
                return True
        return super().eventFilter(watched, event)


class _Listener(QObject):
    def __init__(self, history: History, page: DocumentPage, parent: QObject) -> None:
        super().__init__(parent)
        self._history = history
        self._page = page

    def visit(self, node: int) -> None:
        self._history.visit(self._page, node)
