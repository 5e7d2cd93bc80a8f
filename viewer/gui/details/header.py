"""The head of the details: which node, its path to copy, and the facts that everybody asks for first."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFont, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QToolButton, QWidget

from viewer.gui.details.elided_label import ElidedLabel
from viewer.gui.icons import IconSet
from viewer.gui.override import override
from viewer.gui.theme import Theme

_SIDE_BY_SIDE_FROM = 620
"""Pixels below which the facts go under the path."""


class DetailsHeader(QWidget):
    """Path at the left, facts at the right, or below where there is no room."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._path = ElidedLabel(Qt.TextElideMode.ElideMiddle, self)
        self._copy = QToolButton(self)
        self._copy.setProperty("role", "flat")
        self._copy.setAccessibleName("Copy path")
        self._copy.setToolTip("Copy the path")
        self._copy.setIconSize(QSize(14, 14))
        self._copy.clicked.connect(self.copy_path)
        self._facts = ElidedLabel(Qt.TextElideMode.ElideRight, self)
        self._facts.setProperty("role", "muted")

        line = QHBoxLayout()
        line.setSpacing(6)
        line.addWidget(self._path)
        line.addWidget(self._copy)
        line.addStretch(1)
        self._layout = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._layout.setContentsMargins(16, 10, 16, 4)
        self._layout.setSpacing(4)
        self._layout.addLayout(line, 1)
        self._layout.addWidget(self._facts)
        theme.changed.connect(self._restyle)
        self._restyle()

    @property
    def path(self) -> str:
        return self._path.text()

    @property
    def facts(self) -> str:
        return self._facts.text()

    def show_path(self, path: str, *, copyable: bool) -> None:
        self._path.set_text(path)
        self._copy.setVisible(copyable)

    def show_facts(self, facts: str) -> None:
        self._facts.set_text(facts)
        self._facts.setVisible(bool(facts))

    def copy_path(self) -> None:
        """Put the whole path on the clipboard."""
        QGuiApplication.clipboard().setText(self._path.text())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = event.size().width() >= _SIDE_BY_SIDE_FROM
        direction = QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom
        if self._layout.direction() != direction:
            self._layout.setDirection(direction)

    def _restyle(self) -> None:
        bold = self._theme.mono(1)
        bold.setWeight(QFont.Weight.DemiBold)
        self._path.setFont(bold)
        self._facts.setFont(self._theme.mono(-1))
        self._copy.setIcon(IconSet(self._theme.tokens).icon("copy", "muted"))
