"""What the View menu and the bins of the Distribution page do, on the engine's own tasks; and what is exported."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtSvg import QSvgRenderer
from pytestqt.qtbot import QtBot

from tests.gui.details.inline_client import DOCUMENT, Stage
from viewer.engine.protocol import Summarise
from viewer.engine.values_requests import RuleHistogram
from viewer.gui.details.bins import Bins
from viewer.gui.details.distribution import DistributionPage
from viewer.gui.details.distribution_bar import EACH, NUMPY
from viewer.gui.details.distribution_options import TYPED
from viewer.gui.details.histogram_plot import HistogramPlot
from viewer.gui.details.scale import LARGEST, Scale
from viewer.gui.details.ticks import power_labels, signed_log_ticks
from viewer.gui.theme import Theme


def _tensors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    heavy = torch.randn(20_000, generator=generator) ** 5
    odd = torch.randn(1000, generator=generator)
    odd[:7] = math.nan
    odd[7:9] = math.inf
    outlier = torch.randn(50_000, generator=generator)
    outlier[0] = 1e6
    return {
        "heavy": heavy,
        "odd": odd,
        "outlier": outlier,
        "ints": torch.randint(-3, 400, (5000,), generator=generator),
        "huge": torch.tensor([-3e38, 3e38, 0.0, 1.0]),
        "same": torch.full((100,), 1e17),
        "other": torch.randn(4000, generator=generator),
    }


@pytest.fixture
def stage(tmp_path: Path, theme: Theme) -> Iterator[Stage]:
    stage = Stage(tmp_path, theme, _tensors())
    yield stage
    stage.bridge.close()


@pytest.fixture
def page(stage: Stage, theme: Theme, qtbot: QtBot) -> DistributionPage:
    page = DistributionPage(stage.tools.store, theme)
    qtbot.addWidget(page)
    page.resize(900, 640)
    page.show()
    page.set_active(True)
    return page


def show(page: DistributionPage, stage: Stage, qtbot: QtBot, name: str) -> HistogramPlot:
    tensor = stage.checkpoint.tensor_of_node(stage.node(name))
    assert tensor is not None
    page.show_tensor(DOCUMENT, tensor, name)
    settle(page, qtbot)
    plot = page.pane.plot
    assert plot is not None
    return plot


def settle(page: DistributionPage, qtbot: QtBot) -> None:
    qtbot.waitUntil(
        lambda: page.pane.bins is not None and not page.pane._rest.isActive() and not page._store._running
    )


def drawn(page: DistributionPage) -> Bins:
    bins = page.pane.bins
    assert bins is not None
    return bins


def test_that_numpys_rule_is_named_and_its_counts_are_right(
    page: DistributionPage, stage: Stage, qtbot: QtBot
) -> None:
    show(page, stage, qtbot, "other")
    page.bar.choose_bins(NUMPY)
    settle(page, qtbot)
    values = stage.tensors["other"].double().numpy()
    wanted = np.histogram_bin_edges(values, "auto")
    assert abs(len(drawn(page).counts) - (len(wanted) - 1)) <= 1  # quantiles of float32 are known to a bound
    assert page.bar.info.startswith(("Freedman–Diaconis: ", "Sturges: "))
    counts, _ = np.histogram(values, np.asarray(drawn(page).edges))
    assert list(drawn(page).counts) == counts.tolist()


def test_that_whole_numbers_get_a_bar_each(page: DistributionPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "ints")
    page.bar.choose_bins(EACH)
    settle(page, qtbot)
    values = stage.tensors["ints"].numpy()
    assert list(drawn(page).counts) == np.bincount(values + 3).tolist()
    assert drawn(page).interval(0) == "= −3"


def test_that_a_signed_logarithm_has_equal_bins_on_screen(page: DistributionPage, stage: Stage, qtbot: QtBot) -> None:
    plot = show(page, stage, qtbot, "heavy")
    page.bar.options.choose("signed log")
    settle(page, qtbot)
    bins = drawn(page)
    assert bins.threshold is not None
    places = [bins.scale.to_unit(edge) for edge in bins.edges]
    widths = np.diff(places)
    assert widths.max() == pytest.approx(widths.min(), rel=1e-6)
    values = stage.tensors["heavy"].double().numpy()
    assert list(bins.counts) == np.histogram(values, np.asarray(bins.edges))[0].tolist()
    assert not plot.grab().isNull()
    plot.point_at(3)
    assert bins.share(3) in plot.tip_text


def test_that_zooming_a_signed_logarithm_refines_it(page: DistributionPage, stage: Stage, qtbot: QtBot) -> None:
    plot = show(page, stage, qtbot, "heavy")
    page.bar.options.choose("signed log")
    settle(page, qtbot)
    whole = drawn(page)
    plot.set_range(0.5, 2.0)
    settle(page, qtbot)
    fine = drawn(page)
    assert fine is not whole
    assert fine.threshold == whole.threshold
    values = stage.tensors["heavy"].double().numpy()
    assert list(fine.counts) == np.histogram(values, np.asarray(fine.edges))[0].tolist()
    assert fine.below == int((values < fine.low).sum())
    request = stage.client.of(RuleHistogram)[-1]
    assert request.rule.threshold == whole.threshold


def test_that_cumulative_counts_end_at_all_finite_values(page: DistributionPage, stage: Stage, qtbot: QtBot) -> None:
    plot = show(page, stage, qtbot, "odd")
    page.bar.options.cumulative.setChecked(True)
    heights = plot.canvas.heights()
    assert heights.tolist() == np.cumsum(drawn(page).counts).tolist()
    assert heights[-1] == 991
    plot.point_at(len(heights) - 1)
    assert plot.tip_text.startswith("≤ ")
    assert plot.tip_text.endswith("991 of 1,000 · 99.1 %")
    plot.set_range(0.0, 0.5)
    settle(page, qtbot)
    values = stage.tensors["odd"].double().numpy()
    bins = drawn(page)
    assert plot.canvas.heights()[0] == int((values < bins.edges[1]).sum())


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_that_a_percentile_range_is_that_of_the_values(
    page: DistributionPage, stage: Stage, qtbot: QtBot, share: float
) -> None:
    plot = show(page, stage, qtbot, "other")
    page.bar.options.choose(share)
    settle(page, qtbot)
    low, high = plot.visible_range()
    values = stage.tensors["other"].double().numpy()
    assert low == pytest.approx(np.quantile(values, share), abs=0.02)
    assert high == pytest.approx(np.quantile(values, 1 - share), abs=0.02)
    assert not page.bar._all.isHidden()
    page.bar.all_wanted.emit()
    assert plot.shows_all
    assert page.bar.options.range_choice is None


def test_that_one_outlier_does_not_hide_the_others(page: DistributionPage, stage: Stage, qtbot: QtBot) -> None:
    plot = show(page, stage, qtbot, "outlier")
    page.bar.options.choose(0.001)
    qtbot.waitUntil(lambda: plot.visible_range()[1] < 20, timeout=10_000)
    settle(page, qtbot)
    values = stage.tensors["outlier"].double().numpy()
    low, high = plot.visible_range()
    assert low <= np.quantile(values, 0.001)
    assert high >= np.quantile(values, 0.999)


def test_that_a_chosen_range_stays_for_the_next_tensor(page: DistributionPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "other")
    page.bar.options.choose(0.05)
    settle(page, qtbot)
    plot = show(page, stage, qtbot, "odd")
    assert not plot.shows_all


def test_that_a_typed_range_is_shown(page: DistributionPage, stage: Stage, qtbot: QtBot) -> None:
    plot = show(page, stage, qtbot, "other")
    page.bar.options.choose(TYPED)
    assert not page.range_row.isHidden()
    page.range_row.low.setText("−0.25")
    page.range_row.high.setText("0.5")
    page.range_row.high.returnPressed.emit()
    assert plot.visible_range() == (-0.25, 0.5)
    settle(page, qtbot)
    page.range_row.high.setText("x")
    page.range_row.high.returnPressed.emit()
    assert page.range_row.high.property("fault") is True
    assert plot.visible_range() == (-0.25, 0.5)


@pytest.mark.parametrize("axis", ["linear", "signed log"])
@pytest.mark.parametrize("name", ["huge", "same"])
def test_that_extreme_tensors_are_drawn(
    page: DistributionPage, stage: Stage, qtbot: QtBot, axis: str, name: str
) -> None:
    page.bar.options.choose(axis)
    plot = show(page, stage, qtbot, name)
    assert sum(drawn(page).counts) == stage.tensors[name].numel()
    assert not plot.grab().isNull()
    plot.point_at(0)
    assert plot.tip_text


def test_that_equal_bins_over_the_full_range_need_no_rule(page: DistributionPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "other")
    assert stage.client.of(RuleHistogram) == []
    assert len(stage.client.of(Summarise)) == 1


def test_that_numbers_and_picture_are_saved_and_copied(
    page: DistributionPage, stage: Stage, qtbot: QtBot, tmp_path: Path
) -> None:
    plot = show(page, stage, qtbot, "odd")
    page.export.save("csv", str(tmp_path / "h.csv"))
    with (tmp_path / "h.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["count"]) for row in rows if row["what"] == "bin"] == list(drawn(page).counts)
    assert {row["what"]: int(row["count"]) for row in rows[-3:]} == {"nan": 7, "+inf": 2, "-inf": 0}
    page.export.save("png", str(tmp_path / "h.png"))
    assert QImage(str(tmp_path / "h.png")).size() == 2 * plot.size()
    page.export.save("svg", str(tmp_path / "h.svg"))
    drawing = (tmp_path / "h.svg").read_text()
    assert QSvgRenderer(str(tmp_path / "h.svg")).isValid()
    assert "<path" in drawing
    assert "<image" not in drawing
    page.export.copy_picture.trigger()
    assert QGuiApplication.clipboard().image().width() == 2 * plot.width()
    assert page.scan_line.note == "copied the picture"


@pytest.mark.parametrize("threshold", [None, 1e-3, 2.0**-900])
@pytest.mark.parametrize("ends", [(-1.0, 2.0), (0.0, 1e6), (-LARGEST, LARGEST), (1e-5, 1e-3)])
def test_that_scales_turn_units_into_values_and_back(ends: tuple[float, float], threshold: float | None) -> None:
    scale = Scale(*ends, threshold)
    for unit in (0.0, 0.1, 0.5, 0.9, 1.0):
        assert scale.to_unit(scale.to_value(unit)) == pytest.approx(unit, abs=1e-9)


def test_that_ticks_of_a_signed_logarithm_are_powers_of_ten() -> None:
    ticks = signed_log_ticks(-50.0, 2000.0, 1e-2, 20)
    assert 0.0 in ticks
    assert {-10.0, -0.1, 0.1, 1000.0} <= set(ticks)
    assert power_labels([-1e-5, 0.0, 0.01, 1000.0, 1e7]) == ["−1e−5", "0", "0.01", "1,000", "1e7"]
    assert signed_log_ticks(2.0, 3.0, 1e-2, 10) == []
