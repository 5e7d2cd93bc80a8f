"""The controls that choose a 2-D slice: which axes are rows and columns, and where along the others."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSlider,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.details.slice_choice import SliceChoice
from viewer.gui.format import format_count
from viewer.gui.theme import Theme

_LARGEST: Final = 2**31 - 1
"""Sliders and spin boxes count in 32 bits."""
MOST_STEPPED: Final = 32
"""Axes that get a slider; a file may claim a thousand. The rest stay at index 0, or go where an index is typed."""
_ROW_HEIGHT: Final = 32
_SHOWN_ROWS: Final = 3


class SliceBar(QWidget):
    """Shows and changes a SliceChoice. What else belongs in the first line is added to `line`."""

    def __init__(self, choice: SliceChoice, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choice = choice
        self._theme = theme
        self.rows = self._box("Axis of the rows", "Which axis of the tensor the rows follow")
        self.columns = self._box("Axis of the columns", "Which axis of the tensor the columns follow")
        self._rows_label = QLabel("Ro&ws", self)
        self._rows_label.setBuddy(self.rows)
        self._columns_label = QLabel("Col&umns", self)
        self._columns_label.setBuddy(self.columns)
        self.swap = QToolButton(self)
        self.swap.setProperty("role", "flat")
        self.swap.setText("⇄")
        self.swap.setAccessibleName("Swap rows and columns")
        self.swap.setToolTip("Rows become columns, and columns rows")
        self.swap.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.line = QHBoxLayout()
        self.line.setSpacing(8)
        for widget in (self._rows_label, self.rows, self.swap, self._columns_label, self.columns):
            self.line.addWidget(widget)
        self._steps = QWidget()
        self._steps.setProperty("role", "panel")
        self._grid = QGridLayout(self._steps)
        self._grid.setContentsMargins(0, 0, 8, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(2)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setWidget(self._steps)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(self.line)
        layout.addWidget(self._area)
        self.sliders: dict[int, QSlider] = {}
        self.spins: dict[int, QSpinBox] = {}
        self.rows.activated.connect(self._rows_chosen)
        self.columns.activated.connect(self._columns_chosen)
        self.swap.clicked.connect(choice.swap)
        choice.reset.connect(self._rebuild)
        choice.stepped.connect(self._show_positions)
        theme.changed.connect(self._restyle)
        self._rebuild()

    def _box(self, name: str, tip: str) -> QComboBox:
        box = QComboBox(self)
        box.setAccessibleName(name)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        box.setToolTip(tip)
        return box

    def _rows_chosen(self, _position: int) -> None:
        self._choice.choose_row(self.rows.currentData())

    def _columns_chosen(self, _position: int) -> None:
        self._choice.choose_column(self.columns.currentData())

    def _rebuild(self) -> None:
        """Other axes: the boxes offer them, and all others get a slider."""
        choice = self._choice
        several = len(choice.shape) > 1
        for widget in (self._rows_label, self.rows, self.swap, self._columns_label, self.columns):
            widget.setVisible(several)
        for box, axis in ((self.rows, choice.row_axis), (self.columns, choice.column_axis)):
            box.clear()
            for number, extent in enumerate(choice.shape[: MOST_STEPPED + 2]):
                box.addItem(f"axis {number} ({format_count(extent)})", number)
            box.setCurrentIndex(-1 if axis is None else box.findData(axis))
        while (item := self._grid.takeAt(0)) is not None:
            if (former := item.widget()) is not None:
                former.hide()
                former.deleteLater()
        self.sliders.clear()
        self.spins.clear()
        others = [axis for axis in choice.other_axes[:MOST_STEPPED] if choice.shape[axis] > 0]
        for place, axis in enumerate(others):
            self._add_step(place, axis, two=len(others) > 1)
        lines = (len(others) + 1) // 2
        self._area.setVisible(bool(others))
        self._area.setFixedHeight(min(lines, _SHOWN_ROWS) * _ROW_HEIGHT)
        self._restyle()

    def _add_step(self, place: int, axis: int, *, two: bool) -> None:
        extent = min(self._choice.shape[axis], _LARGEST)
        name = f"axis {axis} ({format_count(self._choice.shape[axis])})"
        label = QLabel(name, self._steps)
        label.setProperty("role", "muted")
        slider = QSlider(Qt.Orientation.Horizontal, self._steps)
        slider.setRange(0, extent - 1)
        slider.setPageStep(max(1, extent // 10))
        slider.setEnabled(extent > 1)
        slider.setAccessibleName(f"Index along {name}")
        spin = QSpinBox(self._steps)
        spin.setRange(0, extent - 1)
        spin.setEnabled(extent > 1)
        spin.setAccessibleName(f"Index along {name}")
        further = "; beyond that, go to an index in Values" if self._choice.shape[axis] > extent else ""
        spin.setToolTip(f"Index along axis {axis}, from 0 to {format_count(extent - 1)}{further}")
        spin.setKeyboardTracking(False)
        label.setBuddy(spin)
        position = min(self._choice.position(axis), extent - 1)
        slider.setValue(position)
        spin.setValue(position)
        step = partial(self._choice.step, axis)
        slider.valueChanged.connect(step)
        spin.valueChanged.connect(step)
        line, side = divmod(place, 2) if two else (place, 0)
        for offset, widget in enumerate((label, slider, spin)):
            self._grid.addWidget(widget, line, 3 * side + offset)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnStretch(4, 1 if two else 0)
        self.sliders[axis], self.spins[axis] = slider, spin

    def _show_positions(self) -> None:
        for axis, slider in self.sliders.items():
            spin, position = self.spins[axis], self._choice.position(axis)
            with QSignalBlocker(slider), QSignalBlocker(spin):
                slider.setValue(min(position, slider.maximum()))
                spin.setValue(min(position, spin.maximum()))

    def _restyle(self) -> None:
        face = self._theme.mono(-1)
        for widget in (self.rows, self.columns, *self.spins.values()):
            widget.setFont(face)
