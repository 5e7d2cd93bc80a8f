"""Several tensors together: one question for all, curves on the same edges, a row of figures each."""

from __future__ import annotations

from array import array
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from tests.gui.details.handmade import CheckpointBuilder, summary_of
from tests.gui.scripted_client import ScriptedClient
from viewer.checkpoint.document import Checkpoint
from viewer.engine.protocol import OpenFile
from viewer.engine.values_requests import SummariseMany
from viewer.errors import Cancelled, MalformedFile
from viewer.gui.details.overlay import MAX_SERIES, OverlayPage
from viewer.gui.details.overlay_plot import Curve
from viewer.gui.details.overlay_rows import HEADS, short_names, statistics_row
from viewer.gui.details.panel import TOGETHER, DetailsPanel
from viewer.gui.details.series import series_pen
from viewer.gui.details.ticks import signed_log_ticks
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.theme import Theme
from viewer.tensors.histogram_results import SharedHistograms
from viewer.tensors.many import MAX_TENSORS
from viewer.tensors.signed_log import signed_log

VALUES = [np.linspace(-1, 1, 50), np.linspace(0, 2, 200), np.full(8, np.nan)]
EDGES = np.linspace(-1, 2, 7)


@pytest.fixture
def scripted() -> ScriptedClient:
    return ScriptedClient()


@pytest.fixture
def page(qtbot: QtBot, theme: Theme, scripted: ScriptedClient) -> OverlayPage:
    bridge = EngineBridge(scripted, scripted.mailbox)
    panel = DetailsPanel(bridge, theme)
    qtbot.addWidget(panel)
    panel.resize(900, 700)
    panel.show()
    page = OverlayPage(bridge, theme, panel)
    page.resize(900, 700)
    page.show()
    return page


def many(n: int) -> tuple[Checkpoint, list[int]]:
    make = CheckpointBuilder(Path("/x/a.pth"))
    checkpoint = make.build({f"layer.{number}.weight": make.tensor_leaf("float32", (4,)) for number in range(n)})
    return checkpoint, list(range(1, n + 1))


def answer_of(values: list[np.ndarray]) -> SharedHistograms:
    summaries = []
    for number, one in enumerate(values):
        summary = summary_of(one, number)
        counts, _ = np.histogram(one[np.isfinite(one)], EDGES)
        histogram = replace(
            summary.histogram,
            edges=array("d", EDGES if counts.sum() else []),
            counts=array("q", counts.tolist() if counts.sum() else []),
        )
        summaries.append(replace(summary, histogram=histogram))
    return SharedHistograms(array("d", EDGES), summaries, {}, "6 bins")


def ask(qtbot: QtBot, scripted: ScriptedClient, page: OverlayPage, n: int, n_selected: int | None = None) -> int:
    checkpoint, nodes = many(n)
    before = len(scripted.requests)
    page.show_tensors(5, checkpoint, nodes, n if n_selected is None else n_selected)
    qtbot.waitUntil(lambda: len(scripted.requests) > before)
    return max(scripted.requests)


def test_that_all_tensors_are_asked_for_at_once(qtbot: QtBot, scripted: ScriptedClient, page: OverlayPage) -> None:
    job = ask(qtbot, scripted, page, 3)
    request = scripted.requests[job]
    assert isinstance(request, SummariseMany)
    assert (request.document, request.tensors) == (5, (0, 1, 2))
    assert page.notice.text == "computing …"
    assert page.words.isHidden()


def test_that_curves_are_shares_on_the_same_edges_and_figures_stand_side_by_side(
    qtbot: QtBot, scripted: ScriptedClient, page: OverlayPage
) -> None:
    job = ask(qtbot, scripted, page, 3)
    scripted.answer(job, answer_of(VALUES))
    qtbot.waitUntil(lambda: len(page.plot.curves) == 3)
    for curve, values in zip(page.plot.curves[:2], VALUES, strict=False):
        counts, _ = np.histogram(values, EDGES)
        assert list(curve.shares) == pytest.approx((100 * counts / values.size).tolist())
        assert sum(curve.shares) == pytest.approx(100)
    assert list(page.plot.curves[2].shares) == [0] * 6
    texts = page.legend.texts()
    assert [row[0] for row in texts] == ["0.weight", "1.weight", "2.weight"]
    by_head = dict(zip(HEADS, texts[1], strict=True))
    assert (by_head["elements"], by_head["min"], by_head["max"], by_head["median"]) == ("200", "0", "2", "1")
    assert dict(zip(HEADS, texts[2], strict=True))["NaN"] == "⚠ 8"


