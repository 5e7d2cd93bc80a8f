"""What is chosen about how values are shown is there again in the next document and the next session."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import Tensor, make_checkpoint
from viewer.gui.details.distribution_bar import BIN_CHOICES, DistributionBar
from viewer.gui.details.map_options import MapOptions
from viewer.gui.details.panel import DetailsPanel
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.settings import SETTINGS, Settings
from viewer.gui.theme import Theme
from viewer.gui.tree.columns import AFTER_SCAN, SCANNED, Column
from viewer.gui.tree.display import DisplayOptions
from viewer.gui.view_memory import remember_map


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    return tmp_path / "settings.ini"


def panel_of(qtbot: QtBot, bridge: EngineBridge, theme: Theme, stored: Path) -> tuple[DistributionBar, Settings]:
    settings = Settings(stored)
    panel = DetailsPanel(bridge, theme, None, settings)
    qtbot.addWidget(panel)
    return panel.distribution.bar, settings


def test_that_bins_counts_and_axis_of_a_histogram_are_kept(
    qtbot: QtBot, bridge: EngineBridge, theme: Theme, stored: Path
) -> None:
    bar, settings = panel_of(qtbot, bridge, theme, stored)
    assert (bar.bins_choice, bar.log_counts, bar.options.axis, bar.options.is_cumulative) == (
        "auto", False, "linear", False,
    )  # fmt: skip
    bar.choose_bins(4096)
    bar.choose_log_counts(True)
    bar.options.choose("signed log")
    bar.options.cumulative.trigger()
    bar.options.choose(0.05)
    settings.save()
    again, _ = panel_of(qtbot, bridge, theme, stored)
    assert (again.bins_choice, again.log_counts) == ("4096", True)
    assert (again.options.axis, again.options.is_cumulative) == ("signed log", True)
    assert again.options.range_choice is None  # no part of the values is out of sight unasked


def test_that_every_number_of_bins_can_be_kept() -> None:
    bins = next(setting for setting in SETTINGS if setting.key == "histogram/bins")
    assert {str(number) for number in BIN_CHOICES} | {"auto", "numpy", "each"} == {value for value, _ in bins.choices}


def test_that_the_colours_of_a_map_are_kept(qtbot: QtBot, stored: Path) -> None:
    settings = Settings(stored)
    options, again = MapOptions(), MapOptions()
    for each in (options, again):
        qtbot.addWidget(each)
    remember_map(options, settings)
    assert options.chosen == ["auto", "slice", "absmax"]
    options.choose("sequential")
    options.choose("tensor")
    options.choose("mean")
    settings.save()
    remember_map(again, Settings(stored))
    assert again.chosen == ["sequential", "tensor", "mean"]
    assert again.colours(-1.0, 1.0) == "sequential"


def test_that_the_columns_that_show_first_are_those_of_the_settings() -> None:
    default = next(setting.default for setting in SETTINGS if setting.key == "tree/columns")
    first = [column for column in Column if column not in SCANNED or column in AFTER_SCAN]
    assert default == [column.name for column in first if column != Column.NAME]


def page_of(qtbot: QtBot, bridge: EngineBridge, theme: Theme, settings: Settings) -> DocumentPage:
    page = DocumentPage(
        bridge, theme, Path("/x/a.pth"), DisplayOptions(True, True), "cpu", 500, settings=settings
    )  # fmt: skip
    qtbot.addWidget(page)
    page._document = None
    page._opening = 1
    page._take_checkpoint(make_checkpoint({"fc.weight": Tensor((4, 3))}))
    return page


def test_that_the_columns_of_the_tree_are_kept(
    qtbot: QtBot, bridge: EngineBridge, theme: Theme, stored: Path
) -> None:
    settings = Settings(stored)
    page = page_of(qtbot, bridge, theme, settings)
    assert page.tree is not None
    columns = page.tree.view.columns
    columns.choose(Column.ELEMENTS, False)
    columns.show_scan(True)
    columns.choose(Column.NORM, True)
    columns.choose(Column.HISTOGRAM, False)
    wanted = [Column.TYPE, Column.SHAPE, Column.SIZE, Column.NAN, Column.MIN, Column.MAX, Column.MEAN, Column.STD]
    wanted += [Column.NORM]
    assert list(columns.shown[1:]) == wanted
    settings.save()
    again = page_of(qtbot, bridge, theme, Settings(stored))
    assert again.tree is not None
    assert again.tree.view.columns.shown == (Column.NAME, Column.TYPE, Column.SHAPE, Column.SIZE)
    again.tree.view.columns.show_scan(True)
    assert list(again.tree.view.columns.shown[1:]) == wanted


def test_that_columns_of_another_version_are_passed_over(
    qtbot: QtBot, bridge: EngineBridge, theme: Theme, stored: Path
) -> None:
    settings = Settings(stored)
    settings.set("tree/columns", ["SIZE", "of the future"])
    page = page_of(qtbot, bridge, theme, settings)
    assert page.tree is not None
    assert page.tree.view.columns.shown == (Column.NAME, Column.SIZE)
