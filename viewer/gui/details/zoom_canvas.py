"""What the map and the line of values have in common: they zoom, are pointed at, and ask for what is in view."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from viewer.gui.override import override
from viewer.gui.theme import Theme

ZOOM_STEP: Final = 0.8
_REST_MS: Final = 60


class ZoomCanvas(QWidget):
    """A canvas that takes the focus and the mouse, and has a part in view.

    Parameters
    ----------
    name
        For screen readers.

    Signals
    -------
    pointed
        Carries words about the place pointed at; "" when none is.
    zoomed
        Carries True where a part of the whole is in view.
    """

    pointed = Signal(str)
    zoomed = Signal(bool)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(name)
        # When zooming and resizing have come to rest for the moment, the part in view is worth reading.
        self._rest = QTimer(self, singleShot=True, interval=_REST_MS)
        self._rest.timeout.connect(self.tell_looked_at)

    def tell_looked_at(self) -> None:
        """Ask for what is in view, and no longer wait for rest."""
        raise NotImplementedError

    def reset(self) -> None:
        """Show all of it."""
        raise NotImplementedError

    def leave(self) -> None:
        """Nothing is pointed at any more."""
        raise NotImplementedError

    def _say(self, words: str) -> None:
        """Tell everybody, screen readers too, what is pointed at."""
        self.setAccessibleDescription(words)
        self.pointed.emit(words)

    def _part_changed(self, *, was_all: bool, is_all: bool) -> None:
        if was_all != is_all:
            self.zoomed.emit(not is_all)
        self._rest.start()
        self.update()

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: ARG002
        self.reset()

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self.leave()
        super().leaveEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._rest.start()

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(200, 140)
