"""Settings, kept scans, the log and the note of what is open, where they cannot be written or are not what they were.

None of them is needed: the program does what it was asked to, what was there stays whole, nothing is left beside it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
import torch

from tests.faults.places import bounded_files, can_mount, fill, make_device, small_disk, without_root_rights
from tests.faults.target_trees import tree
from viewer.desktop.state import LOG_NAME, RunNote, crashes, log
from viewer.formats.opening import open_task
from viewer.gui.settings import Settings
from viewer.task import Progress, run
from viewer.tensors import scan_cache
from viewer.tensors.scan_all import scan_all_task
from viewer.tensors.scan_results import ScanBatch, ScanRow

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="homes, mounts and bounds of Linux")

ROOT: Final = Path(__file__).parents[2]
VALUES: Final = torch.arange(60.0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "a.pth"
    torch.save({"w": VALUES, "b": torch.zeros(3)}, path)
    return path


@pytest.fixture(autouse=True)
def trusted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was written just now is remembered, too."""
    monkeypatch.setattr(scan_cache, "_SETTLED_S", -1.0)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    folder.mkdir()
    yield folder
    shutil.rmtree(tmp_path)


def live_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(variable, str(home / variable))


def settings_file() -> Path:
    """Named to Qt, which reads the variable once for all tests of a process."""
    return Path(os.environ["XDG_CONFIG_HOME"]) / "checkpoint-viewer.ini"


# What is written


def scanned(model: Path) -> list[ScanRow]:
    rows: list[ScanRow] = []

    def take(progress: Progress) -> None:
        if isinstance(progress.partial, ScanBatch):
            rows.extend(progress.partial.rows)

    run(scan_all_task(run(open_task(model))), take)
    return sorted(rows, key=number_of)


def number_of(row: ScanRow) -> int:
    return row.number


def write_settings(_model: Path) -> None:
    settings = Settings(settings_file())
    settings.set("view/zoom", 3)
    settings.save()
    assert settings.get("view/zoom") == 3
    assert settings.place_words


def write_cache(model: Path) -> None:
    rows = scanned(model)
    assert [(row.count, row.max) for row in rows] == [(60, 59.0), (3, 0.0)]


def write_log(_model: Path) -> None:
    log("a fault " + "x" * 200)


def write_note(_model: Path) -> None:
    note = RunNote()
    note.start()
    note.keep(["x" * 200])
    note.release()
    assert crashes() == []


WRITERS: Final[dict[str, Callable[[Path], None]]] = {
    "settings": write_settings,
    "kept scans": write_cache,
    "log": write_log,
    "note of what is open": write_note,
}


# Where


def full(home: Path, stack: ExitStack) -> Path:
    if not can_mount():
        pytest.skip("needs the right to mount")
    disk = stack.enter_context(small_disk(home / "disk", 128 << 10))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        (disk / name).mkdir()
    fill(disk / "filler")
    return disk


def bounded(home: Path, stack: ExitStack) -> Path:
    stack.enter_context(bounded_files(10))
    return home


def read_only_folder(home: Path, stack: ExitStack) -> Path:
    home.chmod(0o555)
    stack.callback(home.chmod, 0o755)
    stack.enter_context(without_root_rights())
    return home


def read_only_disk(home: Path, stack: ExitStack) -> Path:
    if not can_mount():
        pytest.skip("needs the right to mount")
    return stack.enter_context(small_disk(home / "disk", 1 << 20, read_only=True))


def missing(_home: Path, _stack: ExitStack) -> Path:
    return Path("/proc/nowhere")


def a_file(home: Path, _stack: ExitStack) -> Path:
    (home / "file").write_bytes(b"old")
    return home / "file"


def too_long(home: Path, _stack: ExitStack) -> Path:
    return home.joinpath(*["x" * 200] * 25)


