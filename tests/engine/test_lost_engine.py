"""The engine is killed, stopped, stuck, cannot start, or lies; the client says so and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.engine.fake_engine import (
    ROOT,
    ComputeSteps,
    CountNodes,
    Die,
    Fail,
    Steps,
    Stuck,
    fake_command,
    write_document,
)
from tests.engine.hostile_engine import HEADER_NBYTES, hostile_command, lies
from tests.engine.recorder import Recorder
from viewer.engine.client import EngineClient
from viewer.engine.protocol import EngineDown, OpenFile, Ping, Restarted
from viewer.engine.restarts import RestartBudget
from viewer.errors import Cancelled, EngineLost, FileChanged

StartClient = Callable[..., EngineClient]
pytestmark = pytest.mark.usefixtures("no_descriptor_left")
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals")


@posix
def test_that_after_sigkill_the_job_fails_and_documents_are_there_under_their_numbers(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    document = client.submit(OpenFile(write_document(tmp_path / "model.pth", 12)))
    recorder.result(document)
    running = client.submit(ComputeSteps(100_000, 0.01))
    recorder.wait_until_running(running)
    pid = client.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    error = recorder.error(running)
    assert isinstance(error, EngineLost)
    assert str(error).startswith("the engine was ended by SIGKILL while working. It was started again")
    recorder.wait_for_kind(Restarted)
    assert recorder.result(client.submit(CountNodes(document))) == (12, 1)
    assert client.pid != pid
    assert len(recorder.ends_of(document)) == 1


@posix
def test_that_a_click_right_after_the_kill_is_not_lost(client: EngineClient, recorder: Recorder) -> None:
    recorder.result(client.submit(Ping()))
    assert client.pid is not None
    os.kill(client.pid, signal.SIGKILL)
    assert recorder.result(client.submit(Ping("click"))) == "click"


@posix
def test_that_every_running_job_fails_once(client: EngineClient, recorder: Recorder) -> None:
    jobs = [client.submit(request) for request in (Steps(100_000, 0.01), Steps(1, 0.0), ComputeSteps(100_000, 0.01))]
    for job in jobs:
        recorder.wait_until_accepted(job)
    assert client.pid is not None
    os.kill(client.pid, signal.SIGKILL)
    assert all(isinstance(recorder.error(job), EngineLost) for job in jobs)
    recorder.wait_for_kind(Restarted)
    recorder.result(client.submit(Ping()))
    assert all(len(recorder.ends_of(job)) == 1 for job in jobs)


@posix
def test_that_a_document_that_changed_meanwhile_is_refused_and_another_is_not(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    changed = client.submit(OpenFile(write_document(tmp_path / "changed.pth", 12)))
    same = client.submit(OpenFile(write_document(tmp_path / "same.pth", 5)))
    recorder.result(changed)
    recorder.result(same)
    write_document(tmp_path / "changed.pth", 1234)
    recorder.error(client.submit(Die("SIGKILL")))
    error = recorder.error(client.submit(CountNodes(changed)))
    assert isinstance(error, FileChanged)
    assert (
        str(error) == "changed.pth: the file changed on disk since it was opened. Reload it to see what it holds now"
    )
    assert recorder.result(client.submit(CountNodes(same))) == (5, 1)


@posix
def test_that_a_document_that_could_not_be_reopened_is_tried_again_with_the_next_request(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    path = write_document(tmp_path / "away.pth", 7)
    document = client.submit(OpenFile(path))
    recorder.result(document)
    recorder.error(client.submit(Die("SIGKILL")))
    path.rename(tmp_path / "elsewhere.pth")
    assert "nothing to see" in str(recorder.error(client.submit(CountNodes(document))))
    (tmp_path / "elsewhere.pth").rename(path)
    assert recorder.result(client.submit(CountNodes(document))) == (7, 1)


@posix
def test_that_clicks_while_a_document_is_reopened_do_not_begin_it_anew(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    document = client.submit(OpenFile(write_document(tmp_path / "model.pth", 7, steps=30)))
    recorder.result(document)
    recorder.error(client.submit(Die("SIGKILL")))
    jobs = []
    for _ in range(10):
        jobs.append(client.submit(CountNodes(document), supersede="click"))
        recorder.wait_until_accepted(jobs[-1])
        time.sleep(0.01)
    assert recorder.result(jobs[-1]) == (7, 1)
    assert (tmp_path / "model.openings").read_text().split() == ["opened", "opened"]


@posix
@pytest.mark.parametrize("how", ["SIGSEGV", "exit"])
def test_that_a_crash_is_told_with_its_signal_or_last_words(
    client: EngineClient, recorder: Recorder, how: str
) -> None:
    error = recorder.error(client.submit(Die(how)))
    expected = {"SIGSEGV": "was ended by SIGSEGV", "exit": "ended with exit status 3 (last words)"}[how]
    assert error.fault == f"the engine {expected} while working"
    assert recorder.result(client.submit(Ping("again"))) == "again"


def test_that_a_file_that_kills_the_engine_is_named_and_not_opened_again(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    error = recorder.error(client.submit(OpenFile(write_document(tmp_path / "poison.pth", -1))))
    assert isinstance(error, EngineLost)
    assert str(error).startswith("poison.pth: the engine was ended by SIGKILL while opening poison.pth.")
    assert recorder.result(client.submit(Ping("again"))) == "again"
    assert sum(isinstance(event, Restarted) for event in recorder.events) == 1


def test_that_a_lane_that_cannot_go_on_ends_the_engine_and_not_the_request_for_ever(
    client: EngineClient, recorder: Recorder
) -> None:
    error = recorder.error(client.submit(Fail("exit")))
    assert isinstance(error, EngineLost)
    assert "ended with exit status 70" in error.fault
    assert recorder.result(client.submit(Ping("again"))) == "again"


@posix
def test_that_a_stopped_engine_is_replaced_when_a_cancel_has_no_answer(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    document = client.submit(OpenFile(write_document(tmp_path / "model.pth", 12)))
    recorder.result(document)
    stopped = client.submit(Steps(100_000, 0.01))
    other = client.submit(ComputeSteps(100_000, 0.01))
    recorder.wait_until_running(stopped)
    recorder.wait_until_running(other)
    assert client.pid is not None
    os.kill(client.pid, signal.SIGSTOP)
    before_s = time.monotonic()
    client.cancel(stopped)
    assert isinstance(recorder.error(stopped), Cancelled)
    assert time.monotonic() - before_s < 2.5
    assert "did not answer a cancel in time" in str(recorder.error(other))
    assert recorder.result(client.submit(CountNodes(document))) == (12, 1)


@pytest.mark.parametrize("holds_interpreter", [False, True])
def test_that_a_task_stuck_in_a_call_is_ended_by_its_cancel(
    client: EngineClient, recorder: Recorder, holds_interpreter: bool
) -> None:
    job = client.submit(Stuck(holds_interpreter))
    recorder.wait_until_running(job)
    client.cancel(job)
    assert isinstance(recorder.error(job), Cancelled)
    assert recorder.result(client.submit(Ping("again"))) == "again"


@posix
def test_that_close_ends_a_stopped_engine_within_its_bound(client: EngineClient, recorder: Recorder) -> None:
    recorder.result(client.submit(Ping()))
    assert client.pid is not None
    os.kill(client.pid, signal.SIGSTOP)
    for n in range(3000):  # more than a pipe holds: the writer is blocked
        client.submit(Ping("x" * 100 + str(n)))
    before_s = time.monotonic()
    client.close(timeout_s=1.0)
    assert time.monotonic() - before_s < 1.5


def test_that_an_engine_that_exits_at_start_fails_the_request_with_its_words(
    start_client: StartClient, recorder: Recorder
) -> None:
    command = [sys.executable, "-I", "-c", "import sys; sys.exit('no module named engine')"]
    client = start_client(command=command, restarts=RestartBudget(2, 60.0))
    error = recorder.error(client.submit(Ping()))
    assert isinstance(error, EngineLost)
    assert "ended with exit status 1 (no module named engine)" in error.fault
    down = recorder.wait_for_kind(EngineDown)
    assert isinstance(down, EngineDown)
    assert "after 2 restarts within 60 s" in str(down.error)
    assert "next request starts it again" in str(down.error)


def test_that_a_command_that_does_not_exist_is_a_failure_with_words(
    start_client: StartClient, recorder: Recorder
) -> None:
    client = start_client(command=["/nowhere/python"], restarts=RestartBudget(1, 60.0))
    assert "could not be started" in str(recorder.error(client.submit(Ping())))


def test_that_an_engine_that_was_given_up_starts_with_the_next_request(
    start_client: StartClient, recorder: Recorder, tmp_path: Path
) -> None:
    flag = tmp_path / "works"
    guard = f"import sys, pathlib\nif not pathlib.Path({str(flag)!r}).exists(): sys.exit(7)\n"
    command = fake_command()
    command[3] = guard + command[3]
    client = start_client(command=command, restarts=RestartBudget(1, 60.0))
    recorder.wait_for_kind(EngineDown)
    assert client.pid is None
    recorder.error(client.submit(Ping("too early")))
    recorder.wait_for_kind(EngineDown, nth=2)
    flag.touch()
    assert recorder.result(client.submit(Ping("now"))) == "now"


def test_that_noise_before_the_token_is_overlooked(start_client: StartClient, recorder: Recorder) -> None:
    command = fake_command()
    command[3] = "print('welcome to my interpreter ' * 100, flush=True)\n" + command[3]
    client = start_client(command=command)
    assert recorder.result(client.submit(Ping("through"))) == "through"


@pytest.mark.parametrize("lie", [*lies(), "no token"])
def test_that_hostile_bytes_end_the_engine_and_run_nothing(
    start_client: StartClient, recorder: Recorder, tmp_path: Path, lie: str
) -> None:
    canary = tmp_path / "canary"
    client = start_client(command=hostile_command(lie, canary), restarts=RestartBudget(0, 60.0))
    error = recorder.error(client.submit(Ping()))
    assert isinstance(error, EngineLost)
    assert "sent what it should not" in error.fault
    assert not canary.exists()


def test_that_the_canary_would_sing(tmp_path: Path) -> None:
    """The lie "reduce" does what it says where a plain unpickler reads it."""
    canary = tmp_path / "canary"
    code = "import pickle, sys; pickle.loads(sys.stdin.buffer.read())"
    lie = lies(str(canary))["reduce"][HEADER_NBYTES:]
    subprocess.run([sys.executable, "-c", code], input=lie, check=True)
    assert canary.exists()


@posix
@pytest.mark.parametrize("task", ["Steps(100_000, 0.01)", "Stuck(False)", "Stuck(True)"])
def test_that_the_engine_ends_when_the_window_is_killed(task: str) -> None:
    engine = _kill_window(task)
    # Where process 1 is slow to collect orphans, the ended engine stays a zombie for a while.
    assert _ended(engine, timeout_s=5.0)


@posix
def test_that_a_save_removes_its_temporary_file_when_the_window_is_killed(tmp_path: Path) -> None:
    half = tmp_path / "half"
    engine = _kill_window(f"Save(Path({str(half)!r}))")
    assert _ended(engine, timeout_s=5.0)
    assert not half.exists()


def _kill_window(task: str) -> psutil.Process:
    """Run a task in the engine of another process, and kill that. Returns the engine, which may have ended."""
    code = _WINDOW.format(root=str(ROOT), task=task)
    window = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert window.stdout is not None
    with window.stdout:
        engine = psutil.Process(int(window.stdout.readline()))
        window.kill()
        window.wait()
    return engine


def _ended(process: psutil.Process, timeout_s: float) -> bool:
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


_WINDOW = """
import sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.engine.fake_engine import *
from tests.engine.recorder import Recorder
from viewer.engine.client import EngineClient
recorder = Recorder()
client = EngineClient(recorder, command=fake_command(), admitted=TEST_ADMITTED)
client.start()
recorder.wait_until_running(client.submit({task}))
print(client.pid, flush=True)
time.sleep(600)
"""


def test_that_the_budget_of_restarts_comes_back_with_time() -> None:
    budget = RestartBudget(2, within_s=0.05)
    assert [budget.take() for _ in range(3)] == [True, True, False]
    time.sleep(0.06)
    assert budget.take()
