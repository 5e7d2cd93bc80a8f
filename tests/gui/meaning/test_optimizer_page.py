"""The Optimizer tab in a page with a real engine: names, norms, derived values, jumps, copying."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from tests.checkpoint.meaning.training import Plain, Training, by_decay, train
from tests.gui.meaning.meaning_helpers import (
    DOCUMENT,
    column_texts,
    many_parameters,
    opened,
    optimizer_page,
    recognised_by,
)
from tests.gui.scripted_client import ScriptedClient
from viewer.engine.meaning_requests import Brief, ScaleUpdate
from viewer.errors import Cancelled
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.meaning.entry_cells import NOT_COMPUTED
from viewer.gui.meaning.optimizer_page import OptimizerPage
from viewer.gui.meaning.tabs import OPTIMIZER
from viewer.gui.theme import Theme


@pytest.fixture
def training() -> Training:
    return train(Plain(), "AdamW", by_decay, steps=4)


@pytest.fixture
def page(training: Training, tmp_path: Path, engine_bridge: EngineBridge, theme: Theme, qtbot: QtBot) -> DocumentPage:
    path = tmp_path / "training.pth"
    torch.save(training.content, path)
    return opened(path, engine_bridge, theme, qtbot)


def test_that_an_optimizer_and_all_that_is_in_it_has_the_tab(page: DocumentPage) -> None:
    assert page.tree is not None
    assert page.details is not None
    for path in ("optimizer", "optimizer/state", "optimizer/state[0]", "optimizer/state[0]/exp_avg"):
        page.tree.go_to_path(path)
        assert OPTIMIZER in page.details.tab_titles, path
    page.tree.go_to_path("optimizer")
    assert page.details.tab == OPTIMIZER
    page.tree.go_to_path("model")
    assert OPTIMIZER not in page.details.tab_titles


def test_that_groups_show_their_differences(page: DocumentPage, training: Training, qtbot: QtBot) -> None:
    shown = optimizer_page(page, "optimizer", qtbot)
    groups = shown.groups.groups
    assert groups.names[0] == "weight_decay"  # where the groups differ comes first
    table = [
        [groups.index(row, column).data() for column in range(groups.columnCount())]
        for row in range(groups.rowCount())
    ]
    assert table[0] == ["parameters", *(str(len(group)) for group in training.groups)]
    assert table[1] == ["≠ weight_decay", "0.01", "0"]
    assert ["lr", "0.001", "0.001"] in table
    shown.groups.copy_all()
    assert "weight_decay\t0.01\t0" in QGuiApplication.clipboard().text()
    assert "2 groups" in shown.head.text()
    assert "times the" in shown.head.text()  # optimizer against model
    assert "by order and shapes" in shown.naming.text()


def test_that_what_is_in_sight_is_computed_and_equals_torch(
    page: DocumentPage, training: Training, qtbot: QtBot
) -> None:
    shown = optimizer_page(page, "optimizer", qtbot)
    qtbot.waitUntil(lambda: NOT_COMPUTED not in column_texts(shown, "‖exp_avg_sq‖"), timeout=60_000)
    assert set(column_texts(shown, "step")) == {"4"}
    norms = [float(text.replace("−", "-")) for text in column_texts(shown, "‖exp_avg_sq‖")]
    truth = [float(state["exp_avg_sq"].norm()) for state in training.content["optimizer"]["state"].values()]
    assert norms == pytest.approx(truth, rel=1e-4)


def test_that_the_effective_step_is_that_of_torch(page: DocumentPage, training: Training, qtbot: QtBot) -> None:
    shown = optimizer_page(page, "optimizer/state[2]", qtbot)
    qtbot.waitUntil(lambda: len(shown.details.facts.texts()) == 3, timeout=60_000)
    qtbot.waitUntil(lambda: shown.details.facts.texts()[1][1] != "–", timeout=60_000)
    state = training.content["optimizer"]["state"][2]
    group = training.content["optimizer"]["param_groups"][0]
    beta1, beta2 = group["betas"]
    mean = state["exp_avg"].double() / (1 - beta1**4)
    variance = state["exp_avg_sq"].double() / (1 - beta2**4)
    step = group["lr"] * mean / (variance.sqrt() + group["eps"])
    (_, root), (_, rms), (_, largest) = shown.details.facts.texts()
    values = [float(text.replace("−", "-")) for text in (root, rms, largest)]
    assert values == pytest.approx(
        [math.sqrt(float(variance.mean())), math.sqrt(float(step.square().mean())), float(step.abs().max())], rel=1e-4
    )
    assert all(label.startswith("derived") for label, _ in shown.details.facts.texts())
    note = shown.details._note.text()
    assert "lr · m_hat / (√v_hat + eps)" in note
    assert "step 4" in note


def test_that_a_row_leads_to_its_parameter_and_back(page: DocumentPage, training: Training, qtbot: QtBot) -> None:
    assert page.tree is not None
    assert page.details is not None
    shown = optimizer_page(page, "optimizer/state[1]", qtbot)
    assert shown.view.current_row == 1
    shown.view.setFocus()
    qtbot.keyClick(shown.view, Qt.Key.Key_Return)
    assert page.details.header.path == f"model/{training.truth[1]}"
    page.tree.go_to_state()
    assert page.details.header.path == "optimizer/state[1]"
    page.tree.go_to_parameter()
    assert page.details.header.path == f"model/{training.truth[1]}"
    assert "Go to optimizer state" in [action.text() for action in page.tree.make_menu().actions()]
    page.tree.go_to_path("optimizer/state[1]/exp_avg")
    assert "Go to parameter" in [action.text() for action in page.tree.make_menu().actions()]
    page.details.choose_tab(OPTIMIZER)
    shown.view.choose_row(0)
    qtbot.keyClick(shown.view, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert page.details.header.path == "optimizer/state[0]"


def test_that_a_row_without_a_counterpart_says_so(page: DocumentPage, qtbot: QtBot) -> None:
    assert page.tree is not None
    page.tree.go_to_path("epoch")
    with qtbot.waitSignal(page.said) as said:
        page.tree.go_to_state()
    assert said.args == ["There is no optimizer state for the current row"]


def test_that_filter_sort_and_chips_narrow_what_is_copied(
    page: DocumentPage, training: Training, qtbot: QtBot
) -> None:
    shown = optimizer_page(page, "optimizer", qtbot)
    shown.filter.setText("WEIGHT inner")
    wanted = [name for name in training.truth if "weight" in name and "inner" in name]
    qtbot.waitUntil(lambda: column_texts(shown, "parameter") == wanted)
    shown.view.sortByColumn(0, Qt.SortOrder.DescendingOrder)
    qtbot.waitUntil(lambda: column_texts(shown, "parameter") == wanted[::-1])
    shown.copy_all()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert [line.split("\t")[1] for line in lines] == ["parameter", *wanted[::-1]]
    assert shown.count.text() == f"{len(wanted)} of {len(training.truth)}"
    page.tree.go_to_path("optimizer/state[0]")  # type: ignore[union-attr]  # hidden by the filter, which gives way
    row = training.truth.index(training.truth[0])
    qtbot.waitUntil(lambda: shown.view.current_row == row)


def test_that_norms_come_in_batches_and_stop_on_demand(
    client: ScriptedClient, bridge: EngineBridge, theme: Theme, qtbot: QtBot
) -> None:
    checkpoint = many_parameters(1_500)
    page = OptimizerPage(recognised_by(client, bridge, checkpoint, bridge, qtbot), bridge, theme)
    qtbot.addWidget(page)
    page.show_node(DOCUMENT, checkpoint, checkpoint.find("optimizer"))
    qtbot.waitUntil(lambda: page.view.entries.rows is not None)
    page.compute.click()
    first = client.jobs_of(Brief)[-1]
    request = client.requests[first]
    assert isinstance(request, Brief)
    assert 1_000 <= len(request.tensors) < 1_010
    assert page.compute.text().startswith("Stop")
    client.answer(first, {})
    qtbot.waitUntil(lambda: client.jobs_of(Brief)[-1] != first)
    second = client.jobs_of(Brief)[-1]
    page.compute.click()
    assert second in client.cancelled
    client.fail(second, Cancelled("cancelled"))
    qtbot.waitUntil(lambda: page.compute.text() == "Compute norms")
    assert client.jobs_of(Brief)[-1] == second
    page.clear()


def test_that_a_large_entry_is_derived_only_when_asked(
    client: ScriptedClient, bridge: EngineBridge, theme: Theme, qtbot: QtBot
) -> None:
    from tests.checkpoint.meaning.handmade import Columns

    columns = Columns()
    state = {0: {"step": 3, "exp_avg": columns.tensor(4096, 4096), "exp_avg_sq": columns.tensor(4096, 4096)}}
    group = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "amsgrad": False, "weight_decay": 0, "params": [0]}
    root = {"model": {"w.weight": columns.tensor(4096, 4096)}, "optimizer": {"state": state, "param_groups": [group]}}
    checkpoint = columns.checkpoint(root)
    page = OptimizerPage(recognised_by(client, bridge, checkpoint, bridge, qtbot), bridge, theme)
    qtbot.addWidget(page)
    page.resize(900, 700)
    page.show()
    page.show_node(DOCUMENT, checkpoint, checkpoint.find("optimizer/state[0]"))
    qtbot.waitUntil(lambda: page.view.current_row == 0)
    assert not client.jobs_of(ScaleUpdate)
    assert page.details.compute.isVisible()
    page.details.compute.click()
    (job,) = client.jobs_of(ScaleUpdate)
    request = client.requests[job]
    assert isinstance(request, ScaleUpdate)
    assert (request.lr, request.betas, request.eps, request.step) == (0.1, (0.9, 0.99), 1e-8, 3.0)
    page.clear()
