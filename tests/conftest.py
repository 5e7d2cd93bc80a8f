"""What every test gets: a place of its own for settings, and a check that it leaves nothing behind.

The environment is set while this file is imported, which is before any test module can import Qt.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from viewer.resources import resource_path

_GRACE_S = 5.0
"""How long what a test started may take to end after it; an engine that is asked to close needs some 0.1 s."""


def _isolate() -> Path:
    """Point settings, caches, sockets and temporary files of this process and its children to a new folder."""
    # pytest's own tmp_path stays where it would be; it is kept for a look after a failure.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix="cv-"))  # short: the path of a Unix socket has 108 bytes at most
    for variable, name in {
        "HOME": "home",
        "XDG_CONFIG_HOME": "config",
        "XDG_DATA_HOME": "data",
        "XDG_STATE_HOME": "state",
        "XDG_CACHE_HOME": "cache",
        "XDG_RUNTIME_DIR": "run",
        "TMPDIR": "tmp",
    }.items():
        (folder / name).mkdir(mode=0o700)
        os.environ[variable] = str(folder / name)
    # torch's optimizers make this folder, in the temporary folder unless told otherwise.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "cache" / "torchinductor")
    tempfile.tempdir = None  # read TMPDIR again
    if os.environ.get("CHECKPOINT_VIEWER_WINDOW_TESTS") != "1":
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        os.environ.pop("DISPLAY", None)
        os.environ.pop("WAYLAND_DISPLAY", None)
    return folder


_FOLDER = _isolate()


def pytest_unconfigure() -> None:
    shutil.rmtree(_FOLDER, ignore_errors=True)


@pytest.fixture
def sample_paths() -> tuple[Path, Path]:
    """The two training checkpoints that come with the program, the earlier step first."""
    return resource_path("samples/training-step-0200.pth"), resource_path("samples/training-step-0400.pth")


@pytest.fixture
def sample_path(sample_paths: tuple[Path, Path]) -> Path:
    """One training checkpoint: model, Adam with two groups, scheduler, configuration."""
    return sample_paths[0]


@pytest.fixture(autouse=True)
def fresh_settings() -> Iterator[None]:
    """No test sees what another wrote to its settings."""
    yield
    for name in ("config", "state", "data"):
        for entry in (_FOLDER / name).iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()


@pytest.fixture(autouse=True)
def seeded_torch() -> None:
    """The same random tensors each time, without importing torch for tests that do not use it."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail a test after which a child process, a thread or a temporary file is still there.

    What fixtures of a wider scope hold is older than the test and may stay.
    """
    processes, threads, files = _children(), set(threading.enumerate()), _temporary_files()
    yield
    left = [
        *(f"process {text}" for text in _processes_left(_children() - processes)),
        *(f"thread {thread.name}" for thread in _threads_left(set(threading.enumerate()) - threads)),
        *(f"file {path}" for path in sorted(_temporary_files() - files)),
    ]
    if left:
        pytest.fail("the test leaves behind: " + "; ".join(left), pytrace=False)


def _children() -> set[int]:
    if sys.platform != "linux":
        return {child.pid for child in psutil.Process().children()}
    # psutil reads the whole of /proc for this, which takes longer than most tests.
    pids: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            pids.update(map(int, (task / "children").read_text().split()))
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
            continue
    return pids


def _processes_left(pids: set[int]) -> list[str]:
    """Command lines of those that do not end in time; they are killed, so that one test fails not all after it."""
    watched: list[tuple[psutil.Process, str]] = []
    for pid in pids:
        try:
            process = psutil.Process(pid)
            command = " ".join(process.cmdline()) or process.name()
        except psutil.NoSuchProcess:
            continue
        # multiprocessing starts its resource tracker once and keeps it until Python ends.
        if "multiprocessing.resource_tracker" not in command:
            watched.append((process, command))
    _, alive = psutil.wait_procs([process for process, _ in watched], timeout=_GRACE_S)
    for process in alive:
        process.kill()
    psutil.wait_procs(alive, timeout=_GRACE_S)
    return [f"{process.pid} ({command[:200]})" for process, command in watched if process in alive]


def _threads_left(threads: set[threading.Thread]) -> list[threading.Thread]:
    # A thread that Python did not start (a QThread's) shows up as a dummy once it runs Python, and can't be joined.
    started = [thread for thread in threads if not isinstance(thread, threading._DummyThread)]
    for thread in started:
        thread.join(_GRACE_S)
    return [thread for thread in started if thread.is_alive()]


def _temporary_files() -> set[Path]:
    # multiprocessing keeps one folder for its sockets (pymp-…) until Python ends.
    return {path for path in (_FOLDER / "tmp").iterdir() if not path.name.startswith("pymp-")}


class _Collector(logging.Handler):
    """Keeps the records that a test does not expect."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(autouse=True)
def no_unexpected_logs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that logs a warning or worse; one that asks for `caplog` looks at the records itself."""
    collector = _Collector()
    logging.getLogger().addHandler(collector)
    yield
    logging.getLogger().removeHandler(collector)
    if collector.records and "caplog" not in request.fixturenames:
        lines = [f"{record.levelname} {record.name}: {record.getMessage()}" for record in collector.records]
        pytest.fail("unexpected log: " + "; ".join(lines), pytrace=False)
