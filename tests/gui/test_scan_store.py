"""A scan fills in as it goes, can be stopped and gone on with, and says what deserves a look."""

from __future__ import annotations

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from tests.gui.scan_rows import scan_row_of
from tests.gui.scripted_client import ScriptedClient
from viewer.engine.values_requests import ScanAll
from viewer.errors import Cancelled, MalformedFile
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.scan import ScanState, ScanStore
from viewer.gui.scan_troubles import ANY_TROUBLE, NO_TROUBLE, Trouble, trouble_words, troubles_of, worst
from viewer.tensors.scan_results import ScanBatch, ScanRow, ScanTotals


@pytest.fixture
def store(bridge: EngineBridge) -> ScanStore:
    return ScanStore(bridge, bridge)


def bring(qtbot: QtBot, client: ScriptedClient, store: ScanStore, job: int, *rows: ScanRow) -> None:
    with qtbot.waitSignal(store.rows_came):
        client.report(job, 1, 2, partial=ScanBatch(list(rows)))


def finish(qtbot: QtBot, client: ScriptedClient, store: ScanStore, job: int) -> None:
    with qtbot.waitSignal(store.changed):
        client.answer(job, ScanTotals(len(store.rows), 0, 0, 0))


def test_that_rows_are_there_as_they_come(qtbot: QtBot, client: ScriptedClient, store: ScanStore) -> None:
    assert store.state is ScanState.NONE
    store.start(3, 2, "a.pth", "cpu")
    assert client.requests == {1: ScanAll(3, "cpu")}
    assert store.is_running
    came: list[list[int]] = []
    store.rows_came.connect(came.append)
    bring(qtbot, client, store, 1, scan_row_of(0, np.ones(4)))
    assert store.rows[0].max == 1
    bring(qtbot, client, store, 1, scan_row_of(1, np.array([np.nan, 2.0])))
    assert came == [[0], [1]]
    finish(qtbot, client, store, 1)
    assert store.state is ScanState.DONE
    assert store.troubled == {0: Trouble.CONSTANT, 1: Trouble.NAN}
    assert store.counts[Trouble.NAN] == 1


def test_that_a_second_scan_is_not_begun_while_one_runs(client: ScriptedClient, store: ScanStore) -> None:
    store.start(1, 2, "a.pth", "cpu")
    store.start(1, 2, "a.pth", "cpu")
    assert len(client.requests) == 1


def test_that_a_stopped_scan_keeps_its_rows_and_goes_on_with_the_rest(
    qtbot: QtBot, client: ScriptedClient, store: ScanStore
) -> None:
    store.start(1, 3, "a.pth", "cpu")
    bring(qtbot, client, store, 1, scan_row_of(1, np.arange(4.0)))
    store.stop()
    assert client.cancelled == [1]
    with qtbot.waitSignal(store.changed):
        client.fail(1, Cancelled("stopped"))
    assert (store.state, store.failure, list(store.rows)) == (ScanState.STOPPED, None, [1])
    store.start(1, 3, "a.pth", "cpu")
    assert client.requests[2] == ScanAll(1, "cpu", (0, 2))


def test_that_a_scan_that_is_done_is_read_anew_without_what_was_kept(
    qtbot: QtBot, client: ScriptedClient, store: ScanStore
) -> None:
    store.start(1, 1, "a.pth", "cpu")
    bring(qtbot, client, store, 1, scan_row_of(0, np.zeros(4)))
    finish(qtbot, client, store, 1)
    store.start(1, 1, "a.pth", "cpu")
    assert client.requests[2] == ScanAll(1, "cpu", None, use_cache=False)
    assert (store.rows, store.troubled, store.counts) == ({}, {}, {})


def test_that_a_failure_says_why_and_keeps_what_came(qtbot: QtBot, client: ScriptedClient, store: ScanStore) -> None:
    store.start(1, 2, "a.pth", "cpu")
    bring(qtbot, client, store, 1, scan_row_of(0, np.arange(4.0)))
    with qtbot.waitSignal(store.changed):
        client.fail(1, MalformedFile("the file changed"))
    assert (store.state, str(store.failure), len(store.rows)) == (ScanState.FAILED, "the file changed", 1)


def test_that_forgetting_drops_all_and_silences_what_still_comes(
    qtbot: QtBot, client: ScriptedClient, store: ScanStore
) -> None:
    store.start(1, 2, "a.pth", "cpu")
    bring(qtbot, client, store, 1, scan_row_of(0, np.arange(4.0)))
    store.forget()
    assert (store.state, store.rows) == (ScanState.NONE, {})
    assert client.cancelled == [1]
    store.start(2, 1, "b.pth", "cpu")
    client.report(1, 1, 2, partial=ScanBatch([scan_row_of(9, np.ones(3))]))
    bring(qtbot, client, store, 2, scan_row_of(0, np.arange(4.0)))
    assert list(store.rows) == [0]


@pytest.mark.parametrize(
    ("values", "found", "words"),
    [
        (np.array([1.0, np.nan, 3.0]), Trouble.NAN, "1 of 3 elements NaN"),
        (np.full(3, np.nan), Trouble.NAN, "all 3 elements are NaN"),
        (np.full(1, np.nan), Trouble.NAN, "its only element is NaN"),
        (np.array([np.inf, -np.inf, 1.0]), Trouble.INF, "1 +inf, 1 −inf"),
        (np.zeros(5), Trouble.ZERO, "all 5 elements are 0"),
        (np.full(5, 0.5), Trouble.CONSTANT, "all 5 elements are 0.5"),
        (np.array([[1.0, 1.0], [1.0, 2.0]]), Trouble.CONSTANT_ROWS, "1 of 2 rows constant"),
        (np.array([1.0, 2.0]), NO_TROUBLE, ""),
        (np.zeros(1), NO_TROUBLE, ""),
        (np.zeros(0), NO_TROUBLE, ""),
        (np.array([np.nan, np.inf]), Trouble.NAN | Trouble.INF, "1 of 2 elements NaN, 1 +inf"),
    ],
)
def test_that_what_deserves_a_look_is_told_with_its_figures(values: np.ndarray, found: Trouble, words: str) -> None:
    row = scan_row_of(0, values)
    assert troubles_of(row) == found
    assert trouble_words(row) == words


def test_that_values_that_cannot_be_read_are_told_and_the_worst_kind_comes_first() -> None:
    row = ScanRow(0, problem="the record is short")
    assert troubles_of(row) == Trouble.UNREADABLE
    assert trouble_words(row) == "the record is short"
    assert worst(Trouble.CONSTANT | Trouble.INF) == Trouble.INF
    assert all(kind & ANY_TROUBLE for kind in Trouble)


def test_that_a_sound_tensor_that_is_kept_in_parts_is_no_trouble() -> None:
    assert troubles_of(ScanRow(0, problem="its values are in the rows below it", has_values=False)) == NO_TROUBLE
