"""The line that says which file is left and which is right, and lets either be changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QSizePolicy, QWidget

from viewer.gui.compare.session import Side
from viewer.gui.details.tips import plain_tip
from viewer.gui.override import override
from viewer.gui.theme import Theme
from viewer.report.wording import printable

_SIDES = ("left", "right")
_LONGEST = 44


class SideButton(QPushButton):
    """One side's name in its colour. Its menu offers what could stand there; a file may be dropped on it.

    Signals
    -------
    path_chosen
        Carries the Path of a file for this side.
    browse_wanted
        A file is to be asked for.
    """

    path_chosen = Signal(object)
    browse_wanted = Signal()

    def __init__(self, number: int, theme: Theme, choices: Callable[[], Sequence[tuple[str, Path]]]) -> None:
        super().__init__()
        self._side = _SIDES[number]
        self._theme = theme
        self._choices = choices
        self.setProperty("role", "flat")
        self.setAcceptDrops(True)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._menu = QMenu(self)
        self._menu.aboutToShow.connect(self._fill)
        self.setMenu(self._menu)
        theme.changed.connect(self._take_theme)
        self._take_theme()

    def show_side(self, side: Side, *, with_folder: bool) -> None:
        """Name what stands here."""
        name = side.name
        if with_folder and side.path.parent.name:
            name = f"{side.path.parent.name}/{name}"
        cut = name if len(name) <= _LONGEST else f"{name[: _LONGEST // 2]}…{name[-(_LONGEST // 2) :]}"
        self.setText(f"■ {cut}".replace("&", "&&"))
        part = f"\n{side.part}" if side.part else ""
        self.setToolTip(plain_tip(f"{side.path}{part}\nClick to change the {self._side} side, or drop a file here"))
        self.setAccessibleName(f"{self._side}: {name}")

    @Slot()
    def _fill(self) -> None:
        """Made when the menu opens: documents come and go."""
        self._menu.clear()
        heading = ""
        for group, path in self._choices():
            if group != heading:
                self._menu.addSection(group)
                heading = group
            action = self._menu.addAction(printable(str(path)).replace("&", "&&"))
            action.triggered.connect(partial(self._choose, path))
        self._menu.addSeparator()
        self._menu.addAction("Browse…", self.browse_wanted.emit)

    def _choose(self, path: Path, *_checked: object) -> None:
        self.path_chosen.emit(path)

    @Slot()
    def _take_theme(self) -> None:
        self.setFont(self._theme.mono())
        color = self._theme.color(self._side).name()
        self.setStyleSheet(
            f"QPushButton {{ color: {color}; text-align: left; padding: 4px 20px 4px 8px; }}"
            f"QPushButton:hover {{ background: {self._theme.color('raised').name()}; }}"
        )

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if sum(url.isLocalFile() for url in event.mimeData().urls()) == 1:
            event.acceptProposedAction()

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
        if len(paths) == 1:
            event.acceptProposedAction()
            self.path_chosen.emit(paths[0])


class SidesHeader(QWidget):
    """Both names in the colours of their sides, what swaps them, and how they are compared.

    Signals
    -------
    side_chosen
        Carries 0 for left or 1 for right, and the Path that is to stand there.
    browse_wanted
        Carries the side for which a file is to be asked.
    """

    side_chosen = Signal(int, object)
    browse_wanted = Signal(int)

    def __init__(
        self, theme: Theme, choices: Callable[[], Sequence[tuple[str, Path]]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.left, self.right = SideButton(0, theme, choices), SideButton(1, theme, choices)
        self.swap = QPushButton("⇄ Swap", self)
        self.swap.setToolTip("Exchange left and right")
        self.rules, self.tolerance = QPushButton("Rename…", self), QPushButton(self)
        self.export = QPushButton("Export", self)
        self.rules.setToolTip("Rules that rewrite names before they are matched")
        line = QHBoxLayout(self)
        line.setContentsMargins(8, 6, 8, 6)
        line.setSpacing(8)
        for widget in (self.left, self.swap, self.right):
            line.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
        line.addStretch(1)
        for widget in (self.rules, self.tolerance, self.export):
            line.addWidget(widget)
        for number, button in enumerate((self.left, self.right)):
            button.path_chosen.connect(partial(self.side_chosen.emit, number))
            button.browse_wanted.connect(partial(self.browse_wanted.emit, number))

    def show_sides(self, left: Side, right: Side) -> None:
        """Name both; where the names are the same, with their folders."""
        alike = left.path.name == right.path.name and left.path != right.path
        self.left.show_side(left, with_folder=alike)
        self.right.show_side(right, with_folder=alike)
