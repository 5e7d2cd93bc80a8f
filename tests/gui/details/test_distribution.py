"""The Distribution page: what it asks of the engine, and what it makes of the answers."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.gui.details.handmade import DOCUMENT, HandClient, summary_of
from viewer.checkpoint.document import Checkpoint
from viewer.errors import DeviceProblem, EngineLost
from viewer.gui.details.distribution_bar import AUTO, auto_bins
from viewer.gui.details.panel import DISTRIBUTION, OVERVIEW, DetailsPanel
from viewer.gui.format import format_number
from viewer.tensors.results import Histogram, PartSummary, TensorSummary

WEIGHT = "model/layer1.0.conv1.weight"
BIAS = "model/layer1.0.bn1.weight"


def values_of(checkpoint: Checkpoint, path: str, seed: int = 0) -> np.ndarray:
    tensor = checkpoint.tensor_of_node(checkpoint.find(path))
    assert tensor is not None
    return np.random.default_rng(seed).normal(0, 0.05, tensor.shape).astype(np.float32)


def number_of(checkpoint: Checkpoint, path: str) -> int:
    number = checkpoint.nodes.value[checkpoint.find(path)]
    assert isinstance(number, int)
    return number


def open_at(panel: DetailsPanel, checkpoint: Checkpoint, path: str) -> None:
    panel.set_document(DOCUMENT, checkpoint)
    panel.show_node(checkpoint.find(path))


def answer(client: HandClient, checkpoint: Checkpoint, path: str, **choices: object) -> TensorSummary:
    """Answer the newest question with the summary of these values."""
    request = client.asked[client.last]
    summary = summary_of(
        values_of(checkpoint, path), request.tensor, bins=request.bins, value_range=request.value_range
    )
    client.answer(client.last, summary)
    return summary


def test_that_the_engine_is_asked_for_the_tensor_that_is_shown(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    assert panel.tab == DISTRIBUTION
    request = client.asked[client.last]
    assert (request.document, request.tensor, request.device) == (DOCUMENT, number_of(checkpoint, WEIGHT), "cpu")
    assert request.bins == 192  # the square root of 36,864
    assert request.value_range is None


def test_that_nothing_is_asked_while_another_tab_is_looked_at(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, "epoch")
    assert client.asked == {}
    panel.show_node(checkpoint.find(WEIGHT))
    panel.choose_tab(OVERVIEW)
    asked = len(client.asked)
    panel.show_node(checkpoint.find(BIAS))
    assert len(client.asked) == asked
    panel.choose_tab(DISTRIBUTION)
    assert client.asked[client.last].tensor == number_of(checkpoint, BIAS)


def test_that_figures_and_histogram_are_those_of_the_summary(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    page = panel.distribution
    assert page.grid.cell("mean").value_text == "…"
    summary = answer(client, checkpoint, WEIGHT)
    statistics = summary.statistics
    assert statistics.mean is not None
    assert statistics.std is not None
    assert page.grid.cell("count").value_text == "36,864"
    assert page.grid.cell("mean").value_text == format_number(statistics.mean)
    assert page.grid.cell("std").value_text == format_number(statistics.std)
    plot = page.pane.plot
    assert plot is not None
    assert page.pane.shows_plot
    assert plot.canvas.heights().tolist() == list(summary.histogram.counts)
    assert page.bar.info.startswith("192 bins · width ")
    assert page.bar.info.endswith("full range")
    assert panel.header.facts.endswith("saved on cuda:0 · computed on cpu")


def test_that_a_stale_answer_is_dropped(panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient) -> None:
    open_at(panel, checkpoint, WEIGHT)
    old = client.last
    panel.show_node(checkpoint.find(BIAS))
    assert old in client.cancelled
    client.answer(old, summary_of(values_of(checkpoint, WEIGHT), number_of(checkpoint, WEIGHT)))
    assert panel.distribution.grid.cell("count").value_text == "…"
    client.progress(old, 1, 2)
    assert panel.distribution.scan_line.amount == ""
    answer(client, checkpoint, BIAS)
    assert panel.distribution.grid.cell("count").value_text == "64"


def test_that_an_answer_after_turning_to_a_plain_value_is_dropped(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    old = client.last
    panel.show_node(checkpoint.find("epoch"))
    assert old in client.cancelled
    client.answer(old, summary_of(values_of(checkpoint, WEIGHT), 0))
    assert panel.tab == "Value"
    assert panel.distribution.grid.cell("count").value_text == "…"


def test_that_a_tensor_seen_before_is_not_asked_for_again(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    answer(client, checkpoint, WEIGHT)
    panel.show_node(checkpoint.find(BIAS))
    answer(client, checkpoint, BIAS)
    asked = len(client.asked)
    panel.show_node(checkpoint.find(WEIGHT))
    assert len(client.asked) == asked
    assert panel.distribution.grid.cell("count").value_text == "36,864"
    panel.set_device("cuda:1")
    assert client.asked[client.last].device == "cuda:1"


def test_that_another_number_of_bins_is_asked_for(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    answer(client, checkpoint, WEIGHT)
    panel.distribution.bar.choose_bins(1024)
    assert client.asked[client.last].bins == 1024
    answer(client, checkpoint, WEIGHT)
    assert panel.distribution.bar.info.startswith("1,024 bins")
    panel.distribution.bar.choose_bins(AUTO)
    assert panel.distribution.bar.info.startswith("192 bins")


@pytest.mark.parametrize(("numel", "bins"), [(0, 16), (1, 16), (64, 16), (257, 17), (36_864, 192), (10**30, 256)])
def test_that_automatic_bins_are_the_square_root_within_bounds(numel: int, bins: int) -> None:
    assert auto_bins(numel) == bins


def test_that_non_finite_counts_stand_beside_the_plot(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, BIAS)
    values = values_of(checkpoint, BIAS)
    values[:3] = np.nan
    values[5] = np.inf
    client.answer(client.last, summary_of(values, 1))
    page = panel.distribution
    assert page.scan_line.note == "⚠ not in the plot: 3 NaN, 1 +inf"
    assert page.grid.cell("NaN").value_text == "⚠ 3"
    plot = page.pane.plot
    assert plot is not None
    assert plot.canvas.heights().sum() == 60


@pytest.mark.parametrize(
    ("fill", "sentence"),
    [
        ([np.nan] * 64, "All 64 elements are NaN"),
        ([np.nan], "The only element is NaN"),
        ([-np.inf], "The only element is −inf"),
        ([np.nan] * 60 + [np.inf] * 4, "None of the 64 elements is finite: 60 NaN, 4 +inf"),
    ],
)
def test_that_a_tensor_without_finite_values_gets_a_sentence(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient, fill: list[float], sentence: str
) -> None:
    open_at(panel, checkpoint, BIAS)
    client.answer(client.last, summary_of(np.array(fill, dtype=np.float32), 1))
    assert not panel.distribution.pane.shows_plot
    assert panel.distribution.pane.notice.text.startswith(sentence)


def test_that_an_empty_tensor_gets_a_sentence_without_asking(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, "model/empty")
    assert client.asked == {}
    assert "0×3 has no elements" in panel.distribution.pane.notice.text
    assert panel.distribution.grid.cell("count").value_text == "0"


def test_that_a_tensor_that_cannot_be_read_says_why_without_asking(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, "model/broken")
    assert client.asked == {}
    assert "data/5 ends after 100 of 256 bytes" in panel.distribution.pane.notice.text


def test_that_a_constant_tensor_is_one_bar_and_a_sentence(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, BIAS)
    client.answer(client.last, summary_of(np.full(64, 0.5, dtype=np.float32), 1))
    page = panel.distribution
    assert page.scan_line.note == "All 64 elements are 0.5"
    plot = page.pane.plot
    assert plot is not None
    assert plot.canvas.heights().tolist() == [64]
    plot.point_at(0)
    assert plot.tip_text == "= 0.5\n64 of 64 · 100 %"


def test_that_progress_and_partial_counts_are_shown_while_a_scan_runs(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient, qtbot: QtBot
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    page = panel.distribution
    job = client.last
    client.progress(job, 40_960, 147_456)
    qtbot.waitUntil(lambda: page.scan_line.amount == "40.0 KB of 144 KB")
    whole = summary_of(values_of(checkpoint, WEIGHT), 0, bins=192)
    half = TensorSummary(
        0,
        "float32",
        "value",
        whole.statistics,
        Histogram(whole.histogram.edges, array("q", [count // 2 for count in whole.histogram.counts])),
        complete=False,
    )
    client.progress(job, 80_000, 147_456, half)
    plot = page.pane.plot
    assert plot is not None
    assert plot.canvas.heights().sum() == sum(half.histogram.counts)
    assert page.scan_line.note == "counts so far"
    plot.set_range(0.0, 0.05)
    client.answer(job, whole)
    assert plot.canvas.heights().sum() == 36_864
    assert plot.visible_range() == (0.0, 0.05)
    assert page.scan_line.amount == ""
    assert page.scan_line.note == ""


def test_that_statistics_come_before_the_histogram_is_counted(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    whole = summary_of(values_of(checkpoint, WEIGHT), 0)
    client.progress(
        client.last, 1, 2, TensorSummary(0, "float32", "value", whole.statistics, Histogram(), complete=False)
    )
    assert panel.distribution.grid.cell("count").value_text == "36,864"
    assert panel.distribution.pane.plot is None


def test_that_a_scan_can_be_stopped_and_taken_up_again(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    job = client.last
    panel.distribution.scan_line.cancel_wanted.emit()
    assert client.cancelled == [job]
    client.fail_cancelled(job)
    notice = panel.distribution.pane.notice
    assert notice.text.startswith("Stopped")
    assert notice.action == "Compute"
    notice.acted.emit()
    assert client.last > job


@pytest.mark.parametrize(
    "error",
    [
        DeviceProblem("cuda:0 has no free memory", advice="Choose cpu in the status bar"),
        EngineLost("the engine was killed", advice="It was started again; try again"),
    ],
)
def test_that_a_failure_says_what_to_do_and_offers_to_try_again(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient, error: DeviceProblem | EngineLost
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    job = client.last
    client.fail(job, error)
    notice = panel.distribution.pane.notice
    assert notice.text == f"✕ {error}"
    assert panel.distribution.grid.cell("mean").value_text == "–"
    assert notice.action == "Try again"
    notice.acted.emit()
    assert client.last == job + 1


def test_that_zooming_in_asks_for_finer_bins_and_draws_them(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient, qtbot: QtBot
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    answer(client, checkpoint, WEIGHT)
    first = client.last
    plot = panel.distribution.pane.plot
    assert plot is not None
    plot.set_range(0.01, 0.02)
    plot.set_range(0.010, 0.018)
    qtbot.waitUntil(lambda: client.last == first + 1)  # one question for both steps
    low, high = client.asked[client.last].value_range or (0.0, 0.0)
    assert low == pytest.approx(0.006)
    assert high == pytest.approx(0.022)
    answer(client, checkpoint, WEIGHT)
    assert plot.bins is not None
    assert plot.bins.low == low
    values = values_of(checkpoint, WEIGHT).astype(np.float64)
    assert list(plot.bins.counts) == np.histogram(values, client.asked[client.last].bins, (low, high))[0].tolist()
    assert panel.distribution.bar.info.endswith("0.01 … 0.018")
    plot.reset()
    assert plot.bins.low != low
    assert panel.distribution.bar.info.endswith("full range")


def test_that_finer_bins_for_a_view_that_was_left_are_cancelled(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient, qtbot: QtBot
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    answer(client, checkpoint, WEIGHT)
    first = client.last
    plot = panel.distribution.pane.plot
    assert plot is not None
    plot.set_range(0.01, 0.02)
    qtbot.waitUntil(lambda: client.last == first + 1)
    plot.reset()
    assert client.cancelled == [first + 1]


def test_that_whole_numbers_get_evenly_filled_bins(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, "model/mask")
    values = np.random.default_rng(0).integers(0, 7, (32, 32))
    client.answer(client.last, summary_of(values, 7, bins=32))
    request = client.asked[client.last]
    assert (request.value_range, request.bins) == ((-0.5, 6.5), 7)
    client.answer(client.last, summary_of(values, 7, bins=7, value_range=(-0.5, 6.5)))
    plot = panel.distribution.pane.plot
    assert plot is not None
    assert plot.canvas.heights().tolist() == np.bincount(values.reshape(-1), minlength=7).tolist()
    plot.point_at(3)
    assert plot.tip_text.startswith("= 3\n")


def test_that_the_parts_of_complex_values_can_be_chosen(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, "model/spectrum")
    rng = np.random.default_rng(5)
    real, imaginary = rng.normal(size=128), rng.normal(size=128)
    parts = [summary_of(values, 0) for values in (real, imaginary)]
    whole = summary_of(np.hypot(real, imaginary), 0)
    client.answer(
        client.last,
        TensorSummary(
            0,
            "complex64",
            "magnitude",
            whole.statistics,
            whole.histogram,
            tuple(
                PartSummary(name, part.statistics, part.histogram)
                for name, part in zip(("real", "imaginary"), parts, strict=True)
            ),
        ),
    )
    page = panel.distribution
    plot = page.pane.plot
    assert plot is not None
    assert plot.canvas.heights().tolist() == list(whole.histogram.counts)
    page.bar.choose_part(2)
    assert plot.canvas.heights().tolist() == list(parts[1].histogram.counts)
    assert parts[1].statistics.mean is not None
    assert page.grid.cell("mean").value_text == format_number(parts[1].statistics.mean)


def test_that_log_counts_stay_chosen_for_the_next_tensor(
    panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient
) -> None:
    open_at(panel, checkpoint, WEIGHT)
    panel.distribution.bar.choose_log_counts(True)
    answer(client, checkpoint, WEIGHT)
    plot = panel.distribution.pane.plot
    assert plot is not None
    assert plot.log_counts
    panel.show_node(checkpoint.find(BIAS))
    answer(client, checkpoint, BIAS)
    assert plot.log_counts
    assert plot.shows_all


def test_that_the_drawn_bins_copy_as_lines(panel: DetailsPanel, checkpoint: Checkpoint, client: HandClient) -> None:
    open_at(panel, checkpoint, WEIGHT)
    summary = answer(client, checkpoint, WEIGHT)
    panel.distribution.export.copy_numbers.trigger()
    head, *lines = QGuiApplication.clipboard().text().splitlines()
    assert head == "low\thigh\tcount\twhat"
    assert [line.split("\t")[2:] for line in lines[-5:]] == [
        ["0", kind] for kind in ("below", "above", "nan", "+inf", "-inf")
    ]
    lines = lines[:-5]
    assert [int(line.split("\t")[2]) for line in lines] == list(summary.histogram.counts)
    assert [float(line.split("\t")[0]) for line in lines] == list(summary.histogram.edges)[:-1]
