from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.fake_engine import (
    Allocate,
    ComputeSteps,
    CountBoth,
    CountNodes,
    Fail,
    IdleSteps,
    Save,
    Spew,
    Steps,
    fake_command,
    make_checkpoint,
    write_document,
)
from tests.engine.recorder import Recorder
from viewer.checkpoint.document import Checkpoint
from viewer.engine.client import EngineClient
from viewer.engine.faults import DocumentClosed, EngineFault, OutOfMemory
from viewer.engine.protocol import Accepted, CloseDocument, OpenFile, Ping, Restarted, Result
from viewer.errors import Cancelled, MalformedFile

StartClient = Callable[..., EngineClient]
pytestmark = pytest.mark.usefixtures("no_descriptor_left")


def test_that_a_request_is_accepted_makes_progress_and_has_a_result(client: EngineClient, recorder: Recorder) -> None:
    job = client.submit(Ping("hello"))
    assert recorder.result(job) == "hello"
    assert recorder.events[0] == Accepted(job)


def test_that_a_thousand_quick_requests_are_all_answered_once_and_in_order(
    client: EngineClient, recorder: Recorder
) -> None:
    jobs = [client.submit(Ping(str(n))) for n in range(1000)]
    assert [recorder.result(job) for job in jobs] == [str(n) for n in range(1000)]
    assert all(len(recorder.ends_of(job)) == 1 for job in jobs[::100])


def test_that_a_long_request_arrives_whole(client: EngineClient, recorder: Recorder) -> None:
    text = "".join(map(str, range(700_000)))
    jobs = [client.submit(Ping(text)), client.submit(Ping("short"))]
    assert [recorder.result(job) for job in jobs] == [text, "short"]


def test_that_a_request_that_cannot_be_sent_is_refused_at_once(client: EngineClient, recorder: Recorder) -> None:
    with pytest.raises(TypeError, match="may not cross the pipe"):
        client.submit(Ping(object()))
    assert recorder.result(client.submit(Ping("next"))) == "next"