def test_that_the_pointer_tells_the_shares_of_all_in_one_bin(
    qtbot: QtBot, scripted: ScriptedClient, page: OverlayPage
) -> None:
    job = ask(qtbot, scripted, page, 2)
    scripted.answer(job, answer_of(VALUES[:2]))
    qtbot.waitUntil(lambda: len(page.plot.curves) == 2)
    qtbot.mouseMove(page.plot, QPoint(page.plot.width() // 2, page.plot.height() // 2))
    qtbot.waitUntil(lambda: page.plot.tip_text != "")
    assert page.plot.tip_text.count("\n") == 2
    assert "0.weight" in page.plot.tip_text


def test_that_a_chosen_row_is_stressed_and_a_double_click_shows_it_alone(
    qtbot: QtBot, scripted: ScriptedClient, page: OverlayPage
) -> None:
    job = ask(qtbot, scripted, page, 2)
    scripted.answer(job, answer_of(VALUES[:2]))
    qtbot.waitUntil(lambda: len(page.plot.curves) == 2)
    plain = page.plot.grab().toImage()
    page.legend.selectRow(1)
    assert page.plot.grab().toImage() != plain
    at = page.legend.visualRect(page.legend.model().index(1, 0)).center()
    qtbot.mouseClick(page.legend.viewport(), Qt.MouseButton.LeftButton, pos=at)
    with qtbot.waitSignal(page.node_requested) as asked:
        qtbot.mouseDClick(page.legend.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert asked.args == [2]


def test_that_more_than_can_be_told_apart_are_cut_and_that_is_said(
    qtbot: QtBot, scripted: ScriptedClient, page: OverlayPage
) -> None:
    job = ask(qtbot, scripted, page, 15, 17)
    request = scripted.requests[job]
    assert isinstance(request, SummariseMany)
    assert len(request.tensors) == MAX_SERIES == MAX_TENSORS
    assert page.words.text() == (
        "15 of 17 selected rows are tensors; more than 12 cannot be told apart: the first 12 are shown"
    )


def test_that_no_two_strokes_are_the_same(theme: Theme) -> None:
    pens = [series_pen(theme, place) for place in range(MAX_SERIES)]
    assert len({(pen.color().name(), pen.style()) for pen in pens}) == MAX_SERIES


def test_that_another_range_is_asked_for_and_what_it_leaves_out_is_said(
    qtbot: QtBot, scripted: ScriptedClient, page: OverlayPage
) -> None:
    ask(qtbot, scripted, page, 2)
    page.range_box.setCurrentIndex(1)
    job = max(scripted.requests)
    request = scripted.requests[job]
    assert isinstance(request, SummariseMany)
    assert request.rule.percentiles == (0.01, 0.99)
    found = answer_of(VALUES[:2])
    found.summaries[0] = replace(
        found.summaries[0], histogram=replace(found.summaries[0].histogram, underflow=3, overflow=4)
    )
    scripted.answer(job, found)
    qtbot.waitUntil(lambda: len(page.plot.curves) == 2)
    assert page.words.text() == "7 elements lie outside the range that is drawn"


def test_that_log_shares_and_a_signed_logarithm_are_drawn(
    qtbot: QtBot, scripted: ScriptedClient, page: OverlayPage
) -> None:
    job = ask(qtbot, scripted, page, 2)
    scripted.answer(job, replace(answer_of(VALUES[:2]), threshold=0.01))
    qtbot.waitUntil(lambda: len(page.plot.curves) == 2)
    pictures = [page.plot.grab().toImage()]
    page.log_box.setChecked(True)
    pictures.append(page.plot.grab().toImage())
    page.plot.show_curves(page.plot._edges, page.plot.curves)
    pictures.append(page.plot.grab().toImage())
    assert pictures[0] != pictures[1] != pictures[2]


def test_that_edges_on_a_signed_logarithm_lie_where_its_scale_puts_them(page: OverlayPage) -> None:
    plot = page.plot
    edges = [-1e200, -1.0, 0.0, 1e-3, 5e207]
    plot.show_curves(edges, [Curve("a", [25.0] * 4)], threshold=1e-3)
    area = plot._area()
    places = [plot._x(area, edge) for edge in edges]
    wanted = [signed_log(edge, 1e-3) for edge in edges]
    share = [(place - wanted[0]) / (wanted[-1] - wanted[0]) for place in wanted]
    assert places == pytest.approx([area.left() + area.width() * at for at in share])
    ticks, labels = plot._value_ticks(9)
    assert ticks == signed_log_ticks(edges[0], edges[-1], 1e-3, 9)
    assert "0" in labels


def test_that_nothing_finite_and_failures_are_said_in_the_place_of_the_plot(
    qtbot: QtBot, scripted: ScriptedClient, page: OverlayPage
) -> None:
    job = ask(qtbot, scripted, page, 2)
    nothing = [np.full(3, np.nan), np.full(4, np.inf)]
    scripted.answer(job, replace(answer_of(nothing), edges=array("d")))
    qtbot.waitUntil(lambda: page.notice.text == "None of these tensors has a finite value to draw.")
    assert len(page.legend.texts()) == 2
    job = ask(qtbot, scripted, page, 3)
    scripted.fail(job, MalformedFile("the file changed"))
    qtbot.waitUntil(lambda: page.notice.text == "the file changed")
    n = len(scripted.requests)
    assert page.notice.action == "Try again"
    page.notice.acted.emit()
    assert len(scripted.requests) == n + 1
    scripted.fail(max(scripted.requests), Cancelled("stopped"))
    qtbot.waitUntil(lambda: page.notice.text == "Stopped.")


def test_that_a_tensor_that_cannot_be_read_is_a_row_with_its_reason() -> None:
    row = statistics_row("w", "model/w", None, "the record is short")
    assert len(row) == len(HEADS)
    assert row[0].exact == "model/w"
    assert {cell.exact for cell in row[1:]} == {"the record is short"}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["m/a.0.weight", "m/a.1.weight"], ["0.weight", "1.weight"]),
        (["m/a.weight", "m/a.bias"], ["a.weight", "a.bias"]),
        (["x", "y"], ["x", "y"]),
        (["m/a", "m/a.b.c"], ["m/a", "b.c"]),
    ],
)
def test_that_names_leave_out_what_all_begin_with(paths: list[str], names: list[str]) -> None:
    assert short_names(paths) == names


