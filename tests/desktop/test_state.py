"""The state folder: a log that stays small, and notes of windows that did not end properly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from viewer.desktop import state
from viewer.desktop.state import Crash, RunNote, crashes, log, state_folder

ROOT = Path(__file__).parents[2]
RUN = """
import faulthandler, os, sys
from viewer.desktop.state import RunNote
note = RunNote()
faulthandler.enable(note.start())
note.keep(['*"/a.pth"', ' "/b.pth"'])
if sys.argv[1] == "crash":
    faulthandler._sigsegv()
elif sys.argv[1] == "wait":
    print("ready", flush=True)
    sys.stdin.read()
else:
    faulthandler.disable()
    note.release()
"""


def run(how: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, how],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def names() -> list[str]:
    folder = state_folder()
    assert folder is not None
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_that_a_crash_is_told_once_with_its_session_and_where_it_was() -> None:
    run("crash").communicate()
    (crash,) = crashes()
    assert crash.session == ['*"/a.pth"', ' "/b.pth"']
    assert "Segmentation fault" in crash.fault
    assert crashes() == []
    assert names() == []


def test_that_a_window_that_ends_properly_leaves_nothing() -> None:
    assert run("end").communicate() == ("", "")
    assert names() == []


def test_that_a_window_that_runs_is_none_that_crashed_and_one_that_was_killed_is() -> None:
    running = run("wait")
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    assert crashes() == []
    running.kill()
    running.communicate()
    assert crashes() == [Crash(['*"/a.pth"', ' "/b.pth"'], "")]


def test_that_a_note_that_was_cut_short_is_a_crash_without_a_session() -> None:
    folder = state_folder()
    assert folder is not None
    folder.mkdir(parents=True)
    (folder / "run-1.lock").touch()
    (folder / "run-1.json").write_text('["a')
    assert crashes() == [Crash([], "")]


def test_that_the_log_keeps_its_last_entries_and_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "LOG_NBYTES", 1000)
    for number in range(100):
        log(f"fault {number} " + "x" * 50)
    folder = state_folder()
    assert folder is not None
    kept = sorted(folder.glob("checkpoint-viewer*.log"))
    assert len(kept) == 3
    assert all(path.stat().st_size <= 1000 for path in kept)
    assert "fault 99 " in (folder / state.LOG_NAME).read_text().splitlines()[-1]
    assert (folder / state.LOG_NAME).stat().st_mode & 0o077 == 0 or folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("home", ["missing", "file"])
def test_that_a_home_that_cannot_be_written_is_no_error(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / home
    if home == "file":
        place.write_text("in the way")
        place = place / "below"
    else:
        place = Path("/proc/nowhere")
    monkeypatch.setenv("XDG_STATE_HOME", str(place))
    log("a fault")
    note = RunNote()
    assert note.start() is None
    note.keep(["x"])
    note.release()
    assert crashes() == []
