"""A grid of figures: label at the left, value at the right, as many columns as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QPointF, QRect, QSize, Qt
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QFocusEvent,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from viewer.gui.details.figures import Figure, as_tsv
from viewer.gui.override import override
from viewer.gui.theme import Theme

_CELL_WIDTH: Final = 184
_GAP: Final = 24
_ROW_HEIGHT: Final = 25
_WARNING_SIGN: Final = "⚠ "


class FigureCell(QWidget):
    """One figure. Takes the focus, tells its exact value on hover, copies it."""

    def __init__(self, theme: Theme, grid: FigureGrid) -> None:
        super().__init__(grid)
        self._theme = theme
        self._grid = grid
        self._figure = Figure("", "")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)

    @property
    def figure(self) -> Figure:
        return self._figure

    @property
    def value_text(self) -> str:
        """The value as it is drawn, with the sign that stands before counts which deserve a look."""
        return f"{_WARNING_SIGN if self._figure.warns else ''}{self._figure.shown}"

    def show_figure(self, figure: Figure) -> None:
        if figure != self._figure:
            self._figure = figure
            self.setToolTip(figure.tip)
            self.setAccessibleName(f"{figure.label} {figure.shown}")
            self.setAccessibleDescription(figure.tip)
            self.update()

    def copy(self) -> None:
        """Put the exact value on the clipboard."""
        QGuiApplication.clipboard().setText(self._figure.exact or self._figure.shown)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        value = QAction(f"Copy {self._figure.label}", menu)
        value.triggered.connect(self.copy)
        everything = QAction("Copy all as TSV", menu)
        everything.triggered.connect(self._grid.copy_all)
        menu.addActions([value, everything])
        menu.popup(event.globalPos())

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif not self._grid.step_focus(self, event.key()):
            super().keyPressEvent(event)

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._grid.take_tab_stop(self)
        self.update()

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        width, height = self.width(), self.height()
        painter.setPen(QPen(self._theme.color("border"), 1, Qt.PenStyle.DotLine))
        painter.drawLine(QPointF(0, height - 0.5), QPointF(width, height - 0.5))
        if self.hasFocus():
            painter.fillRect(0, 0, width, height - 1, self._theme.color("selected"))
        mono = self._theme.mono()
        value = self.value_text
        room = width - QFontMetrics(mono).horizontalAdvance(value) - 8
        painter.setPen(self._theme.color("muted"))
        painter.setFont(self.font())
        label = QFontMetrics(self.font()).elidedText(self._figure.label, Qt.TextElideMode.ElideRight, max(room, 40))
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRect(0, 0, width, height), Qt.AlignmentFlag.AlignLeft | middle, label)
        painter.setPen(self._theme.color("warning" if self._figure.warns else "text"))
        painter.setFont(mono)
        painter.drawText(QRect(0, 0, width, height), Qt.AlignmentFlag.AlignRight | middle, value)


class FigureGrid(QWidget):
    """Figures in rows. Tab enters it once; the arrow keys go from cell to cell."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._cells: list[FigureCell] = []
        self._n_shown = 0
        self._tab_stop: FigureCell | None = None
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName("Statistics")
        copy_all = QAction("Copy all as TSV", self)
        copy_all.setShortcut(QKeySequence("Ctrl+Shift+C"))
        copy_all.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        copy_all.triggered.connect(self.copy_all)
        self.addAction(copy_all)
        theme.changed.connect(self._restyle)

    @property
    def cells(self) -> list[FigureCell]:
        """The cells in use, in order."""
        return self._cells[: self._n_shown]

    def cell(self, label: str) -> FigureCell:
        """The cell with this label."""
        return next(cell for cell in self.cells if cell.figure.label == label)

    def show_figures(self, figures: Sequence[Figure]) -> None:
        while len(self._cells) < len(figures):
            self._cells.append(FigureCell(self._theme, self))
        for cell, figure in zip(self._cells, figures, strict=False):
            cell.show_figure(figure)
        if len(figures) != self._n_shown:
            self._n_shown = len(figures)
            self._lay_out()
            self.updateGeometry()
        if self._cells and (self._tab_stop is None or self._tab_stop not in self.cells):
            self.take_tab_stop(self._cells[0])

    def copy_all(self) -> None:
        """Put all labels and exact values on the clipboard."""
        QGuiApplication.clipboard().setText(as_tsv([cell.figure for cell in self.cells]))

    def take_tab_stop(self, cell: FigureCell) -> None:
        """Make `cell` the one that Tab comes to."""
        if self._tab_stop is not None:
            self._tab_stop.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._tab_stop = cell
        cell.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def step_focus(self, cell: FigureCell, key: int) -> bool:
        """Go on from `cell` by an arrow key; False for other keys."""
        steps = {
            int(Qt.Key.Key_Left): -1,
            int(Qt.Key.Key_Right): 1,
            int(Qt.Key.Key_Up): -self._n_columns(self.width()),
            int(Qt.Key.Key_Down): self._n_columns(self.width()),
        }
        if key not in steps:
            return False
        place = self._cells.index(cell) + steps[key]
        if 0 <= place < self._n_shown:
            self._cells[place].setFocus(Qt.FocusReason.TabFocusReason)
        return True

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        columns = self._n_columns(width)
        return -(-self._n_shown // columns) * self._row_height()

    @override
    def sizeHint(self) -> QSize:
        width = 4 * _CELL_WIDTH + 3 * _GAP
        return QSize(width, self.heightForWidth(width))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(_CELL_WIDTH, self._row_height())

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def _n_columns(self, width: int) -> int:
        cell = max(_CELL_WIDTH, QFontMetrics(self._theme.mono()).horizontalAdvance("0") * 24)
        return max(1, min((width + _GAP) // (cell + _GAP), 8))

    def _row_height(self) -> int:
        return max(_ROW_HEIGHT, QFontMetrics(self.font()).height() + 8)

    def _lay_out(self) -> None:
        columns = self._n_columns(self.width())
        height = self._row_height()
        width = (self.width() - (columns - 1) * _GAP) / columns
        for number, cell in enumerate(self._cells):
            row, column = divmod(number, columns)
            left = round(column * (width + _GAP))
            cell.setGeometry(left, row * height, round(width), height)
            cell.setVisible(number < self._n_shown)

    def _restyle(self) -> None:
        self._lay_out()
        self.updateGeometry()
        self.update()
