"""What the program keeps of a file is for the user alone, whatever the umask allows."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from viewer import open_checkpoint
from viewer.desktop.state import RunNote, log, state_folder
from viewer.engine.in_process import run_request
from viewer.engine.values_requests import ScanAll
from viewer.roundtrip.scratch import new_folder
from viewer.tensors import scan_cache

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """A umask that lets everybody read and write."""
    former = os.umask(0)
    yield
    os.umask(former)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_that_statistics_in_the_cache_are_for_the_user_alone(
    sample_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(scan_cache, "_SETTLED_S", -1.0)
    run_request(ScanAll(1), open_checkpoint(sample_path))
    folder = scan_cache.cache_folder()
    assert folder is not None
    assert folder == tmp_path / "cache" / "checkpoint-viewer" / "scans"
    (kept,) = folder.iterdir()
    assert (mode(folder), mode(kept)) == (0o700, 0o600)


def test_that_the_log_and_the_note_of_what_is_open_are_for_the_user_alone() -> None:
    folder = state_folder()
    assert folder is not None
    log("a fault")
    note = RunNote()
    note.start()
    note.keep(["/secret/model.pth"])
    assert len(list(folder.iterdir())) > 2
    assert mode(folder) == 0o700
    note.release()


def test_that_copies_of_a_round_trip_are_for_the_user_alone() -> None:
    folder = new_folder("try")
    assert mode(folder) == 0o700
    folder.rmdir()
