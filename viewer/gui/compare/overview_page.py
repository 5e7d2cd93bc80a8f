"""Everything in short: totals by verdict, how the files differ as files, and the change of each layer."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QSizePolicy, QSplitter, QVBoxLayout, QWidget

from viewer.gui.compare.layers import Layer, layers_task
from viewer.gui.compare.measures import sum_facts
from viewer.gui.compare.rollups import RollUps
from viewer.gui.compare.table import WHOLE, CompareTable
from viewer.gui.details.cell_table import CellTable
from viewer.gui.details.facts import Fact
from viewer.gui.format import format_count, format_number
from viewer.gui.override import override
from viewer.gui.slices import SliceRunner
from viewer.gui.theme import Theme

_ROW: Final = 20
_BAR: Final = 9
_MAX_RENAMED: Final = 8


class LayerChart(QWidget):
    """A bar for each layer, from top to bottom as the model is built; paints only what is seen.

    Signals: `row_wanted` carries the row of a layer's first tensor; `moved` the height of the current bar.
    """

    row_wanted = Signal(object)
    moved = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.layers: list[Layer] = []
        self._largest = 0.0
        self._current = -1
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.MinimumExpanding)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName("Change of each layer")
        theme.changed.connect(self._take_theme)
        self._take_theme()

    def show_layers(self, layers: list[Layer]) -> None:
        self.layers = layers
        known = [layer.rel_norm for layer in layers if layer.rel_norm is not None]
        self._largest = max((value for value in known if value < float("inf")), default=0.0)
        self._current = min(self._current, len(layers) - 1)
        self.updateGeometry()
        self.update()

    def words(self, layer: Layer) -> str:
        """What stands beside a bar."""
        if layer.is_frozen:
            return "unchanged"
        parts = []
        if layer.rel_norm:
            parts.append(format_number(layer.rel_norm, 3))
        if layer.tensors and layer.changed < layer.tensors:
            parts.append(f"{format_count(layer.changed)} of {format_count(layer.tensors)} changed")
        if layer.unread:
            parts.append(f"{format_count(layer.unread)} not compared")
        counted = (layer.left, "only left"), (layer.right, "only right"), (layer.other, "of another shape")
        parts += [f"{format_count(count)} {words}" for count, words in counted if count]
        return " · ".join(parts)

    @override
    def sizeHint(self) -> QSize:
        return QSize(420, max(len(self.layers), 1) * _ROW + 8)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self.font())
        metrics = QFontMetrics(self.font())
        color = self._theme.color
        names = min(self.width() // 3, 320)
        room = max(min(self.width() - names - 200, 420), 60)
        first, last = event.rect().top() // _ROW, event.rect().bottom() // _ROW + 1
        for number, layer in enumerate(self.layers[first:last], first):
            top = number * _ROW
            if number == self._current and self.hasFocus():
                painter.fillRect(0, top, self.width(), _ROW, color("selected"))
            name = metrics.elidedText(layer.name, Qt.TextElideMode.ElideLeft, names - 12)
            painter.setPen(color("muted" if layer.is_frozen else "text"))
            right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            painter.drawText(QRect(0, top, names - 8, _ROW), right, name)
            width = 0
            if layer.rel_norm and self._largest:
                width = max(2, round(min(layer.rel_norm / self._largest, 1.0) * room))
                painter.fillRect(names, top + (_ROW - _BAR) // 2, width, _BAR, color("changed"))
            else:
                painter.fillRect(names, top + 3, 1, _ROW - 6, color("border"))
            painter.setPen(color("muted"))
            left = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            painter.drawText(QRect(names + width + 8, top, self.width(), _ROW), left, self.words(layer))

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._choose(int(event.position().y()) // _ROW)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down) and self.layers:
            by = 1 if event.key() == Qt.Key.Key_Down else -1
            self._current = max(0, min(self._current + by, len(self.layers) - 1))
            self.moved.emit(self._current * _ROW + _ROW // 2)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current >= 0:
            self._choose(self._current)
        else:
            super().keyPressEvent(event)

    def _choose(self, number: int) -> None:
        if 0 <= number < len(self.layers):
            self._current = number
            self.update()
            self.row_wanted.emit(self.layers[number].row)

    def _take_theme(self) -> None:
        self.setFont(self._theme.mono(-1))
        self.update()


class OverviewPage(QWidget):
    """Signals: `row_wanted` as in LayerChart."""

    row_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._table: CompareTable | None = None
        self._rollups: RollUps | None = None
        self._first: int | None = None
        self._runner = SliceRunner(self)
        self.totals = CellTable(theme, "Totals", self)
        self.files = CellTable(theme, "How the files differ as files", self)
        self.renamed = QLabel(self)
        self.chart = LayerChart(theme, self)
        self.heading = QLabel(self)
        self.chart.row_wanted.connect(self.row_wanted)
        files_heading = self._files_heading = QLabel("The files themselves: left · right", self)
        for label in (self.heading, self.renamed, files_heading):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
            label.setProperty("role", "muted")
        left, right = QWidget(self), QWidget(self)
        column = QVBoxLayout(left)
        column.setContentsMargins(12, 8, 8, 8)
        for widget in (self.totals, files_heading, self.files, self.renamed):
            column.addWidget(widget)
        column.addStretch(1)
        area = self._area = scrolled(self.chart)
        self.chart.moved.connect(self._show_height)
        column = QVBoxLayout(right)
        column.setContentsMargins(8, 8, 8, 0)
        column.addWidget(self.heading)
        column.addWidget(area, 1)
        splitter = QSplitter(Qt.Orientation.Horizontal, self)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(1)
        splitter.addWidget(scrolled(left))
        splitter.addWidget(right)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([440, 740])
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(splitter)

    def show_table(self, table: CompareTable, rollups: RollUps) -> None:
        """Show a comparison."""
        self._table, self._rollups = table, rollups
        structure = table.comparison.structure
        self.files.show_facts([Fact(note.aspect, f"{note.a or '–'} · {note.b or '–'}") for note in structure.facts])
        self._files_heading.setVisible(bool(structure.facts))
        self.files.setVisible(bool(structure.facts))
        self.refresh()

    def refresh(self) -> None:
        """Results came."""
        table, rollups = self._table, self._rollups
        if table is None or rollups is None:
            return
        self.totals.show_facts(sum_facts(rollups, WHOLE))
        comparison = table.comparison
        pairs = [
            f"{comparison.path_a(pair.row_a)} could be {comparison.path_b(pair.row_b)}: {pair.reason}"
            for pair in comparison.structure.renamed[:_MAX_RENAMED]
        ]
        more = len(comparison.structure.renamed) - len(pairs)
        self.renamed.setText("\n".join([*pairs, *([f"and {format_count(more)} more pairs"] if more else [])]))
        self.renamed.setVisible(bool(pairs))
        if not self._runner.is_running:
            self._runner.start(layers_task(table), self._show_layers)

    def release(self) -> None:
        """The tab is about to go."""
        self._runner.stop()

    def _show_height(self, height: int) -> None:
        self._area.ensureVisible(0, height, 0, _ROW)

    def _show_layers(self, layers: list[Layer]) -> None:
        self.chart.show_layers(layers)
        frozen = sum(layer.is_frozen for layer in layers)
        changed = sum(bool(layer.changed) for layer in layers)
        first = next((number for number, layer in enumerate(layers) if layer.changed or layer.alone), None)
        if first is not None and first != self._first:  # what comes before it is all unchanged
            self._area.verticalScrollBar().setValue(max(first - 2, 0) * _ROW)
        self._first = first
        self.heading.setText(
            f"Change of each layer, in the order of the model: the largest ‖a−b‖/‖a‖ of its tensors · "
            f"{format_count(changed)} of {format_count(len(layers))} layers changed, {format_count(frozen)} unchanged"
        )


def scrolled(widget: QWidget) -> QScrollArea:
    """A widget in an area without a frame."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    widget.setProperty("role", "panel")
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    area.setWidget(widget)
    return area