HOMES: Final = {
    "disk full": full,
    "quota": bounded,
    "read-only folder": read_only_folder,
    "read-only disk": read_only_disk,
    "missing home": missing,
    "a file": a_file,
    "path too long": too_long,
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("place", HOMES)
def test_that_a_home_that_cannot_be_written_keeps_nothing_and_stops_nothing(
    home: Path, model: Path, place: str, writer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        at = HOMES[place](home, stack)
        live_in(at, monkeypatch)
        before = tree(at)
        WRITERS[writer](model)
        left = {name for name, (_, content) in tree(at).items() if content} - before.keys()
    if place == "quota" and writer == "log":
        left.discard(f"XDG_STATE_HOME/checkpoint-viewer/{LOG_NAME}")  # the bytes that still went
    assert not left


# What is in the place of the file


def file_of(writer: str, model: Path) -> Path:
    """The file that a writer writes, found by having it write."""
    WRITERS[writer](model)
    base = {"settings": "XDG_CONFIG_HOME", "kept scans": "XDG_CACHE_HOME", "log": "XDG_STATE_HOME"}[writer]
    (found,) = (path for path in Path(os.environ[base]).rglob("*") if path.is_file())
    return found


def put_folder(path: Path) -> None:
    path.mkdir()


def put_link(path: Path) -> None:
    path.symlink_to(path.with_name("behind"))
    path.with_name("behind").write_bytes(b"")


def put_device(path: Path) -> None:
    make_device(path)


def put_pipe(path: Path) -> None:
    os.mkfifo(path)


THINGS: Final = {"a folder": put_folder, "a link": put_link, "a device": put_device, "a pipe": put_pipe}


@pytest.mark.parametrize("writer", ["settings", "kept scans", "log"])
@pytest.mark.parametrize("thing", THINGS)
def test_that_something_in_the_place_of_a_file_keeps_nothing_and_stops_nothing(
    home: Path, model: Path, thing: str, writer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(home, monkeypatch)
    file = file_of(writer, model)
    file.unlink()
    THINGS[thing](file)
    before = set(tree(home))
    WRITERS[writer](model)
    assert set(tree(home)) == before


# What was there is not what it was

NOISE: Final = {
    "empty": b"",
    "cut short": None,
    "zeros": bytes(500),
    "noise": bytes(range(256)) * 40,
    "a bomb": b"[" * 100_000,
    "other text": b"[view]\nzoom=@Rect(1 2 3 4)\n\xff\xfe=\xff\n",
}


@pytest.mark.parametrize("writer", ["settings", "kept scans"])
@pytest.mark.parametrize("noise", NOISE)
def test_that_a_file_that_was_damaged_counts_as_nothing_and_is_written_anew(
    home: Path, model: Path, noise: str, writer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(home, monkeypatch)
    file = file_of(writer, model)
    whole = file.read_bytes()
    content = NOISE[noise]
    file.write_bytes(whole[: len(whole) // 2] if content is None else content)
    WRITERS[writer](model)
    if writer == "settings":
        assert Settings(file).get("view/zoom") == 3
    else:
        assert file.read_bytes().partition(b"\n")[0] == whole.partition(b"\n")[0]
    assert sorted(path.name for path in file.parent.iterdir()) == [file.name]


# Two at once, and a clock that goes backwards

_SCAN: Final = """
import sys
from viewer.formats.opening import open_task
from viewer.task import run
from viewer.tensors import scan_cache
from viewer.tensors.scan_all import scan_all_task
scan_cache._SETTLED_S = -1.0
sys.stdin.readline()
for number in range(8):
    if number % 3 == int(sys.argv[2]):
        scan_cache.clear()
    totals = run(scan_all_task(run(open_task(sys.argv[1]))))
    assert totals.problems == 0
"""


def test_that_two_instances_at_once_share_one_cache(home: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live_in(home, monkeypatch)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", _SCAN, str(model), str(number)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(2)
    ]  # fmt: skip
    for process in both:  # both have imported what they need before either begins
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[1] for process in both] == ["", ""]
    assert [process.returncode for process in both] == [0, 0]
    write_cache(model)
    (kept,) = (home / "XDG_CACHE_HOME").rglob("*.json")
    assert json.loads(kept.read_bytes().partition(b"\n")[0])[0] == scan_cache.VERSION
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_that_two_windows_at_once_keep_the_settings_of_both(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    live_in(home, monkeypatch)
    one, other = Settings(settings_file()), Settings(settings_file())
    one.set("view/zoom", 3)
    other.set("values/precision", 7)
    one.save()
    other.save()
    assert [Settings(settings_file()).get(key) for key in ("view/zoom", "values/precision")] == [3, 7]


def test_that_a_clock_that_goes_backwards_hides_no_change(
    home: Path, model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file that is changed while the clock is behind has a time before that of its first scan."""
    live_in(home, monkeypatch)
    path = Path(shutil.copyfile(model, tmp_path / "a.pth"))
    write_cache(path)
    status = path.stat()
    data = path.read_bytes().replace(VALUES.numpy().tobytes(), (VALUES + 1).numpy().tobytes())
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - 3600 * 10**9))
    assert [(row.count, row.max) for row in scanned(path)] == [(60, 60.0), (3, 0.0)]


def test_that_a_clock_that_goes_backwards_breaks_no_log_and_trusts_no_file_of_the_future(
    home: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_in(home, monkeypatch)
    monkeypatch.setattr(scan_cache, "_SETTLED_S", 2.0)
    monkeypatch.setattr(time, "time", clock_of_1970)
    write_log(model)
    write_cache(model)
    assert not list((home / "XDG_CACHE_HOME").rglob("*.json"))
    assert len((home / "XDG_STATE_HOME" / "checkpoint-viewer" / LOG_NAME).read_text().splitlines()) == 1


def clock_of_1970() -> float:
    return 1.0