def test_that_leaving_the_page_stops_what_runs(qtbot: QtBot, scripted: ScriptedClient, page: OverlayPage) -> None:
    job = ask(qtbot, scripted, page, 2)
    page.clear()
    assert scripted.cancelled == [job]


def test_that_a_real_engine_lays_tensors_over_each_other_as_torch_counts_them(
    qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    state = {"a": torch.randn(1000), "b": torch.randn(500) * 3}
    torch.save(state, tmp_path / "a.pth")
    panel = DetailsPanel(engine_bridge, theme)
    qtbot.addWidget(panel)
    panel.resize(900, 700)
    panel.show()
    opened: list[Checkpoint] = []
    document = engine_bridge.submit(OpenFile(tmp_path / "a.pth"), owner=panel, on_result=opened.append)
    qtbot.waitUntil(lambda: bool(opened), timeout=20_000)
    panel.set_document(document, opened[0])
    panel.show_several([opened[0].find("a"), opened[0].find("b")])
    page = panel.page(TOGETHER)
    assert isinstance(page, OverlayPage)
    qtbot.waitUntil(lambda: len(page.plot.curves) == 2, timeout=30_000)
    edges = np.asarray(page.plot._edges)
    for curve, values in zip(page.plot.curves, state.values(), strict=True):
        counts, _ = np.histogram(values.double().numpy(), edges)
        assert list(curve.shares) == pytest.approx((100 * counts / values.numel()).tolist())
    panel.show_node(0)
    assert panel.tab_titles[0] == "Overview"
