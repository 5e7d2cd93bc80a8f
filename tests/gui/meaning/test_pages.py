"""The tabs of models, parts and checks, and the badges of the tree, in a page with a real engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot
from torch import nn

from tests.checkpoint.meaning.training import FrozenTwin, Plain, Tied, recognised, train
from tests.gui.meaning.meaning_helpers import DOCUMENT, opened, recognised_by
from tests.gui.scripted_client import ScriptedClient
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.module_tree import module_tree
from viewer.engine.meaning_requests import Check
from viewer.errors import Cancelled
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.meaning.checks_page import ChecksPage
from viewer.gui.meaning.lora import lora_pairs
from viewer.gui.meaning.model_page import ModelPage
from viewer.gui.meaning.model_words import pair_words
from viewer.gui.meaning.module_model import ELEMENTS, NAME, ROLE, SHAPE, SIZE, ModuleIndex, ModuleModel, index_task
from viewer.gui.meaning.part_page import PartPage
from viewer.gui.meaning.tabs import CHECKS, MODEL
from viewer.gui.meaning.value_model import ValueModel
from viewer.gui.theme import Theme
from viewer.gui.tree.cells import badge, is_inferred, name_beside, tooltip
from viewer.task import run

Opener = Any


@pytest.fixture
def show(tmp_path: Path, engine_bridge: EngineBridge, theme: Theme, qtbot: QtBot) -> Opener:
    def show_content(content: object) -> DocumentPage:
        path = tmp_path / "training.pth"
        torch.save(content, path)
        return opened(path, engine_bridge, theme, qtbot)

    return show_content


def tab(page: DocumentPage, path: str, title: str) -> Any:
    """The page of a tab after a row was chosen."""
    assert page.tree is not None
    assert page.details is not None
    page.tree.go_to_path(path)
    page.details.choose_tab(title)
    assert page.details.tab == title
    return page.details.page(title)


def tree_row(page: DocumentPage, path: str) -> tuple[Any, int]:
    assert page.tree is not None
    assert page.checkpoint is not None
    table = page.tree.model.table
    return table, table.row_of_node[page.checkpoint.find(path)]


def test_that_the_tree_says_what_rows_are_and_how_sure_that_is(show: Opener) -> None:
    training = train(Plain(), "Adam", named=True)
    scheduler = torch.optim.lr_scheduler.StepLR(training.optimizer, 10)
    page = show(training.content | {"sched": scheduler.state_dict(), "global_step": 4})
    assert badge(*tree_row(page, "optimizer")) == "Adam · 1 group"
    assert not is_inferred(*tree_row(page, "optimizer"))
    assert badge(*tree_row(page, "sched")) == "scheduler (StepLR)"
    assert is_inferred(*tree_row(page, "sched"))
    assert "inferred: it has last_epoch" in tooltip(*tree_row(page, "sched"), NAME)
    assert "known: " in tooltip(*tree_row(page, "optimizer"), NAME)
    assert badge(*tree_row(page, "epoch")) == ""  # its name says it
    assert badge(*tree_row(page, "global_step")) == "step count"
    assert name_beside(*tree_row(page, "optimizer/state[1]")) == training.truth[1]
    assert page.checkpoint is not None
    assert page.checkpoint.path_of(page.checkpoint.find("optimizer/state[1]")) == "optimizer/state[1]"


def test_that_an_uncertain_entry_says_of_how_many_it_is_one(show: Opener) -> None:
    page = show(train(FrozenTwin(), "SGD").content)
    assert name_beside(*tree_row(page, "optimizer/state[0]")) == "one of 2"
    assert name_beside(*tree_row(page, "optimizer/state[2]")) == "head.weight"
    assert "first.weight, second.weight" in tooltip(*tree_row(page, "optimizer/state[0]"), NAME)
    assert name_beside(*tree_row(page, "optimizer/param_groups")) == ""


def test_that_rows_with_badges_are_painted_in_light_and_dark(show: Opener, theme: Theme) -> None:
    page = show(train(FrozenTwin(), "SGD").content)
    images = []
    for choice in ("light", "dark"):
        theme.set_choice(choice)
        images.append(page.grab().toImage())
    assert images[0] != images[1]


def test_that_a_model_shows_its_modules_with_blocks_as_one_row(show: Opener, qtbot: QtBot) -> None:
    model = nn.ModuleDict({"layers": nn.ModuleList([nn.Linear(4, 4) for _ in range(12)]), "head": nn.Linear(4, 2)})
    page = show({"model": model.state_dict(), "epoch": 1})
    shown: ModelPage = tab(page, "model", MODEL)
    qtbot.waitUntil(lambda: shown.tree is not None)
    modules = shown.view.modules
    layers = modules.index(0, NAME)
    block = modules.index(0, NAME, layers)
    assert (layers.data(), block.data()) == ("layers", "[0–11]  ×12")
    weight = modules.index(0, NAME, block)
    texts = [weight.siblingAtColumn(column).data() for column in (NAME, SHAPE, ELEMENTS, ROLE)]
    assert texts == ["weight", "4×4", "192", "weight"]
    assert weight.data(Qt.ItemDataRole.ToolTipRole).startswith("layers.[0–11].weight")
    assert layers.siblingAtColumn(ELEMENTS).data() == "240"
    shown.copy_keys()
    assert QGuiApplication.clipboard().text() == str(model.state_dict().keys())
    shown.view.setCurrentIndex(weight)
    shown.copy_name()
    assert QGuiApplication.clipboard().text() == "layers.[0–11].weight"
    shown.fold.setChecked(False)
    qtbot.waitUntil(lambda: shown.tree is not None and modules.rowCount(modules.index(0, NAME)) == 12)
    third = modules.index(3, NAME, modules.index(0, NAME))
    shown.view.setCurrentIndex(modules.index(0, NAME, third))
    qtbot.keyClick(shown.view, Qt.Key.Key_Return)
    assert page.details is not None
    assert page.details.header.path == "model/layers.3.weight"


def test_that_tied_weights_are_told(show: Opener) -> None:
    page = show({"model": Tied().state_dict(), "epoch": 1})
    shown: ModelPage = tab(page, "model", MODEL)
    assert "embedding.weight = out.weight" in shown.tied.text()


def test_that_a_tensor_without_elements_is_not_called_tied(show: Opener, qtbot: QtBot) -> None:
    page = show({"model": {"fc.weight": torch.ones(2, 3), "fc.empty": torch.empty(0, 5)}, "epoch": 1})
    shown: ModelPage = tab(page, "model", MODEL)
    qtbot.waitUntil(lambda: shown.tree is not None)
    tree = shown.tree
    assert tree is not None
    row = next(row for row in range(len(tree)) if tree.shape[row] == (0, 5))
    assert [shown.view.model().text(row, column) for column in (ELEMENTS, SIZE)] == ["0", "0 B"]


def test_that_lora_pairs_are_told_with_their_rank(tmp_path: Path) -> None:
    base = "base_model.model.layers.{}.q_proj.lora_{}.weight"
    content = {base.format(nth, side): torch.zeros(8, 32) if side == "A" else torch.zeros(16, 8)
               for nth in range(3) for side in "AB"}  # fmt: skip
    checkpoint, recognition = recognised(content, tmp_path)
    pairs = lora_pairs(checkpoint, recognition.state_dicts[0])
    assert [(pair.name, pair.rank) for pair in pairs] == [
        (f"base_model.model.layers.{nth}.q_proj", 8) for nth in range(3)
    ]
    assert pair_words(pairs).startswith("3 LoRA pairs (inferred), rank 8: ")


def test_that_the_module_model_keeps_qt_s_rules(theme: Theme, tmp_path: Path) -> None:
    checkpoint, recognition = recognised({"model": Plain().state_dict(), "x": 1}, tmp_path)
    model = ModuleModel(theme)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for folded in (True, False):
        tree = module_tree(Look(checkpoint), recognition.state_dicts[0], folded=folded)
        model.show(tree, run(index_task(tree)))
    assert model.rowCount() == 2
    model.show(None, ModuleIndex())
    assert model.rowCount() == 0
    del tester


def test_that_the_value_model_keeps_qt_s_rules_at_any_node(theme: Theme, tmp_path: Path) -> None:
    content = {"a": {"b": [1, 2, {"c": "text"}]}, "d": torch.ones(2), "e": None}
    checkpoint, _ = recognised(content, tmp_path)
    model = ValueModel(theme)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for node in range(len(checkpoint.nodes)):
        model.show(checkpoint, node)
        assert model.rowCount() == checkpoint.nodes.n_children[node]
    model.show(None, 0)
    del tester


def test_that_a_scheduler_shows_what_is_looked_for_first(show: Opener) -> None:
    training = train(Plain(), "SGD")
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(training.optimizer, T_max=50)
    page = show(training.content | {"scheduler": scheduler.state_dict()})
    shown: PartPage = tab(page, "scheduler", "Scheduler")
    facts = dict(shown.first.texts())
    assert facts["last epoch (last_epoch)"] == "0"
    assert facts["last learning rate (_last_lr)"] == "[0.01]"
    assert "inferred" in shown.why.text()


def test_that_loops_tell_how_far_they_came(show: Opener) -> None:
    counters = {"epoch_progress": {"total": {"ready": 3, "completed": 2}, "current": {"ready": 3, "completed": 1}}}
    page = show({"pytorch-lightning_version": "2.1.0", "state_dict": {}, "loops": {"fit_loop": counters}})
    shown: PartPage = tab(page, "loops", "Loops")
    assert shown.first.texts() == [
        ("fit_loop.epoch_progress.total.completed", "2"),
        ("fit_loop.epoch_progress.current.completed", "1"),
    ]


def test_that_scaler_and_random_states_have_pages_of_their_own(show: Opener) -> None:
    scaler = {"scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000,
              "_growth_tracker": 7}  # fmt: skip
    page = show(
        {"scaler": scaler, "rng": torch.get_rng_state(), "numpy": np.random.get_state(), "python": random.getstate()}
    )
    shown: PartPage = tab(page, "scaler", "Scaler")
    assert dict(shown.first.texts())["scale"] == "65536.0"
    shown = tab(page, "rng", "Random state")
    assert dict(shown.first.texts())["length"] == "5,056 bytes"
    for path in ("numpy", "python"):
        shown = tab(page, path, "Random state")
        assert dict(shown.first.texts())["generator"] == "MT19937"


def test_that_hyperparameters_are_a_tree_with_long_text_in_a_viewer(show: Opener) -> None:
    text = "first line\n" + "many words " * 30
    page = show({"config": {"optim": {"lr": 0.25, "betas": [0.9, 0.95]}, "notes": text}, "w": torch.ones(1)})
    shown: PartPage = tab(page, "config", "Hyperparameters")
    values = shown.tree.values
    optim = values.index(0, 0)
    assert (optim.data(), values.index(0, 1, optim).data()) == ("optim", "0.25")
    assert shown.value.isHidden()
    shown.tree.setCurrentIndex(values.index(1, 0))
    assert not shown.value.isHidden()
    assert shown.value.shown == text
    shown.tree.setCurrentIndex(values.index(0, 0, optim))
    assert shown.value.isHidden()
    shown.tree.copy_value()
    assert QGuiApplication.clipboard().text() == "0.25"


def test_that_checks_find_what_is_wrong_and_lead_there(show: Opener, qtbot: QtBot) -> None:
    training = train(Plain(), "Adam", named=True)
    state = training.content["optimizer"]["state"]
    state[0], state[1] = state[1], state[0]
    state[2]["exp_avg"][0] = float("nan")
    page = show(training.content)
    assert page.details is not None
    page.tree.go_to_path("epoch")  # type: ignore[union-attr]
    page.show_whole(CHECKS)
    assert page.details.tab == CHECKS
    shown = page.details.page(CHECKS)
    assert isinstance(shown, ChecksPage)
    qtbot.waitUntil(lambda: shown.report is not None, timeout=60_000)
    assert [box.finding.check for box in shown.boxes] == ["moments that do not fit"]
    assert "not read" in shown.made.text()
    shown.check.click()
    qtbot.waitUntil(lambda: not shown.is_running, timeout=60_000)
    assert {box.finding.check for box in shown.boxes} == {"moments that do not fit", "non-finite values"}
    assert shown.summary.text() == "✕ 2 errors"
    box = next(box for box in shown.boxes if box.finding.check == "non-finite values")
    box.copy.click()
    assert QGuiApplication.clipboard().text() == box.finding.remedy
    assert box.nodes.paths() == ["optimizer/state[2]/exp_avg"]
    box.nodes.setCurrentIndex(box.nodes.model().index(0, 0))
    box.nodes._go_to_current()
    assert page.details.header.path == "optimizer/state[2]/exp_avg"


def test_that_checks_show_progress_and_can_be_cancelled(
    client: ScriptedClient, bridge: EngineBridge, theme: Theme, tmp_path: Path, qtbot: QtBot
) -> None:
    checkpoint, _ = recognised({"w": torch.ones(2)}, tmp_path)
    recognised_by(client, bridge, checkpoint, bridge, qtbot)
    page = ChecksPage(bridge, theme)
    qtbot.addWidget(page)
    page.show_node(DOCUMENT, checkpoint, 0)
    page.start()
    (job,) = client.jobs_of(Check)
    client.report(job, 50, 100)
    qtbot.waitUntil(lambda: page.bar.value() == 500)
    assert not page.cancel.isHidden()
    page.cancel.click()
    assert job in client.cancelled
    client.fail(job, Cancelled("cancelled"))
    qtbot.waitUntil(lambda: not page.is_running)
    assert page.amount.text() == "stopped"
    assert page.cancel.isHidden()
    page.clear()


def test_that_a_file_that_is_one_model_begins_with_its_overview(show: Opener) -> None:
    page = show(Plain().state_dict())
    assert page.details is not None
    assert MODEL in page.details.tab_titles
    assert page.details.tab == "Overview"


def test_that_the_file_as_a_whole_can_be_shown_again(show: Opener) -> None:
    page = show(train(Plain(), "SGD").content)
    assert page.tree is not None
    assert page.details is not None
    page.tree.go_to_path("epoch")
    page.show_whole()
    assert page.details.node == 0
    assert page.tree.current_node is None
    page.tree.go_to_path("epoch")
    assert page.details.header.path == "epoch"
