"""Jobs of the engine and their callbacks in the window."""

from __future__ import annotations

import threading
import time

import pytest
import shiboken6
from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from tests.gui.scripted_client import ScriptedClient
from viewer.engine.protocol import EngineDown, Ping, Restarted
from viewer.errors import Cancelled, EngineLost, MalformedFile, ViewerError
from viewer.gui.engine_bridge import EngineBridge, Job
from viewer.gui.mailbox import Mailbox
from viewer.task import Progress


def test_that_an_answer_comes_in_the_windows_thread(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient
) -> None:
    told: list[object] = []

    def tell(value: object) -> None:
        told.extend((value, threading.current_thread()))

    job = bridge.submit(Ping(), owner=bridge, on_result=tell)
    answering = threading.Thread(target=client.answer, args=(job, "pong"))
    answering.start()
    answering.join()
    assert told == []
    qtbot.waitUntil(lambda: bool(told))
    assert told == ["pong", threading.main_thread()]
    assert bridge.jobs == ()


def test_that_events_from_before_the_bridge_are_delivered(qtbot: QtBot, client: ScriptedClient) -> None:
    mailbox = Mailbox()
    mailbox.put(Restarted(EngineLost("the engine ended")))
    bridge = EngineBridge(client, mailbox)
    with qtbot.waitSignal(bridge.engine_restarted):
        pass
    shiboken6.delete(bridge)


def test_that_a_newer_request_with_the_same_key_silences_the_older(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient
) -> None:
    told: list[object] = []
    older = bridge.submit(Ping(), owner=bridge, on_result=told.append, supersede="it")
    newer = bridge.submit(Ping(), owner=bridge, on_result=told.append, supersede="it")
    client.answer(older, "old")
    client.answer(newer, "new")
    qtbot.waitUntil(lambda: not bridge.jobs)
    assert told == ["new"]


def test_that_the_same_key_of_another_owner_is_another_key(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient
) -> None:
    told: list[object] = []
    owners = QObject(), QObject()
    for owner in owners:
        bridge.submit(Ping(), owner=owner, on_result=told.append, supersede="it")
    for job in client.requests:
        client.answer(job, job)
    qtbot.waitUntil(lambda: not bridge.jobs)
    assert told == [1, 2]
    assert len(set(client.keys.values())) == 2


def test_that_an_owner_that_is_gone_is_not_called(qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient) -> None:
    told: list[object] = []
    owner = QObject()
    job = bridge.submit(Ping(), owner=owner, on_result=told.append)
    shiboken6.delete(owner)
    client.answer(job, "late")
    qtbot.waitUntil(lambda: not bridge.jobs)
    assert told == []


def test_that_releasing_an_owner_cancels_its_jobs_and_leaves_others(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient
) -> None:
    told: list[object] = []
    owner = QObject()
    bridge.submit(Ping(), owner=owner, on_result=told.append)
    other = bridge.submit(Ping(), owner=bridge, on_result=told.append)
    bridge.release(owner)
    assert client.cancelled == [1]
    for job in client.requests:
        client.answer(job, job)
    qtbot.waitUntil(lambda: not bridge.jobs)
    assert told == [other]


def test_that_a_failure_without_a_callback_is_told_to_the_window(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient
) -> None:
    for error in (Cancelled("stopped"), EngineLost("gone")):
        with qtbot.assertNotEmitted(bridge.failed):
            client.fail(bridge.submit(Ping(), owner=bridge, on_result=print), error)
            qtbot.waitUntil(lambda: not bridge.jobs)
    with qtbot.waitSignal(bridge.failed) as told:
        client.fail(bridge.submit(Ping(), owner=bridge, on_result=print), MalformedFile("cut short"))
    assert str(told.args[0]) == "cut short"


def test_that_a_failure_with_a_callback_goes_there(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient
) -> None:
    failures: list[ViewerError] = []
    job = bridge.submit(Ping(), owner=bridge, on_result=print, on_failure=failures.append)
    bridge.cancel(job)
    bridge.cancel(job)
    assert client.cancelled == [job]
    client.fail(job, Cancelled("stopped"))
    qtbot.waitUntil(lambda: len(failures) == 1)


