"""The pages about a pair of tensors: distributions, maps, change along axes, the largest differences."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QPushButton, QTabWidget, QVBoxLayout, QWidget

from viewer.compare.pair_details import PairDetails, PairMaps, grid_of
from viewer.gui.compare.chart import StepChart
from viewer.gui.compare.drawings import (
    Drawing,
    both_drawing,
    caption,
    difference_drawing,
    profile_drawing,
    signed_log_drawing,
)
from viewer.gui.compare.maps import PairMapsView
from viewer.gui.compare.measures import LARGEST, largest_rows
from viewer.gui.compare.overview_page import scrolled
from viewer.gui.details.cell_table import CellTable
from viewer.gui.format import format_count, format_shape
from viewer.gui.theme import Theme

DISTRIBUTIONS, MAPS, AXES, ELEMENTS = "Distributions", "Maps", "Along axes", "Largest differences"
_HELP: Final = "Wheel: zoom · drag: move · double click: all · ← → from step to step"


class PairTabs(QTabWidget):
    """
    Signals
    -------
    maps_wanted
        The maps came to the front and have no images; carries None, or (row_range, column_range, height, width).
    """

    maps_wanted = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._details: PairDetails | None = None
        self._shape: tuple[int, ...] = ()
        self.setProperty("role", "details")
        self.tabBar().setProperty("role", "details")
        self.setDocumentMode(True)
        self.tabBar().setDrawBase(False)
        self.both = StepChart(theme, "Histograms of both sides", self)
        self.difference = StepChart(theme, "Histogram of right minus left", self)
        self.both_caption, self.difference_caption = QLabel(self), QLabel(self)
        self.log_counts = QPushButton("log counts", self)
        self.log_counts.setCheckable(True)
        self.log_counts.setProperty("role", "chip")
        self.log_counts.setToolTip("Counts on a logarithmic scale")
        self.scale = QComboBox(self)
        self.scale.addItems(["linear", "signed log"])
        self.scale.setAccessibleName("Scale of the difference")
        self.scale.setToolTip("Signed log: one step for each power of ten on both sides of 0")
        self.maps = PairMapsView(theme, self)
        self.maps_caption = QLabel(self)
        self.profiles = [StepChart(theme, f"Change along the {name} axis", self) for name in ("first", "second")]
        self.profile_captions = [QLabel(self), QLabel(self)]
        self.largest = CellTable(theme, "Elements that differ most", self)
        self._pages()
        self.log_counts.toggled.connect(self._draw_histograms)
        self.scale.currentIndexChanged.connect(self._draw_histograms)
        self.maps.wanted.connect(self.maps_wanted)
        self.largest.clicked.connect(self._cross)
        self.largest.doubleClicked.connect(self._cross_and_show)
        self.currentChanged.connect(self._tab_changed)

    def begin(self) -> None:
        """Another pair begins."""
        self._details = None
        self.maps.say("Reading both tensors …")

    def show_details(self, details: PairDetails, shape: tuple[int, ...]) -> None:
        """Show a pair.

        Parameters
        ----------
        shape
            Of both tensors.
        """
        self._details, self._shape = details, shape
        self._draw_histograms()
        for number, (chart, label) in enumerate(zip(self.profiles, self.profile_captions, strict=True)):
            if number < len(details.profiles) and details.measures.differ:
                profile = details.profiles[number]
                extent = shape[profile.axis]
                chart.draw(profile_drawing(profile, extent))
                each = "" if profile.step == 1 else f" · {profile.step:,} indexes each"
                label.setText(
                    f"|b−a| along axis {profile.axis} of {extent:,}: mean (filled) and largest (line){each}"
                )
                chart.show()
            else:
                nothing = "No element differs" if not details.measures.differ else "The tensor has no such axis"
                chart.say(nothing)
                chart.setVisible(number == 0)
                label.setText("")
        self.largest.show_rows(largest_rows(details.largest), LARGEST)
        rows, columns = grid_of(shape)
        laid = "" if len(shape) == 2 else f" of {format_shape(shape)}: first axis down, the others to the right"
        self.maps_caption.setText(f"{format_count(rows)} × {format_count(columns)}{laid}")
        self._tab_changed()

    def show_maps(self, maps: PairMaps) -> None:
        """Show images, of all or of a part."""
        self.maps.show_maps(maps)

    def tab(self) -> str:
        """The page in front."""
        return self.tabText(self.currentIndex())

    def go_to(self, tab: str) -> None:
        """Put a page in front."""
        for index in range(self.count()):
            if self.tabText(index) == tab:
                self.setCurrentIndex(index)

    def _draw_histograms(self) -> None:
        details = self._details
        if details is None:
            return
        log = self.log_counts.isChecked()
        _show(self.both, both_drawing(details, log=log))
        self.both_caption.setText(caption(f"{details.of} · left and right", details.histogram_a, details.histogram_b))
        signed = self.scale.currentIndex() == 1
        drawing = signed_log_drawing(details, log=log) if signed else difference_drawing(details, log=log)
        _show(self.difference, drawing)
        words = "right − left" + (", by powers of ten" if signed else "")
        self.difference_caption.setText(caption(words, details.difference))

    def _tab_changed(self) -> None:
        if self.tab() == MAPS and self._details is not None and self.maps.maps is None:
            self.maps_wanted.emit(None)

    def _cross(self, index: QModelIndex) -> None:
        details = self._details
        if details is None or not index.isValid():
            return
        flat = details.largest[index.row()].index
        _, columns = grid_of(self._shape)
        row, column = divmod(flat, max(columns, 1))
        if self.maps.maps is None:
            self.maps_wanted.emit(None)
        self.maps.place_cross(row, column)

    def _cross_and_show(self, index: QModelIndex) -> None:
        self._cross(index)
        self.go_to(MAPS)

    def _pages(self) -> None:
        plots = QWidget(self)
        line = QHBoxLayout(plots)
        line.setContentsMargins(8, 4, 8, 6)
        for label, chart, controls in (
            (self.both_caption, self.both, (self.log_counts,)),
            (self.difference_caption, self.difference, (self.scale,)),
        ):
            column = QVBoxLayout()
            head = QHBoxLayout()
            head.addWidget(_muted(label), 1)
            head.addStrut(self.scale.sizeHint().height())
            for control in controls:
                head.addWidget(control)
            column.addLayout(head)
            column.addWidget(chart, 1)
            chart.setToolTip(_HELP)
            line.addLayout(column, 1)
        self.addTab(plots, DISTRIBUTIONS)
        page = QWidget(self)
        column = QVBoxLayout(page)
        column.setContentsMargins(8, 4, 8, 6)
        column.addWidget(_muted(self.maps_caption))
        column.addWidget(self.maps, 1)
        self.addTab(page, MAPS)
        page = QWidget(self)
        line = QHBoxLayout(page)
        line.setContentsMargins(8, 4, 8, 6)
        for label, chart in zip(self.profile_captions, self.profiles, strict=True):
            column = QVBoxLayout()
            column.addWidget(_muted(label))
            column.addWidget(chart, 1)
            chart.setToolTip(_HELP)
            line.addLayout(column, 1)
        self.addTab(page, AXES)
        self.addTab(scrolled(self.largest), ELEMENTS)
        self.setTabToolTip(self.count() - 1, "A click sets the cross-hair of the maps, a double click shows it")


def _show(chart: StepChart, drawing: Drawing | str) -> None:
    if isinstance(drawing, str):
        chart.say(drawing)
    else:
        chart.draw(drawing)


def _muted(label: QLabel) -> QLabel:
    label.setProperty("role", "muted")
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
