"""Problems first: what the overview says before, while and after the values are scanned."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.gui.scan_rows import scan_row_of
from tests.gui.scripted_client import ScriptedClient
from viewer.checkpoint.document import Checkpoint
from viewer.errors import Cancelled, MalformedFile
from viewer.gui.details.overview import OverviewPage
from viewer.gui.details.problems import MOST_ROWS, problem_rows
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.scan import ScanStore
from viewer.gui.theme import Theme
from viewer.tensors.scan_results import ScanBatch, ScanRow, ScanTotals


@pytest.fixture
def scripted() -> ScriptedClient:
    return ScriptedClient()


@pytest.fixture
def store(scripted: ScriptedClient, qapp: object) -> ScanStore:
    bridge = EngineBridge(scripted, scripted.mailbox)
    return ScanStore(bridge, bridge)


@pytest.fixture
def page(qtbot: QtBot, theme: Theme, store: ScanStore, checkpoint: Checkpoint) -> OverviewPage:
    page = OverviewPage(theme)
    page.problems.set_scan(store)
    qtbot.addWidget(page)
    page.resize(800, 700)
    page.show()
    page.show_node(checkpoint, 0)
    return page


def bring(qtbot: QtBot, scripted: ScriptedClient, store: ScanStore, *rows: ScanRow) -> None:
    with qtbot.waitSignal(store.rows_came):
        scripted.report(1, 1, 2, partial=ScanBatch(list(rows)))


def finish(qtbot: QtBot, scripted: ScriptedClient, store: ScanStore) -> None:
    with qtbot.waitSignal(store.changed):
        scripted.answer(1, ScanTotals(len(store.rows), 0, 0, 0))


def test_that_values_that_are_not_scanned_are_said_to_be_so_with_a_button(page: OverviewPage, qtbot: QtBot) -> None:
    problems = page.problems
    assert problems.words.text().startswith("The values are not scanned yet")
    assert problems.button.text() == "Scan all values (44.7 MB)"
    assert problems.list.isHidden()
    with qtbot.waitSignal(problems.scan_asked):
        qtbot.mouseClick(problems.button, Qt.MouseButton.LeftButton)


def test_that_a_clean_file_is_said_to_have_no_problems(
    page: OverviewPage, store: ScanStore, scripted: ScriptedClient, qtbot: QtBot
) -> None:
    store.start(1, 312, "a.pth", "cpu")
    bring(qtbot, scripted, store, *(scan_row_of(number, np.arange(3.0)) for number in range(312)))
    qtbot.waitUntil(lambda: page.problems.words.text() == "No problems so far in 312 of 312 tensors.")
    assert page.problems.button.isHidden()
    finish(qtbot, scripted, store)
    assert page.problems.words.text() == "✓ No problems found in 312 tensors."
    assert page.problems.list.isHidden()
    assert page.problems.in_tree.isHidden()


def test_that_the_worst_comes_first_and_a_click_goes_there(
    page: OverviewPage, store: ScanStore, scripted: ScriptedClient, checkpoint: Checkpoint, qtbot: QtBot
) -> None:
    store.start(1, 4, "a.pth", "cpu")
    rows = [np.ones(3), np.zeros(3), np.array([1.0, np.nan]), np.array([np.inf, 1.0])]
    bring(qtbot, scripted, store, *(scan_row_of(number, values) for number, values in enumerate(rows)))
    finish(qtbot, scripted, store)
    problems = page.problems
    assert problems.words.text() == "⚠ 4 of 4 tensors deserve a look: 1 NaN, 1 inf, 1 all zero, 1 constant."
    assert [row[1:] for row in problems.list.texts()] == [
        ("NaN", "⚠ 1 of 2 elements NaN"),
        ("inf", "⚠ 1 +inf"),
        ("all zero", "all 3 elements are 0"),
        ("constant", "all 3 elements are 1"),
    ]
    target = problems.list.jumps[0].node
    assert target is not None
    assert checkpoint.nodes.value[target] == 2
    at = problems.list.visualRect(problems.list.model().index(0, 0)).center()
    with qtbot.waitSignal(page.node_requested) as asked:
        qtbot.mouseClick(problems.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert asked.args == [target]


def test_that_a_stopped_and_a_failed_scan_say_what_is_known(
    page: OverviewPage, store: ScanStore, scripted: ScriptedClient, qtbot: QtBot
) -> None:
    store.start(1, 2, "a.pth", "cpu")
    bring(qtbot, scripted, store, scan_row_of(0, np.array([np.nan, 1.0])))
    with qtbot.waitSignal(store.changed):
        scripted.fail(1, Cancelled("stopped"))
    words = page.problems.words.text()
    assert words == "The scan was stopped. ⚠ 1 deserves a look so far, in 1 of 2 tensors: 1 NaN."
    assert page.problems.button.text() == "Scan the rest"
    store.start(1, 2, "a.pth", "cpu")
    with qtbot.waitSignal(store.changed):
        scripted.fail(2, MalformedFile("the file changed"))
    assert page.problems.words.text().startswith("The scan failed: the file changed. ⚠ 1 deserves a look so far")


def test_that_a_file_full_of_problems_lists_the_first_and_offers_the_rest_in_the_tree(
    page: OverviewPage, store: ScanStore, scripted: ScriptedClient, checkpoint: Checkpoint, qtbot: QtBot
) -> None:
    store.start(1, 500, "a.pth", "cpu")
    bring(qtbot, scripted, store, *(scan_row_of(number, np.full(2, np.nan)) for number in range(500)))
    finish(qtbot, scripted, store)
    assert len(problem_rows(checkpoint, store, {})) == MOST_ROWS
    assert len(page.problems.list.jumps) == MOST_ROWS
    with qtbot.waitSignal(page.problems.list_asked):
        page.problems.in_tree.click()


def test_that_other_nodes_and_files_without_tensors_do_not_speak_of_problems(
    page: OverviewPage, checkpoint: Checkpoint
) -> None:
    page.show_node(checkpoint, checkpoint.find("model"))
    assert page.problems.isHidden()
