"""The empty window: what to do first, and what was open before."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from viewer.gui.details.tips import plain_tip
from viewer.gui.icons import IconSet, tinted
from viewer.gui.override import override
from viewer.gui.recent import Pair, RecentFiles
from viewer.gui.theme import Theme
from viewer.report.wording import printable

_MAX_LISTED: Final = 8
_MAX_PAIRS: Final = 3
_WIDTH: Final = 560
_PROMISE: Final = "Opening a file runs nothing in it and imports nothing that it names."
FORMATS: Final = ".pth  .pt  .ckpt  .bin  .safetensors"
_MORE: Final = "or its folder, or the index file of its shards"


class StartPage(QWidget):
    """Signals: `open_clicked`, `folder_clicked`, `sample_clicked`; `path_chosen` carries the Path of a recent one,
    `pair_chosen` a Pair that was compared."""

    open_clicked = Signal()
    folder_clicked = Signal()
    sample_clicked = Signal()
    path_chosen = Signal(object)
    pair_chosen = Signal(object)

    def __init__(self, theme: Theme, recent: RecentFiles, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._recent = recent
        self._theme = theme
        self.setProperty("role", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.drop_area = _DropArea(theme, self)
        self._buttons: list[_RecentButton] = []
        self._missing: set[Path] = set()
        self._heading = QLabel("Recent files", self)
        self._heading.setProperty("role", "muted")
        self._list = QVBoxLayout()
        self._list.setSpacing(0)
        self._pairs_heading = QLabel("Recent comparisons", self)
        self._pairs_heading.setProperty("role", "muted")
        self._pairs = QVBoxLayout()
        self._pairs.setSpacing(0)
        promise = QLabel(_PROMISE, self)
        promise.setProperty("role", "muted")
        promise.setAlignment(Qt.AlignmentFlag.AlignCenter)
        open_button = QPushButton("Open…", self)
        open_button.setDefault(True)
        open_button.clicked.connect(self.open_clicked)
        folder_button = QPushButton("Open folder…", self)
        folder_button.setToolTip("A folder that is one checkpoint: shards with their index, distributed, Trainer")
        folder_button.clicked.connect(self.folder_clicked)
        sample_button = QPushButton("Open sample", self)
        sample_button.setToolTip("A small training checkpoint: model, Adam state, scheduler")
        sample_button.clicked.connect(self.sample_clicked)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(open_button)
        buttons.addWidget(folder_button)
        buttons.addWidget(sample_button)
        buttons.addStretch(1)
        middle = QWidget(self)
        middle.setMaximumWidth(_WIDTH)
        column = QVBoxLayout(middle)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(16)
        column.addWidget(self.drop_area)
        column.addLayout(buttons)
        column.addWidget(promise)
        column.addSpacing(8)
        column.addWidget(self._heading)
        column.addLayout(self._list)
        column.addWidget(self._pairs_heading)
        column.addLayout(self._pairs)
        outer = QVBoxLayout(self)
        outer.addStretch(2)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(middle, 20)
        row.addStretch(1)
        outer.addLayout(row)
        outer.addStretch(3)
        recent.changed.connect(self._fill)
        recent.checked.connect(self._mark_missing)
        theme.changed.connect(self._take_theme)
        self._fill()

    @Slot()
    def _fill(self) -> None:
        for button in self._buttons:
            button.hide()
            button.deleteLater()
        self._buttons.clear()
        pairs = self._recent.pairs[:_MAX_PAIRS]
        paths = self._recent.paths[: _MAX_LISTED - len(pairs) - bool(pairs)]
        listed: list[tuple[Path | Pair, QVBoxLayout]] = [(path, self._list) for path in paths]
        listed += [(pair, self._pairs) for pair in pairs]
        for what, column in listed:
            button = _RecentButton(what, self._theme, self)
            button.setFont(self._theme.interface_font())
            button.chosen.connect(self.pair_chosen if isinstance(what, Pair) else self.path_chosen)
            column.addWidget(button)
            self._buttons.append(button)
        self._heading.setVisible(bool(paths))
        self._pairs_heading.setVisible(bool(pairs))
        self._take_theme()

    @Slot(object)
    def _mark_missing(self, missing: set[Path]) -> None:
        self._missing = missing
        self._take_theme()

    @Slot()
    def _take_theme(self) -> None:
        icons = IconSet(self._theme.tokens)
        for button in self._buttons:
            gone = bool(button.paths & self._missing)
            button.mark(gone)
            button.setIcon(icons.icon("warning" if gone else "file", "warning" if gone else "muted"))

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._buttons:
            self._recent.check()


class _RecentButton(QPushButton):
    chosen = Signal(object)

    def __init__(self, what: Path | Pair, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._what = what
        self._name = what.title if isinstance(what, Pair) else printable(what.name)
        self._theme = theme
        self.setProperty("role", "link")
        self.setToolTip(plain_tip("\n".join(str(path) for path in sorted(self.paths))))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self._choose)
        self.mark(False)

    @property
    def paths(self) -> set[Path]:
        return self._what.paths if isinstance(self._what, Pair) else {self._what}

    def mark(self, missing: bool) -> None:
        """Say whether the file is gone. It can still be clicked: the message then says what is wrong."""
        folder = str(min(self.paths).parent)
        home = str(Path.home())
        if folder == home or folder.startswith(home + "/"):
            folder = "~" + folder[len(home) :]
        folder = printable(folder)
        self._folder = f"{folder}  ·  missing" if missing else folder
        self.setAccessibleName(f"{self._name}, in {self._folder}")
        self.update()

    @Slot()
    def _choose(self) -> None:
        self.chosen.emit(self._what)

    @override
    def sizeHint(self) -> QSize:
        return QSize(200, self.fontMetrics().height() + 14)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)  # frame and icon; the text is ours: the name whole, the folder in what is left
        painter = QPainter(self)
        metrics = self.fontMetrics()
        inner = self.rect().adjusted(34, 0, -10, 0)
        name = metrics.elidedText(self._name, Qt.TextElideMode.ElideMiddle, inner.width())
        painter.setPen(self._theme.color("accent"))
        flags = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(inner, flags | Qt.AlignmentFlag.AlignLeft, name)
        room = inner.width() - metrics.horizontalAdvance(name) - 16
        painter.setPen(self._theme.color("muted"))
        if room > 40:
            folder = metrics.elidedText(self._folder, Qt.TextElideMode.ElideMiddle, room)
            painter.drawText(inner, flags | Qt.AlignmentFlag.AlignRight, folder)
        self._paint_icon(painter)

    def _paint_icon(self, painter: QPainter) -> None:
        side = 16
        self.icon().paint(painter, 10, (self.height() - side) // 2, side, side)


class _DropArea(QWidget):
    """A dashed frame that brightens while a file is dragged over the window."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._active = False
        self.setMinimumHeight(152)
        self.setAccessibleName(f"Drop a checkpoint here, {_MORE}")

    def set_active(self, active: bool) -> None:
        self._active = active
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        token = "accent" if self._active else "border"
        pen = QPen(self._theme.color(token), 1.5, Qt.PenStyle.CustomDashLine)
        pen.setDashPattern([4, 4])
        painter.setPen(pen)
        if self._active:
            painter.setBrush(self._theme.color("hovered"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 10, 10)
        center = self.rect().center()
        picture = tinted(
            "drop", getattr(self._theme.tokens, "accent" if self._active else "faint"), 28, self.devicePixelRatioF()
        )
        painter.drawPixmap(center.x() - 14, center.y() - 50, picture)
        font = self._theme.interface_font()
        font.setPointSizeF(font.pointSizeF() + 3)
        painter.setFont(font)
        painter.setPen(self._theme.color("text"))
        middle = Qt.AlignmentFlag.AlignCenter
        painter.drawText(self.rect().adjusted(8, 26, -8, 0), middle, "Drop a checkpoint here")
        painter.setFont(self._theme.mono())
        painter.setPen(self._theme.color("muted"))
        painter.drawText(self.rect().adjusted(8, 74, -8, 0), middle, FORMATS)
        painter.setFont(self._theme.interface_font())
        painter.drawText(self.rect().adjusted(8, 118, -8, 0), middle, _MORE)
