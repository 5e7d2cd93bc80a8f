"""The entries of an optimizer as a table: rows, order, cells, and the model over them."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from torch import nn

from tests.checkpoint.meaning.training import FrozenTwin, Plain, by_decay, one_group, recognised, train
from tests.gui.meaning.meaning_helpers import many_parameters
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.recognise import recognise_task
from viewer.gui.meaning.entry_cells import NOT_COMPUTED, What, cell, columns_of, exact_cell, tip
from viewer.gui.meaning.entry_model import EntryModel
from viewer.gui.meaning.entry_order import CHOICES, counts_task, order_task
from viewer.gui.meaning.entry_rows import EntryRows, fit_words, rows_task
from viewer.gui.slices import SliceRunner
from viewer.gui.theme import Theme
from viewer.task import run
from viewer.tensors.brief import TensorBrief
from viewer.tensors.brief_task import brief_task


def rows_of(
    content: object, folder: Path, briefs: dict[int, TensorBrief] | None = None
) -> tuple[Checkpoint, EntryRows]:
    checkpoint, recognition = recognised(content, folder)
    (optimizer,) = recognition.optimizers
    return checkpoint, run(rows_task(checkpoint, recognition, optimizer, {} if briefs is None else briefs))


def column(rows: EntryRows, title: str) -> Any:
    return next(column for column in columns_of(rows) if column.title == title)


def choice(name: str) -> Any:
    return next(choice for choice in CHOICES if choice.id == name)


def texts(rows: EntryRows, title: str) -> list[str]:
    return [cell(rows, row, column(rows, title)) for row in range(len(rows))]


def test_that_rows_have_the_names_that_were_known_when_saving(tmp_path: Path) -> None:
    training = train(Plain(), "AdamW", by_decay)
    _, rows = rows_of(training.content, tmp_path)
    assert texts(rows, "parameter") == training.truth
    assert texts(rows, "id") == [str(nth) for nth in range(len(training.truth))]
    assert texts(rows, "group") == ["0"] * len(training.groups[0]) + ["1"] * len(training.groups[1])
    assert set(texts(rows, "fits")) == {"✓ fits"}
    assert rows.members == ["exp_avg", "exp_avg_sq"]


def test_that_nothing_is_claimed_before_it_was_computed(tmp_path: Path) -> None:
    _, rows = rows_of(train(Plain(), "Adam").content, tmp_path)
    assert set(texts(rows, "step")) == {NOT_COMPUTED}
    assert set(texts(rows, "‖exp_avg‖")) == {NOT_COMPUTED}
    assert texts(rows, "exp_avg")[0] == "f32 8×4 · 128 B"


def test_that_norms_and_steps_are_torch_s_own(tmp_path: Path) -> None:
    training = train(Plain(), "Adam", steps=3)
    briefs: dict[int, TensorBrief] = {}
    checkpoint, rows = rows_of(training.content, tmp_path, briefs)
    briefs.update(run(brief_task(checkpoint, [number for row in range(len(rows)) for number in rows.tensors(row)])))
    assert set(texts(rows, "step")) == {"3"}
    for row, state in enumerate(training.content["optimizer"]["state"].values()):
        shown = float(exact_cell(rows, row, column(rows, "‖exp_avg‖")))
        assert shown == pytest.approx(float(state["exp_avg"].double().norm()), rel=1e-12)


def test_that_a_value_that_is_not_finite_is_told_in_words(tmp_path: Path) -> None:
    training = train(Plain(), "Adam")
    training.content["optimizer"]["state"][0]["exp_avg"][0] = float("nan")
    briefs: dict[int, TensorBrief] = {}
    checkpoint, rows = rows_of(training.content, tmp_path, briefs)
    briefs.update(run(brief_task(checkpoint, rows.tensors(0))))
    assert texts(rows, "‖exp_avg‖")[0] == "⚠ has NaN"
    assert "4 NaN" in tip(rows, 0, column(rows, "‖exp_avg‖"))


def test_that_an_uncertain_name_shows_its_candidates_and_sorts_last(tmp_path: Path) -> None:
    training = train(FrozenTwin(), "SGD")
    _, rows = rows_of(training.content, tmp_path)
    shown = texts(rows, "parameter")
    assert shown[0] == "? one of 2: first.weight | second.weight"
    assert shown[2:4] == ["head.weight", "head.bias"]
    assert "first.weight" in tip(rows, 0, column(rows, "parameter"))
    order = run(order_task(rows, CHOICES[0], "", column(rows, "parameter")))
    assert [row for row in order if rows.sure[row]] == list(order)[: sum(rows.sure)]
    assert list(run(order_task(rows, choice("unsure"), "", None))) == [0, 1]
    assert list(run(order_task(rows, CHOICES[0], "FIRST bias", None))) == [1]


def test_that_exchanged_states_say_that_they_do_not_fit_and_why(tmp_path: Path) -> None:
    training = train(Plain(), "Adam", named=True)
    state = training.content["optimizer"]["state"]
    state[0], state[1] = state[1], state[0]
    _, rows = rows_of(training.content, tmp_path)
    assert texts(rows, "fits")[:2] == ["✕ does not fit"] * 2
    assert "they are 8, it is 8×4" in fit_words(rows, 0)[1]
    assert list(run(order_task(rows, choice("misfits"), "", None))) == [0, 1]


def test_that_parameters_without_an_entry_and_strangers_are_listed(tmp_path: Path) -> None:
    model = Plain()
    training = train(model, "Adam", named=True)
    names = training.content["optimizer"]["param_groups"][0]["param_names"]
    missing, names[-1] = names[-1], "gone.weight"
    _, rows = rows_of(training.content, tmp_path)
    counts = dict(zip([choice.id for choice in CHOICES], run(counts_task(rows)), strict=True))
    assert (counts["strangers"], counts["unstated"]) == (1, 1)
    (stranger,) = run(order_task(rows, choice("strangers"), "", None))
    (unstated,) = run(order_task(rows, choice("unstated"), "", None))
    assert (rows.names[stranger], rows.names[unstated]) == ("gone.weight", missing)
    assert fit_words(rows, stranger)[0] == "✕ not in the model"
    assert fit_words(rows, unstated)[0] == "○ no state"
    assert rows.parameter[unstated] >= 0


def test_that_parameters_before_the_first_step_say_so(tmp_path: Path) -> None:
    model = Plain()
    optimizer = torch.optim.Adam(model.parameters())
    _, rows = rows_of({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path)
    assert set(texts(rows, "fits")) == {"○ no state yet"}
    assert set(texts(rows, "size")) == {"–"}


def test_that_a_column_sorts_both_ways_with_what_is_missing_last(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 3))
    optimizer = torch.optim.Adam(list(model[1].parameters()))
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    _, rows = rows_of({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path)
    assert [rows.is_entry(row) for row in range(4)] == [True, True, False, False]
    by_id = column(rows, "id")
    assert list(run(order_task(rows, CHOICES[0], "", by_id)))[:2] == [0, 1]
    assert list(run(order_task(rows, CHOICES[0], "", by_id, descending=True)))[:2] == [1, 0]


@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop", "Adadelta", "Rprop", "ASGD", "NAdam", "Adafactor"])
def test_that_every_cell_of_every_optimizer_has_a_text_and_a_tip(kind: str, theme: Theme, tmp_path: Path) -> None:
    _, rows = rows_of(train(Plain(), kind, one_group).content, tmp_path)
    model = EntryModel(theme)
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.show(rows, array("q", range(len(rows))))
    for at in range(model.rowCount()):
        for nth in range(model.columnCount()):
            assert isinstance(model.index(at, nth).data(), str)
            model.index(at, nth).data(Qt.ItemDataRole.ToolTipRole)
            model.index(at, nth).data(Qt.ItemDataRole.ForegroundRole)
    model.reorder(array("q", [1, 0]))
    model.values_came()
    lines = run(model.tsv_task()).splitlines()
    assert len(lines) == 3
    assert {line.count("\t") for line in lines} == {model.columnCount() - 1}
    model.show(None, array("q"))
    assert model.rowCount() == model.columnCount() == 0
    del tester


def test_that_a_hundred_thousand_rows_are_laid_out_sorted_and_filtered_in_slices(theme: Theme, qtbot: Any) -> None:
    checkpoint = many_parameters(100_000)
    recognition = run(recognise_task(checkpoint))
    (optimizer,) = recognition.optimizers
    model = EntryModel(theme)
    runner = SliceRunner(model)
    made: list[EntryRows] = []
    runner.start(rows_task(checkpoint, recognition, optimizer, {}), made.append)
    assert runner.is_running  # the first slice ends long before the rows do
    qtbot.waitUntil(lambda: not runner.is_running, timeout=30_000)
    (rows,) = made
    assert len(rows) == 100_000
    found: list[array[int]] = []
    size = next(column for column in columns_of(rows) if column.what == What.NAME)
    runner.start(order_task(rows, CHOICES[0], "layers.77 experts.3", size, descending=True), found.append)
    qtbot.waitUntil(lambda: not runner.is_running, timeout=30_000)
    model.show(rows, found[0])
    assert all(".layers.77" in rows.names[row] and "experts.3" in rows.names[row] for row in found[0])
    assert model.rowCount() == 111
    runner.stop()
