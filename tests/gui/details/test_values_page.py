"""The Values page on the engine's own tasks: what it shows, asks for, copies, and where it goes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from tests.gui.details.inline_client import DOCUMENT, Stage
from viewer.engine.protocol import Summarise
from viewer.engine.values_requests import ReadSlice
from viewer.gui.details.slice_choice import SliceChoice
from viewer.gui.details.value_model import MOST_ROWS, WAITING
from viewer.gui.details.value_text import NumberStyle
from viewer.gui.details.values_page import ValuesPage
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme


def _tensors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(300, 200, generator=generator)
    weight[5, 7] = math.nan
    return {
        "weight": weight,
        "conv": torch.randn(4, 5, 6, 7, generator=generator),
        "same": torch.randn(4, 5, 6, 7, generator=generator),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(0, 3),
        "long": torch.arange(1_500_000, dtype=torch.int32),
        "half": torch.arange(6.0).to(torch.bfloat16).reshape(2, 3),
        "spectrum": torch.randn(3, 4, generator=generator, dtype=torch.complex64),
    }


@pytest.fixture
def stage(tmp_path: Path, theme: Theme) -> Iterator[Stage]:
    stage = Stage(tmp_path, theme, _tensors())
    yield stage
    stage.bridge.close()


@pytest.fixture
def page(stage: Stage, qtbot: QtBot) -> ValuesPage:
    page = ValuesPage(stage.tools, SliceChoice())
    qtbot.addWidget(page)
    page.resize(800, 500)
    page.show()
    qtbot.waitExposed(page)
    return page


def show(page: ValuesPage, stage: Stage, qtbot: QtBot, name: str) -> None:
    page.show_node(DOCUMENT, stage.checkpoint, stage.node(name))
    page.set_active(True)
    qtbot.waitUntil(lambda: text(page, 0, 0) != WAITING)


def text(page: ValuesPage, row: int, column: int) -> object:
    return page.model.data(page.model.index(row, column))


def settle(page: ValuesPage, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not page.blocks._latest.is_busy and not page.grid._look.isActive())


def test_that_the_table_shows_the_elements(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "weight")
    assert (page.model.rowCount(), page.model.columnCount()) == (300, 200)
    weight = stage.tensors["weight"]
    for row, column in ((0, 0), (3, 4), (5, 7)):
        assert text(page, row, column) == NumberStyle().write(weight[row, column].item())
    assert text(page, 299, 199) == WAITING
    assert page.model.headerData(12, Qt.Orientation.Vertical) == "12"


def test_that_the_model_keeps_the_rules_of_models(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    tester = QAbstractItemModelTester(page.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    show(page, stage, qtbot, "half")
    show(page, stage, qtbot, "conv")
    page.bar.swap.click()
    page.bar.sliders[0].setValue(1)
    settle(page, qtbot)
    page.clear()
    del tester


def test_that_only_what_is_looked_at_is_asked_for(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "weight")
    settle(page, qtbot)
    asked = stage.client.of(ReadSlice)
    assert all(request.first_row == 0 and request.first_column == 0 for request in asked)
    page.grid.scrollToBottom()
    qtbot.waitUntil(lambda: text(page, 299, 0) != WAITING)
    assert text(page, 299, 0) == NumberStyle().write(stage.tensors["weight"][299, 0].item())
    before = len(stage.client.of(ReadSlice))
    page.grid.scrollToTop()
    settle(page, qtbot)
    assert len(stage.client.of(ReadSlice)) == before


def test_that_nothing_is_asked_while_the_page_is_not_looked_at(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    page.show_node(DOCUMENT, stage.checkpoint, stage.node("weight"))
    qtbot.wait(20)
    assert stage.client.requests == []


def test_that_a_hover_tells_the_exact_value_and_its_bits(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "weight")
    tip = page.model.data(page.model.index(2, 3), Qt.ItemDataRole.ToolTipRole)
    value = stage.tensors["weight"][2, 3].item()
    assert isinstance(tip, str)
    assert tip.split("\n")[:3] == ["[2, 3]", repr(value), value.hex()]
    page.grid.setCurrentIndex(page.model.index(2, 3))
    assert page.about.text().startswith(f"[2, 3]   {value!r}")


def test_that_axes_and_steps_choose_the_slice(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "conv")
    conv = stage.tensors["conv"]
    assert [page.bar.rows.currentText(), page.bar.columns.currentText()] == ["axis 2 (6)", "axis 3 (7)"]
    page.bar.sliders[0].setValue(2)
    page.bar.spins[1].setValue(4)
    wanted = NumberStyle().write(conv[2, 4, 1, 3].item())
    qtbot.waitUntil(lambda: text(page, 1, 3) == wanted)
    assert page.bar.spins[0].value() == 2
    page.bar.rows.setCurrentIndex(0)
    page.bar.rows.activated.emit(0)
    assert (page.model.rowCount(), page.model.columnCount()) == (4, 7)
    wanted_row = NumberStyle().write(conv[3, 4, 0, 6].item())
    qtbot.waitUntil(lambda: text(page, 3, 6) == wanted_row)
    page.bar.swap.click()
    assert (page.model.rowCount(), page.model.columnCount()) == (7, 4)


def test_that_the_slice_stays_for_the_next_tensor_of_the_same_shape(
    page: ValuesPage, stage: Stage, qtbot: QtBot
) -> None:
    show(page, stage, qtbot, "conv")
    page.bar.sliders[0].setValue(3)
    page.show_node(DOCUMENT, stage.checkpoint, stage.node("same"))
    wanted = NumberStyle().write(stage.tensors["same"][3, 0, 0, 0].item())
    qtbot.waitUntil(lambda: text(page, 0, 0) == wanted)


def test_that_an_answer_for_an_index_that_was_left_is_not_shown(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "conv")
    settle(page, qtbot)
    stage.client.is_holding = True
    page.bar.sliders[0].setValue(1)
    page.bar.sliders[0].setValue(2)
    assert text(page, 0, 0) == WAITING
    stage.client.release()
    wanted = NumberStyle().write(stage.tensors["conv"][2, 0, 0, 0].item())
    qtbot.waitUntil(lambda: text(page, 0, 0) == wanted)


def test_that_going_to_an_index_takes_axes_steps_and_cell(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "conv")
    qtbot.keyClick(page, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    page.go_to.setText("3, 4, 5, 6")
    qtbot.keyClick(page.go_to, Qt.Key.Key_Return)
    current = page.grid.currentIndex()
    assert (current.row(), current.column()) == (5, 6)
    value = stage.tensors["conv"][3, 4, 5, 6].item()
    qtbot.waitUntil(lambda: page.about.text().startswith(f"[3, 4, 5, 6]   {value!r}"))
    page.go_to.setText("9")
    qtbot.keyClick(page.go_to, Qt.Key.Key_Return)
    assert page.about.text() == "⚠ axis 0 has 4 elements, from 0 to 3"
    assert page.go_to.property("fault") is True


def test_that_rows_beyond_what_a_table_can_hold_are_gone_to(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "long")
    assert page.model.rowCount() == MOST_ROWS
    assert page.strip.text == "rows 0 … 999,999 of 1,500,000"
    page.go_to.setText("1_499_999")
    page.go_to.returnPressed.emit()
    element = page.model.element(page.grid.currentIndex())
    assert element == (1_499_999, 0)
    qtbot.waitUntil(lambda: page.about.text().startswith("[1499999]   1499999"))
    page.grid.setCurrentIndex(page.model.index(0, 0))
    first = page.model.first_row
    qtbot.keyClick(page.grid, Qt.Key.Key_Up)
    assert page.model.element(page.grid.currentIndex()) == (first - 1, 0)


@pytest.mark.parametrize(
    ("kind", "copied"),
    [
        ("tsv", "1.0\t2.0\n4.0\t5.0\n"),
        ("torch", "torch.tensor([[1.0, 2.0], [4.0, 5.0]], dtype=torch.bfloat16)"),
        ("numpy", "numpy.array([[1.0, 2.0], [4.0, 5.0]], dtype=numpy.float32)"),
    ],
)
def test_that_the_selection_is_copied(page: ValuesPage, stage: Stage, qtbot: QtBot, kind: str, copied: str) -> None:
    show(page, stage, qtbot, "half")
    page.grid.setCurrentIndex(page.model.index(0, 1))
    qtbot.keyClick(page.grid, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(page.grid, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    action = next(action for action in page.grid.actions() if action.data() == kind)
    action.trigger()
    qtbot.waitUntil(lambda: page.about.text() == "copied 4 values")
    assert QGuiApplication.clipboard().text() == copied


def test_that_too_large_a_selection_is_not_copied_but_said(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "weight")
    page.grid.selectAll()
    asked = len(stage.client.requests)
    page.copy_as("tsv")
    assert page.about.text() == "⚠ 60,000 values are selected; at most 50,000 are copied at once"
    assert len(stage.client.requests) == asked


def test_that_the_format_menu_changes_how_numbers_are_written(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "weight")
    value = stage.tensors["weight"][0, 0].item()
    menu = page.options.menu()
    assert menu is not None
    next(action for action in menu.actions() if action.data() == 8).trigger()
    next(action for action in menu.actions() if action.data() == "on").trigger()
    assert text(page, 0, 0) == NumberStyle(8, "on").write(value)


def test_that_the_style_is_kept_in_the_settings(stage: Stage, settings: Settings, qtbot: QtBot) -> None:
    tools = replace(stage.tools, settings=settings)
    for precision, notation in ((4, "auto"), (8, "on")):
        page = ValuesPage(tools, SliceChoice())
        qtbot.addWidget(page)
        assert page.model.style == NumberStyle(precision, notation)  # type: ignore[arg-type]
        menu = page.options.menu()
        assert menu is not None
        for choice in (8, "on"):
            next(action for action in menu.actions() if action.data() == choice).trigger()
    settings.set("values/exponent", "sideways")
    page = ValuesPage(tools, SliceChoice())
    qtbot.addWidget(page)
    assert page.model.style == NumberStyle(8, "auto")


def test_that_shading_is_by_the_range_of_the_whole_tensor(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "weight")
    role = Qt.ItemDataRole.BackgroundRole
    assert page.model.data(page.model.index(0, 0), role) is None
    assert stage.client.of(Summarise) == []
    page.options.shading.setChecked(True)
    weight = stage.tensors["weight"]
    row, column = divmod(int(weight.nan_to_num(0).argmax()), 200)
    page._go_to_element(row, column)
    qtbot.waitUntil(lambda: page.model.data(page.model.index(row, column), role) is not None)
    deep = page.model.data(page.model.index(row, column), role)
    assert isinstance(deep, QColor)
    assert deep.red() > deep.blue()
    nan = page.model.data(page.model.index(5, 7), role)
    assert nan is None or isinstance(nan, QColor)
    page.options.shading.setChecked(False)
    assert page.model.data(page.model.index(row, column), role) is None


def test_that_shades_follow_the_theme(page: ValuesPage, stage: Stage, qtbot: QtBot, theme: Theme) -> None:
    show(page, stage, qtbot, "half")
    page.options.shading.setChecked(True)
    role, last = Qt.ItemDataRole.BackgroundRole, page.model.index(1, 2)
    qtbot.waitUntil(lambda: page.model.data(last, role) is not None)
    light = page.model.data(last, role)
    theme.set_choice("dark")
    dark = page.model.data(last, role)
    assert isinstance(light, QColor)
    assert isinstance(dark, QColor)
    assert light.lightness() > dark.lightness()


@pytest.mark.parametrize("name", ["scalar", "spectrum", "half"])
def test_that_every_sort_of_tensor_has_a_table(page: ValuesPage, stage: Stage, qtbot: QtBot, name: str) -> None:
    show(page, stage, qtbot, name)
    tensor = stage.tensors[name]
    first = tensor.reshape(-1)[0].item()
    assert text(page, 0, 0) == NumberStyle().write(first)
    assert not page.grab().isNull()


def test_that_an_empty_tensor_gets_a_sentence(page: ValuesPage, stage: Stage) -> None:
    page.show_node(DOCUMENT, stage.checkpoint, stage.node("empty"))
    page.set_active(True)
    assert "0×3 has no elements" in page.notice.text
    assert stage.client.requests == []


def test_that_a_file_that_is_gone_says_so_and_offers_to_try_again(
    page: ValuesPage, stage: Stage, qtbot: QtBot, tmp_path: Path
) -> None:
    whole = (tmp_path / "tensors.pt").read_bytes()
    (tmp_path / "tensors.pt").write_bytes(whole[:1000])
    page.show_node(DOCUMENT, stage.checkpoint, stage.node("weight"))
    page.set_active(True)
    qtbot.waitUntil(lambda: page.notice.text.startswith("✕ "))
    assert page.notice.action == "Try again"
    assert page.model.index(0, 0) == QModelIndex()


def test_that_clearing_forgets_the_tensor(page: ValuesPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "weight")
    page.set_active(False)
    page.clear()
    assert page.model.rowCount() == 0
