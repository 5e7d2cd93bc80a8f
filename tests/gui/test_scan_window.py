"""The scan as a person uses it: one command, columns and filters that fill, and a way back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from pytestqt.qtbot import QtBot

from tests.gui.checkpoints import Tensor, make_checkpoint
from tests.gui.scan_rows import scan_row_of
from tests.gui.scripted_client import ScriptedClient
from viewer.engine.protocol import OpenFile
from viewer.engine.values_requests import ClearScanCache, ScanAll
from viewer.errors import Cancelled
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.scan import ScanState
from viewer.gui.scan_troubles import ANY_TROUBLE, Trouble
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.tree.columns import AFTER_SCAN, SCANNED, Column
from viewer.gui.tree.panel import TreePanel
from viewer.gui.tree.selection import MAX_RANGES
from viewer.gui.window import MainWindow
from viewer.tensors.scan_results import ScanBatch, ScanTotals

TREE = {"model": {"fc.weight": Tensor((2, 2)), "fc.bias": Tensor((2,)), "head": Tensor((3,))}, "epoch": 12}
VALUES = [np.array([[1.0, np.nan], [3.0, 4.0]]), np.array([-9.0, 9.0]), np.zeros(3)]


@pytest.fixture
def window(qtbot: QtBot, bridge: EngineBridge, theme: Theme, settings: Settings) -> MainWindow:
    window = MainWindow(bridge, theme, settings)
    qtbot.addWidget(window)
    window.resize(1400, 800)
    window.show()
    return window


@pytest.fixture
def live_window(qtbot: QtBot, engine_bridge: EngineBridge, theme: Theme, settings: Settings) -> Iterator[MainWindow]:
    window = MainWindow(engine_bridge, theme, settings)
    qtbot.addWidget(window)
    window.show()
    yield window
    window.close()


@pytest.fixture
def page(qtbot: QtBot, window: MainWindow, client: ScriptedClient) -> DocumentPage:
    window.documents.open_paths([Path("/x/a.pth")])
    page = window.documents.page
    assert page is not None
    with qtbot.waitSignal(page.filled):
        client.answer(client.jobs_of(OpenFile)[-1], make_checkpoint(TREE, "/x/a.pth"))
    return page


def tree_of(page: DocumentPage) -> TreePanel:
    assert page.tree is not None
    return page.tree


def scan(qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage) -> None:
    """Scan, with the answers of `VALUES`."""
    window.actions_by_id["scan"].trigger()
    job = client.jobs_of(ScanAll)[-1]
    rows = [scan_row_of(number, values) for number, values in enumerate(VALUES)]
    with qtbot.waitSignal(page.scan.rows_came):
        client.report(job, 40, 40, partial=ScanBatch(rows))
    with qtbot.waitSignal(page.scan.changed):
        client.answer(job, ScanTotals(3, 0, 0, 40))


def names(page: DocumentPage) -> list[str]:
    model = tree_of(page).model
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def matches(page: DocumentPage) -> int | None:
    return tree_of(page).model.shape.n_matches


def test_that_the_command_scans_and_its_columns_come_with_it(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    tree = tree_of(page)
    assert tree.view.columns.shown[-1] == Column.SIZE
    assert tree.values.box.isHidden()
    window.actions_by_id["scan"].trigger()
    assert client.requests[client.jobs_of(ScanAll)[0]] == ScanAll(1, "cpu")
    assert tree.view.columns.shown[-len(AFTER_SCAN) :] == tuple(sorted(AFTER_SCAN))
    assert tree.values.foot.text == "0 of 3 tensors scanned"
    scan(qtbot, window, client, page)
    assert page.scan.state is ScanState.DONE
    assert tree.values.foot.text == ""
    row = tree.model.table.row_of_node[page.checkpoint.find("model/fc.weight")]  # type: ignore[union-attr]
    assert tree.model.index_of(row, Column.MAX).data() == "4"
    assert "NaN (1)" in [tree.values.box.itemText(index) for index in range(tree.values.box.count())]


def test_that_the_tree_takes_the_room_that_the_columns_need(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    before = page.tree_width
    scan(qtbot, window, client, page)
    assert before < page.tree_width <= window.width() * 3 // 5 + 1


def test_that_a_scan_is_stopped_and_gone_on_with_below_the_tree(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    window.actions_by_id["scan"].trigger()
    foot = tree_of(page).values.foot
    assert foot.button.text() == "Stop"
    qtbot.mouseClick(foot.button, Qt.MouseButton.LeftButton)
    job = client.jobs_of(ScanAll)[-1]
    assert client.cancelled == [job]
    with qtbot.waitSignal(page.scan.changed):
        client.fail(job, Cancelled("stopped"))
    assert foot.text == "scan stopped: 0 of 3 tensors scanned"
    assert foot.button.text() == "Go on"
    qtbot.mouseClick(foot.button, Qt.MouseButton.LeftButton)
    assert len(client.jobs_of(ScanAll)) == 2


def test_that_a_condition_on_values_says_that_they_are_not_scanned_yet_and_works_once_they_are(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    tree = tree_of(page)
    tree.filter_edit.setText("|x|>5")
    qtbot.waitUntil(lambda: "not scanned yet" in tree.words)
    scan(qtbot, window, client, page)
    qtbot.waitUntil(lambda: matches(page) == 1)
    assert tree.words == ""
    qtbot.keyClick(tree.filter_edit, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: matches(page) is None)


def test_that_a_filter_that_finds_nothing_while_a_scan_runs_says_so_far(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    tree = tree_of(page)
    window.actions_by_id["scan"].trigger()
    tree.filter_edit.setText("has:nan")
    qtbot.waitUntil(lambda: tree.words.startswith("No row matches the filter so far: the scan goes on."))
    job = client.jobs_of(ScanAll)[-1]
    with qtbot.waitSignal(page.scan.rows_came):
        client.report(job, 16, 40, partial=ScanBatch([scan_row_of(0, VALUES[0])]))
    qtbot.waitUntil(lambda: matches(page) == 1)  # found without another key
    tree.filter_edit.setText("no such name")
    qtbot.waitUntil(lambda: tree.words.startswith("No row matches the filter.\n"))
    with qtbot.waitSignal(page.scan.changed):
        client.answer(job, ScanTotals(1, 0, 0, 16))


def test_that_the_choice_of_problems_filters_and_a_link_of_the_overview_makes_it(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    scan(qtbot, window, client, page)
    tree = tree_of(page)
    tree.values.choose(Trouble.NAN)
    qtbot.waitUntil(lambda: matches(page) == 1)
    tree.values.choose(Trouble(0))
    qtbot.waitUntil(lambda: matches(page) is None)
    assert page.details is not None
    page.details.overview.problems.in_tree.click()
    assert tree.values.troubles == ANY_TROUBLE
    qtbot.waitUntil(lambda: matches(page) == 2)


def test_that_clicks_on_a_head_list_the_tensors_and_give_the_tree_back(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    scan(qtbot, window, client, page)
    tree = tree_of(page)
    header = tree.view.header()

    def click(column: Column) -> None:
        at = header.sectionViewportPosition(column) + header.sectionSize(column) // 2
        header.setOffset(max(0, at - header.width() // 2))
        x = header.sectionViewportPosition(column) + header.sectionSize(column) // 2
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(x, 8))

    click(Column.MAX)
    qtbot.waitUntil(lambda: tree.model.shape.is_flat)
    assert names(page) == ["model/fc.bias", "model/fc.weight", "model/head"]
    assert tree.values.foot.text == "3 tensors by max, largest first"
    click(Column.MAX)
    qtbot.waitUntil(lambda: names(page)[0] == "model/head")
    click(Column.MAX)
    qtbot.waitUntil(lambda: not tree.model.shape.is_flat)
    assert names(page) == ["model", "epoch"]
    assert tree.values.foot.text == ""


def test_that_a_row_hidden_by_a_list_is_gone_to_in_the_tree(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    tree = tree_of(page)
    tree.view.columns.clicked.emit(Column.ELEMENTS)
    qtbot.waitUntil(lambda: tree.model.shape.is_flat)
    assert page.checkpoint is not None
    tree.go_to_node(page.checkpoint.find("epoch"))
    assert not tree.model.shape.is_flat
    assert tree.values.order is None
    assert tree.current_node == page.checkpoint.find("epoch")


def test_that_the_menu_of_the_head_chooses_columns(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    columns = tree_of(page).view.columns
    assert columns.make_menu().actions()[0].text() == "More columns come with a scan of all values"
    scan(qtbot, window, client, page)
    by_text = {action.text(): action for action in columns.make_menu().actions()}
    assert by_text["max"].isChecked()
    assert not by_text["norm"].isChecked()
    by_text["norm"].trigger()
    by_text["max"].trigger()
    by_text["dtype"].trigger()
    assert Column.NORM in columns.shown
    assert Column.MAX not in columns.shown
    assert Column.TYPE not in columns.shown


def test_that_the_menu_of_a_row_orders_and_chooses_columns_without_a_pointer(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    scan(qtbot, window, client, page)
    tree = tree_of(page)
    menus = {action.text(): action.menu() for action in tree.make_menu().actions() if action.menu() is not None}
    by_title = {action.text(): action for action in menus["List tensors by"].actions()}
    assert "histogram" not in by_title
    by_title["max"].trigger()
    qtbot.waitUntil(lambda: names(page) == ["model/fc.bias", "model/fc.weight", "model/head"])
    menus = {action.text(): action.menu() for action in tree.make_menu().actions() if action.menu() is not None}
    {action.text(): action for action in menus["List tensors by"].actions()}["The tree again"].trigger()
    qtbot.waitUntil(lambda: names(page) == ["model", "epoch"])
    {action.text(): action for action in menus["Columns"].actions()}["zeros"].trigger()
    assert Column.ZEROS in tree.view.columns.shown


def test_that_names_keep_a_fair_width_and_the_tree_scrolls_sideways_instead(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    scan(qtbot, window, client, page)
    view = tree_of(page).view
    for column in SCANNED:
        view.columns.choose(column, shown=True)
    window.resize(800, 600)
    qtbot.waitUntil(lambda: view.horizontalScrollBar().maximum() > 0)
    assert view.columnWidth(Column.NAME) >= 20 * 6


def test_that_a_file_that_is_read_again_is_not_scanned(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    scan(qtbot, window, client, page)
    window.actions_by_id["reload"].trigger()
    with qtbot.waitSignal(page.filled):
        client.answer(client.jobs_of(OpenFile)[-1], make_checkpoint(TREE, "/x/a.pth"))
    assert page.scan.state is ScanState.NONE
    assert tree_of(page).view.columns.shown[-1] == Column.SIZE


def test_that_clearing_what_scans_left_says_how_much_it_was(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    window.actions_by_id["clear_scans"].trigger()
    client.answer(client.jobs_of(ClearScanCache)[0], 2048)
    qtbot.waitUntil(lambda: any("2.0 KB" in message.text for message in window.messages.messages))


def test_that_several_selected_rows_are_shown_together_and_one_by_itself_again(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    assert page.checkpoint is not None
    assert page.details is not None
    tree = tree_of(page)
    tree.view.expand_below(0)
    first, second, other = (
        tree.model.index_of(tree.model.table.row_of_node[page.checkpoint.find(path)])
        for path in ("model/fc.weight", "model/head", "epoch")
    )
    # With its command: Qt would take that from the modifier keys, which a test before may have left pressed.
    flags = QItemSelectionModel.SelectionFlag
    alone = flags.ClearAndSelect | flags.Rows
    tree.view.selectionModel().setCurrentIndex(first, alone)
    for index in (second, other):
        tree.view.selectionModel().select(index, flags.Select | flags.Rows)
    assert page.details.tab_titles == ["Together"]
    tree.view.selectionModel().setCurrentIndex(first, alone)
    assert "Distribution" in page.details.tab_titles


def test_that_all_means_what_stands_beside_the_current_row(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient, page: DocumentPage
) -> None:
    tree = tree_of(page)
    tree.view.expand_below(0)
    assert page.checkpoint is not None
    tree.go_to_node(page.checkpoint.find("model/fc.bias"))
    tree.view.selectAll()
    labels = [tree.model.table.label[row] for row in tree.view.chosen_rows()]
    assert labels == ["fc.weight", "fc.bias", "head"]


def test_that_a_selection_over_very_many_groups_is_cut(
    qtbot: QtBot, window: MainWindow, client: ScriptedClient
) -> None:
    tree = {f"g{group}": {"a": Tensor(), "b": Tensor()} for group in range(3 * MAX_RANGES)}
    window.documents.open_paths([Path("/x/b.pth")])
    page = window.documents.page
    assert page is not None
    with qtbot.waitSignal(page.filled):
        client.answer(client.jobs_of(OpenFile)[-1], make_checkpoint(tree, "/x/b.pth"))
    view = tree_of(page).view
    view.expand_below(0)
    view.setCurrentIndex(tree_of(page).model.index(0, 0))
    qtbot.keyClick(view, Qt.Key.Key_End, Qt.KeyboardModifier.ShiftModifier)
    assert view.selectionModel().selection().count() <= MAX_RANGES


def test_that_a_real_engine_finds_what_torch_finds(qtbot: QtBot, live_window: MainWindow, tmp_path: Path) -> None:
    torch.manual_seed(0)
    state = {f"l{n}.weight": torch.randn(6, 5) for n in range(20)}
    state["l3.weight"][2, 2] = float("nan")
    state["l4.weight"][0] = 0
    state["l5.weight"] = torch.zeros(3)
    path = tmp_path / "a.pth"
    torch.save(state, path)
    live_window.documents.open_paths([path])
    page = live_window.documents.page
    assert page is not None
    qtbot.waitUntil(lambda: page.details is not None and page.tree is not None, timeout=20_000)
    live_window.actions_by_id["scan"].trigger()
    qtbot.waitUntil(lambda: page.scan.state is ScanState.DONE, timeout=30_000)
    checkpoint = page.checkpoint
    assert checkpoint is not None
    for name, values in state.items():
        number = checkpoint.nodes.value[checkpoint.find(name)]
        row = page.scan.rows[number]  # type: ignore[index]
        finite = values[values.isfinite()]
        assert (row.min, row.max) == (finite.min().item(), finite.max().item())
        assert row.mean == pytest.approx(finite.double().mean().item(), rel=1e-12)
        assert row.std == pytest.approx(finite.double().std(correction=0).item(), rel=1e-9)
        assert row.nan == int(values.isnan().sum())
        assert sum(row.counts) == finite.numel()
    assert page.scan.counts == {Trouble.NAN: 1, Trouble.ZERO: 1, Trouble.CONSTANT_ROWS: 1}