def test_that_of_many_steps_that_come_together_the_last_and_all_partials_are_told(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient
) -> None:
    steps: list[Progress] = []
    progressed: list[Job] = []
    bridge.job_progressed.connect(progressed.append)
    job = bridge.submit(Ping(), owner=bridge, on_result=print, on_progress=steps.append)
    for done in range(1000):
        client.report(job, done, 1000, partial=done if done in (10, 20) else None)
    qtbot.waitUntil(lambda: bool(steps) and steps[-1].done == 999)
    assert [step.partial for step in steps if step.partial] == [10, 20]
    assert len(steps) < 100
    assert progressed[-1].progress == Progress(999, 1000)


def test_that_many_results_let_the_event_loop_breathe(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient
) -> None:
    ticks: list[float] = []
    timer = QTimer(interval=5)
    timer.timeout.connect(lambda: ticks.append(time.perf_counter()))
    timer.start()
    done: list[object] = []

    def work(value: object) -> None:
        end_s = time.perf_counter() + 0.004
        while time.perf_counter() < end_s:
            pass
        done.append(value)

    for _ in range(60):
        bridge.submit(Ping(), owner=bridge, on_result=work)
    for job in list(client.requests):
        client.answer(job, job)
    qtbot.waitUntil(lambda: len(done) == 60)
    timer.stop()
    assert done == list(range(1, 61))
    assert len(ticks) >= 5  # 240 ms of work in slices of 25 ms; in one piece there would be none


def test_that_an_error_in_a_callback_ends_that_job_alone(
    qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient
) -> None:
    told: list[object] = []

    def wrong(_value: object) -> None:
        raise RuntimeError("a mistake")

    first = bridge.submit(Ping(), owner=bridge, on_result=wrong)
    second = bridge.submit(Ping(), owner=bridge, on_result=told.append)
    with qtbot.captureExceptions() as errors:
        client.answer(first, 1)
        client.answer(second, 2)
        qtbot.waitUntil(lambda: not bridge.jobs)
    assert [str(error[1]) for error in errors] == ["a mistake"]
    assert told == [2]


def test_that_the_end_of_the_engine_is_told_once(qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient) -> None:
    failures: list[ViewerError] = []
    told: list[object] = []
    bridge.engine_restarted.connect(told.append)
    bridge.engine_down.connect(told.append)
    for _ in range(3):
        bridge.submit(Ping(), owner=bridge, on_result=print, on_failure=failures.append)
    for job in client.requests:
        client.fail(job, EngineLost("gone"))
    client.mailbox.put(Restarted(EngineLost("gone")))
    qtbot.waitUntil(lambda: bool(told))
    assert len(failures) == 3
    assert len(told) == 1
    client.mailbox.put(EngineDown(EngineLost("gone too often")))
    qtbot.waitUntil(lambda: len(told) == 2)


def test_that_after_closing_nothing_is_called(qtbot: QtBot, bridge: EngineBridge, client: ScriptedClient) -> None:
    told: list[object] = []
    job = bridge.submit(Ping(), owner=bridge, on_result=told.append)
    client.answer(job, 1)
    bridge.close()
    assert client.is_closed
    client.answer(job, 2)
    qtbot.wait(20)
    assert told == []


def test_that_a_real_engine_answers(qtbot: QtBot, engine_bridge: EngineBridge) -> None:
    told: list[object] = []
    engine_bridge.submit(Ping("hello"), owner=engine_bridge, on_result=told.append)
    qtbot.waitUntil(lambda: told == ["hello"], timeout=20_000)


@pytest.mark.parametrize("step", [1, 2])
def test_that_a_client_thread_may_outlive_the_bridge(qtbot: QtBot, client: ScriptedClient, step: int) -> None:
    bridge = EngineBridge(client, client.mailbox)
    shiboken6.delete(bridge)
    for _ in range(step):
        client.mailbox.put(Restarted(EngineLost("late")))
    assert len(client.mailbox) == step
