"""The figures under a histogram are those of the statistics, exact on hover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.gui.details.handmade import summary_of
from viewer.gui.details.figure_grid import FigureGrid
from viewer.gui.details.figures import Figure, as_tsv, figures, index_of, pending_figures
from viewer.gui.format import format_number
from viewer.gui.theme import Theme
from viewer.tensors.results import Quantile, Statistics

SHAPE = (40, 25)


@pytest.fixture
def statistics() -> Statistics:
    values = np.random.default_rng(2).normal(size=SHAPE)
    values[3, 4] = np.nan
    values[0, 0] = np.inf
    values[7, 7] = 0.0
    return summary_of(values, 0).statistics


def by_label(rows: list[Figure]) -> dict[str, Figure]:
    return {row.label: row for row in rows}


def test_that_each_figure_shows_its_number_rounded_and_has_it_exactly(statistics: Statistics) -> None:
    rows = by_label(figures(statistics, SHAPE))
    for label, value in {
        "min": statistics.min,
        "max": statistics.max,
        "mean": statistics.mean,
        "std": statistics.std,
        "L2 norm": statistics.l2,
        "L1 norm": statistics.l1,
        "mean |x|": statistics.mean_abs,
    }.items():
        assert value is not None
        assert rows[label].shown == format_number(value)
        assert float(rows[label].exact) == value
    for label, count in {"count": 1000, "NaN": 1, "+inf": 1, "−inf": 0, "zeros": 1}.items():
        assert int(rows[label].exact) == count


def test_that_std_names_the_population_and_gives_the_sample_on_hover(statistics: Statistics) -> None:
    tip = by_label(figures(statistics, SHAPE))["std"].tip
    assert "population" in tip
    assert repr(statistics.std_sample) in tip


def test_that_only_non_finite_counts_that_are_there_warn(statistics: Statistics) -> None:
    assert [row.label for row in figures(statistics, SHAPE) if row.warns] == ["NaN", "+inf"]


def test_that_extremes_and_the_first_nan_tell_where_they_are(statistics: Statistics) -> None:
    rows = by_label(figures(statistics, SHAPE))
    assert "[3, 4]" in rows["NaN"].tip
    assert statistics.argmin is not None
    assert str(list(np.unravel_index(statistics.argmin, SHAPE))).replace("np.int64(", "").replace(")", "") in (
        rows["min"].tip
    )


@pytest.mark.parametrize("flat", [0, 1, 24, 25, 999])
def test_that_an_index_is_what_numpy_says(flat: int) -> None:
    assert index_of(flat, SHAPE) == tuple(int(place) for place in np.unravel_index(flat, SHAPE))


def test_that_what_has_no_value_shows_a_dash() -> None:
    rows = by_label(figures(Statistics(count=3, finite=0, nan=3), (3,)))
    assert rows["mean"].shown == "–"
    assert rows["mean"].exact == ""
    assert "no finite value" in rows["mean"].tip


def test_that_a_quantile_within_a_bound_says_so() -> None:
    quantiles = (Quantile(0.01, -1.0), Quantile(0.5, 0.25, 0.001), Quantile(0.99, 2.0))
    rows = by_label(figures(Statistics(count=9, finite=9, quantiles=quantiles), (9,)))
    assert rows["median"].shown == "≈ 0.25"
    assert "± 0.001" in rows["median"].tip
    assert rows["1 – 99 %"].shown == "−1 … 2"


def test_that_values_close_together_and_far_from_zero_are_told_apart() -> None:
    rows = by_label(figures(Statistics(count=2, finite=2, min=1e8 + 0.25, max=1e8 + 0.5, mean=1e8 + 0.375), (2,)))
    assert len({rows[label].shown for label in ("min", "max", "mean")}) == 3
    subnormal = figures(Statistics(count=2, finite=2, min=0.0, max=5e-324, mean=0.0), (2,))
    assert by_label(subnormal)["max"].shown == "4.94066e−324"


def test_that_integers_stay_integers() -> None:
    rows = by_label(figures(Statistics(count=2, finite=2, min=-(2**63), max=2**64 - 1, l1=2**64), (2,)))
    assert int(rows["min"].exact) == -(2**63)
    assert int(rows["max"].exact) == 2**64 - 1
    assert rows["max"].shown == "18,446,744,073,709,551,615"


def test_that_all_figures_copy_as_lines_of_label_and_exact_value(statistics: Statistics) -> None:
    rows = figures(statistics, SHAPE)
    lines = as_tsv(rows).splitlines()
    assert len(lines) == len(rows)
    assert lines[3] == f"mean\t{statistics.mean!r}"


@pytest.fixture
def grid(qtbot: QtBot, theme: Theme, statistics: Statistics) -> FigureGrid:
    grid = FigureGrid(theme)
    qtbot.addWidget(grid)
    grid.resize(900, 200)
    grid.show_figures(figures(statistics, SHAPE))
    grid.show()
    return grid


def test_that_cells_show_the_figures_with_a_sign_before_those_that_warn(
    grid: FigureGrid, statistics: Statistics
) -> None:
    assert statistics.mean is not None
    assert grid.cell("mean").value_text == format_number(statistics.mean)
    assert grid.cell("NaN").value_text == "⚠ 1"
    assert grid.cell("−inf").value_text == "0"
    assert repr(statistics.mean) in grid.cell("mean").toolTip()
    assert grid.cell("mean").accessibleName().startswith("mean ")


def test_that_a_cell_copies_its_exact_value(grid: FigureGrid, statistics: Statistics, qtbot: QtBot) -> None:
    cell = grid.cell("mean")
    cell.setFocus()
    qtbot.keyClick(cell, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert float(QGuiApplication.clipboard().text()) == statistics.mean
    grid.copy_all()
    assert QGuiApplication.clipboard().text().count("\n") == len(grid.cells)


def test_that_arrow_keys_go_through_the_cells_and_tab_enters_once(grid: FigureGrid, qtbot: QtBot) -> None:
    cells = grid.cells
    cells[0].setFocus()
    qtbot.keyClick(cells[0], Qt.Key.Key_Right)
    assert cells[1].hasFocus()
    qtbot.keyClick(cells[1], Qt.Key.Key_Down)
    columns = next(number for number, cell in enumerate(cells) if cell.y() > 0)
    assert cells[1 + columns].hasFocus()
    stops = [cell for cell in cells if cell.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert stops == [cells[1 + columns]]


def test_that_columns_follow_the_width(grid: FigureGrid, qtbot: QtBot) -> None:
    wide = grid.heightForWidth(1200)
    assert grid.heightForWidth(200) > wide
    grid.resize(210, 700)
    qtbot.waitUntil(lambda: len({cell.x() for cell in grid.cells}) == 1)


def test_that_figures_can_become_fewer(grid: FigureGrid) -> None:
    grid.show_figures(pending_figures())
    assert [cell.figure.shown for cell in grid.cells] == ["…"] * 12
    assert sum(cell.isVisible() for cell in grid.findChildren(type(grid.cells[0]))) == 12
    assert math.isclose(grid.heightForWidth(10_000), grid.cells[0].height() * 2)
