"""The menu of files and comparisons that were opened lately; what is gone says so."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from viewer.gui.recent import Pair, RecentFiles


class RecentMenu(QMenu):
    """Signals: `path_chosen` carries a Path, `pair_chosen` a Pair."""

    path_chosen = Signal(object)
    pair_chosen = Signal(object)

    def __init__(self, recent: RecentFiles, parent: QWidget) -> None:
        super().__init__("Open &recent", parent)
        self._recent = recent
        self._clear: QAction | None = None
        self._group = QActionGroup(self)
        self._group.setExclusive(False)
        self._group.triggered.connect(self._choose)
        recent.changed.connect(self._fill)
        recent.checked.connect(self._mark)
        self.aboutToShow.connect(recent.check)

    def set_clear(self, action: QAction) -> None:
        """End with this action, which forgets the lists."""
        self._clear = action
        self._fill()

    @Slot()
    def _fill(self) -> None:
        for action in self._group.actions():
            self._group.removeAction(action)
            action.deleteLater()
        self.clear()
        for path in self._recent.paths:
            self._add(path, str(path))
        pairs = self._recent.pairs
        if pairs:
            self.addSection("Comparisons")
        for pair in pairs:
            self._add(pair, pair.title)
        self.setEnabled(bool(self._recent.paths or pairs))
        self.addSeparator()
        if self._clear is not None:
            self.addAction(self._clear)

    def _add(self, data: Path | Pair, text: str) -> None:
        action = QAction(text.replace("&", "&&"), self._group)
        action.setData(data)
        self.addAction(action)

    @Slot(object)
    def _mark(self, missing: set[Path]) -> None:
        for action in self._group.actions():
            data = action.data()
            gone = bool(missing & data.paths) if isinstance(data, Pair) else data in missing
            text = (data.title if isinstance(data, Pair) else str(data)).replace("&", "&&")
            action.setText(f"{text}  (missing)" if gone else text)

    @Slot(QAction)
    def _choose(self, action: QAction) -> None:
        data = action.data()
        (self.pair_chosen if isinstance(data, Pair) else self.path_chosen).emit(data)