def test_that_requests_may_come_from_many_threads(client: EngineClient, recorder: Recorder) -> None:
    jobs: dict[int, str] = {}

    def ask(name: str) -> None:
        for n in range(50):
            jobs[client.submit(Ping(f"{name} {n}"))] = f"{name} {n}"

    threads = [threading.Thread(target=ask, args=(f"thread {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {job: recorder.result(job) for job in jobs} == jobs
    assert len(jobs) == 200


def test_that_a_request_submitted_before_the_start_is_answered(recorder: Recorder) -> None:
    client = EngineClient(recorder)
    job = client.submit(Ping("early"))
    client.start()
    try:
        assert recorder.result(job) == "early"
    finally:
        client.close()


def test_that_progress_comes_first_at_once_then_about_twenty_times_a_second_and_last(
    client: EngineClient, recorder: Recorder
) -> None:
    job = client.submit(Steps(200, 0.002))
    recorder.result(job)
    done = [event.progress.done for event in recorder.progress_of(job)]
    assert done[0] == 0
    assert done[-1] == 200
    assert 4 <= len(done) <= 40
    assert done == sorted(done)


def test_that_no_partial_result_is_dropped(client: EngineClient, recorder: Recorder) -> None:
    job = client.submit(Steps(300, 0.0, partial=True))
    recorder.result(job)
    partials = [event.progress.partial for event in recorder.progress_of(job)]
    assert [partial for partial in partials if partial is not None] == list(range(300))


def test_that_a_cancel_takes_effect_within_two_hundred_ms(client: EngineClient, recorder: Recorder) -> None:
    took_s = []
    for _ in range(3):  # the best of three: other programs may have the processor
        job = client.submit(Steps(100_000, 0.005))
        recorder.wait_until_running(job)
        before_s = time.monotonic()
        client.cancel(job)
        assert isinstance(recorder.error(job), Cancelled)
        took_s.append(time.monotonic() - before_s)
    assert min(took_s) < 0.2


def test_that_a_waiting_job_is_cancelled_at_once_and_never_runs(client: EngineClient, recorder: Recorder) -> None:
    running = client.submit(Steps(100_000, 0.01))
    waiting = client.submit(Steps(1, 0.0))
    recorder.wait_until_running(running)
    client.cancel(waiting)
    assert isinstance(recorder.error(waiting), Cancelled)
    assert recorder.ends_of(running) == []
    client.cancel(running)
    recorder.error(running)
    assert recorder.progress_of(waiting) == []


def test_that_a_cancel_of_a_job_that_has_ended_does_nothing(client: EngineClient, recorder: Recorder) -> None:
    job = client.submit(Ping("a"))
    recorder.result(job)
    client.cancel(job)
    client.cancel(12345)
    recorder.result(client.submit(Ping("b")))
    assert len(recorder.ends_of(job)) == 1


def test_that_a_job_cancelled_while_its_lane_imports_is_answered_at_once(
    start_client: StartClient, recorder: Recorder
) -> None:
    client = start_client(command=fake_command(import_s=1.0))
    job = client.submit(ComputeSteps(1, 0.0))
    recorder.wait_until_accepted(job)
    time.sleep(0.1)
    before_s = time.monotonic()
    client.cancel(job)
    assert isinstance(recorder.error(job), Cancelled)
    assert time.monotonic() - before_s < 0.5
    later = client.submit(ComputeSteps(1, 0.0))
    assert recorder.result(later) == 1
    assert len(recorder.ends_of(job)) == 1
    assert recorder.progress_of(job) == []


@pytest.mark.skipif(sys.platform == "win32", reason="stalls with usleep")
def test_that_a_stall_while_a_lane_imports_does_not_end_the_engine(
    start_client: StartClient, recorder: Recorder
) -> None:
    client = start_client(command=fake_command(import_s=-1.6))  # which holds the interpreter, as loading torch does
    compute = client.submit(ComputeSteps(1, 0.0))
    recorder.wait_until_accepted(compute)
    other = client.submit(Steps(100_000, 0.01))
    client.cancel(other)
    assert isinstance(recorder.error(other), Cancelled)
    assert recorder.result(compute) == 1
    assert not [event for event in recorder.events if isinstance(event, Restarted)]


def test_that_a_newer_request_with_the_same_key_cancels_the_older(client: EngineClient, recorder: Recorder) -> None:
    older = client.submit(Steps(100_000, 0.005), supersede="values")
    other = client.submit(ComputeSteps(5, 0.01), supersede="other values")
    recorder.wait_until_running(older)
    newer = client.submit(Steps(3, 0.0), supersede="values")
    assert isinstance(recorder.error(older), Cancelled)
    assert recorder.result(newer) == 3
    assert recorder.result(other) == 5


def test_that_of_many_clicks_the_last_has_a_result(client: EngineClient, recorder: Recorder) -> None:
    jobs = [client.submit(ComputeSteps(50, 0.001), supersede="click") for _ in range(300)]
    assert recorder.result(jobs[-1]) == 50
    assert all(isinstance(recorder.error(job), Cancelled) for job in jobs[:-1])


def test_that_lanes_run_beside_each_other(client: EngineClient, recorder: Recorder) -> None:
    slow = client.submit(ComputeSteps(100_000, 0.005))
    recorder.wait_until_running(slow)
    assert recorder.result(client.submit(Ping("meanwhile"))) == "meanwhile"
    assert recorder.ends_of(slow) == []
    client.cancel(slow)
    recorder.error(slow)


def test_that_what_nobody_waits_for_begins_after_structures_are_read(
    client: EngineClient, recorder: Recorder
) -> None:
    reading = client.submit(Steps(30, 0.01))
    idle = client.submit(IdleSteps(1, 0.0))
    dropped = client.submit(IdleSteps(1, 0.0))
    client.cancel(dropped)
    assert recorder.result(idle) == 1
    assert len(recorder.ends_of(reading)) == 1
    assert recorder.events.index(recorder.end_of(reading)) < recorder.events.index(recorder.progress_of(idle)[0])
    assert isinstance(recorder.error(dropped), Cancelled)


def test_that_an_opened_file_comes_whole_and_without_blobs(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    path = write_document(tmp_path / "model.pth", 100_003)
    document = client.submit(OpenFile(path))
    checkpoint = recorder.result(document)
    assert isinstance(checkpoint, Checkpoint)
    assert checkpoint == make_checkpoint(path, 100_003).without_blobs()
    assert [type(value) for value in checkpoint.nodes.value[:6]] == [type(None), int, float, str, bytes, bool]
    assert recorder.result(client.submit(CountNodes(document))) == (100_003, 1)


def test_that_a_request_on_a_document_waits_until_it_is_open(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    a = client.submit(OpenFile(write_document(tmp_path / "a.pth", 10, steps=20)))
    b = client.submit(OpenFile(write_document(tmp_path / "b.pth", 20, steps=20)))
    both = client.submit(CountBoth(a, b))
    cancelled = client.submit(CountNodes(b))
    client.cancel(cancelled)
    assert isinstance(recorder.error(cancelled), Cancelled)
    assert recorder.result(both) == (10, 20)
    ends = [recorder.events.index(recorder.end_of(job)) for job in (a, b, both)]
    assert ends == sorted(ends)


def test_that_a_request_on_a_document_fails_as_its_opening_did(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    (tmp_path / "no.pth").write_text("no")
    document = client.submit(OpenFile(tmp_path / "no.pth"))
    count = client.submit(CountNodes(document))
    for job in (document, count):
        error = recorder.error(job)
        assert isinstance(error, MalformedFile)
        assert str(error) == "no.pth: nothing to see"
    assert isinstance(recorder.error(client.submit(CountNodes(document))), DocumentClosed)


def test_that_closing_a_document_cancels_its_jobs_and_forgets_it(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    opening = client.submit(OpenFile(write_document(tmp_path / "slow.pth", 5, steps=100_000)))
    waiting = client.submit(CountNodes(opening))
    recorder.wait_until_running(opening)
    closing = client.submit(CloseDocument(opening))
    assert recorder.result(closing) is None
    assert isinstance(recorder.error(opening), Cancelled)
    assert isinstance(recorder.error(waiting), Cancelled)
    assert isinstance(recorder.error(client.submit(CountNodes(opening))), DocumentClosed)


def test_that_an_opening_cancelled_too_late_leaves_no_document(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    path = write_document(tmp_path / "a.pth", 200_000)
    for delay_s in (0.0, 0.05, 0.15, 0.25):
        job = client.submit(OpenFile(path))
        time.sleep(delay_s)
        client.cancel(job)
        end = recorder.end_of(job)
        count = client.submit(CountNodes(job))
        if isinstance(end, Result):  # it was done before the cancel
            assert recorder.result(count) == (200_000, 1)
        else:
            assert isinstance(recorder.error(count), DocumentClosed | Cancelled)


def test_that_an_error_of_ours_keeps_its_kind_and_words(client: EngineClient, recorder: Recorder) -> None:
    error = recorder.error(client.submit(Fail("viewer")))
    assert type(error) is MalformedFile
    assert str(error) == "model.pth: it is broken. Mend it"


def test_that_an_error_of_a_kind_unknown_here_comes_as_the_nearest_kind(
    client: EngineClient, recorder: Recorder
) -> None:
    error = recorder.error(client.submit(Fail("other kind")))
    assert type(error) is MalformedFile
    assert error.fault == "it is odd"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("bug", "RuntimeError: a bug"),
        ("recursion", "RecursionError"),
        ("type", "a builtins.object may not cross the pipe"),
        ("type in parts", "a builtins.object may not cross the pipe"),
    ],
)
def test_that_a_fault_of_ours_says_so_with_details_and_the_lane_goes_on(
    client: EngineClient, recorder: Recorder, how: str, words: str
) -> None:
    error = recorder.error(client.submit(Fail(how)))
    assert isinstance(error, EngineFault)
    assert words in error.fault
    assert "while working" in error.fault
    assert "Traceback" in error.details
    assert recorder.result(client.submit(Ping("still here"))) == "still here"
    assert not [event for event in recorder.events if isinstance(event, Restarted)]


@pytest.mark.skipif(sys.platform != "linux", reason="the bound is Linux's RLIMIT_DATA")
def test_that_a_request_that_needs_too_much_memory_fails_and_the_engine_lives(
    start_client: StartClient, recorder: Recorder
) -> None:
    client = start_client(memory_nbytes=256 << 20)
    error = recorder.error(client.submit(Allocate(1 << 30)))
    assert isinstance(error, OutOfMemory)
    assert "not enough memory" in str(error)
    assert recorder.result(client.submit(Allocate(1 << 20))) == 1 << 20
    assert not [event for event in recorder.events if isinstance(event, Restarted)]


def test_that_what_libraries_print_does_not_reach_the_protocol(client: EngineClient, recorder: Recorder) -> None:
    assert recorder.result(client.submit(Spew())) == ""
    assert recorder.result(client.submit(Ping("clean"))) == "clean"


def test_that_a_receiver_that_raises_is_reported_and_the_next_event_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    reported: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: reported.append(str(args.exc_value)))

    def receive(event: object) -> None:
        recorder(event)
        if isinstance(event, Accepted):
            raise ValueError("clumsy")

    client = EngineClient(receive)
    client.start()
    try:
        assert recorder.result(client.submit(Ping("x"))) == "x"
    finally:
        client.close()
    assert reported == ["clumsy"]


def test_that_a_closed_client_takes_no_request_and_sends_no_event(client: EngineClient, recorder: Recorder) -> None:
    job = client.submit(Steps(100_000, 0.01))
    recorder.wait_until_running(job)
    client.close()
    n_events = len(recorder.events)
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.submit(Ping())
    time.sleep(0.05)
    assert len(recorder.events) == n_events


def test_that_a_client_that_was_never_started_can_be_closed(recorder: Recorder) -> None:
    EngineClient(recorder).close()
    assert recorder.events == []


def test_that_a_save_under_way_removes_its_temporary_file_when_the_window_closes(
    client: EngineClient, recorder: Recorder, tmp_path: Path
) -> None:
    job = client.submit(Save(tmp_path / "half"))
    recorder.wait_until_running(job)
    assert (tmp_path / "half").exists()
    client.close()
    assert not (tmp_path / "half").exists()
