"""Everything that the program does, where no network is and where modules of the same names lie beside the file.

The engine and the command line open, scan, compare with helpers and rules, export, and try the round trip, in the
folder of the checkpoint as their working folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from tests.engine.recorder import Recorder
from tests.security.listening import HEARD, heard, main_with_ear, set_traps, with_ear, written
from viewer.compare.options import CompareOptions, RenameRule
from viewer.compare.results import Overview
from viewer.engine.client import EngineClient
from viewer.engine.command import engine_command
from viewer.engine.export_requests import Export, Verify
from viewer.engine.protocol import Compare, Event, OpenFile
from viewer.engine.roundtrip_requests import TryRoundTrip
from viewer.engine.values_requests import ScanAll
from viewer.export.options import ExportOptions, ExportResult
from viewer.export.verify_results import VerifyReport
from viewer.roundtrip.results import RoundTrip

OUR_SCRATCH = re.compile(r"checkpoint-viewer-roundtrip-|[a-z0-9_]{8}$")
"""Also what Python's tempfile writes, once, to see whether a folder can be written to."""

STARTED = {"viewer.compare.helper", "viewer.compare.rewriting", "viewer.roundtrip.twice"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two checkpoints among traps, as the working folder."""
    generator = torch.Generator().manual_seed(0)
    values = {"net.w": torch.randn(1_200_000, generator=generator), "net.b": torch.ones(3)}
    torch.save({"model": values, "step": 1}, tmp_path / "a.pt")
    torch.save({"model": {name: value + 1 for name, value in values.items()}, "step": 2}, tmp_path / "b.pt")
    set_traps(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(HEARD, str(tmp_path / "heard"))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    monkeypatch.setenv("PYTHONINSPECT", "")
    yield tmp_path
    assert not (tmp_path / "canary").exists()


def run_here(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*map(str, command)],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


class PatientRecorder(Recorder):
    """Waits for processes that import torch, of which there are four here, on a machine that has much else to do."""

    def wait(self, wanted: Callable[[Event], bool], timeout_s: float = 90.0) -> Event:
        return super().wait(wanted, timeout_s)


def without_network() -> list[str]:
    """A command before the command: no network at all, where the system lets us."""
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-n", "true"], capture_output=True, check=False).returncode:
        return []
    return [unshare, "-n"]


def assert_in_known_places(paths: set[Path], *targets: Path) -> None:
    """Nothing is written but the target, by way of a temporary file beside it, and below the folders of the user."""
    scratch = Path(os.environ["TMPDIR"])
    places = [Path(os.environ[f"XDG_{name}_HOME"]) / "checkpoint-viewer" for name in ("CACHE", "STATE", "CONFIG")]
    for path in paths:
        beside = path.name.startswith(".checkpoint-viewer-") and path.parent in {target.parent for target in targets}
        in_scratch = path.is_relative_to(scratch) and bool(OUR_SCRATCH.match(path.relative_to(scratch).parts[0]))
        own = path in (Path("/proc/self/oom_score_adj"), *targets) or beside or in_scratch
        assert own or any(place in path.parents for place in places), path


def test_that_the_traps_would_close(folder: Path) -> None:
    run_here(sys.executable, "-c", "import json")
    assert (folder / "canary").exists()
    (folder / "canary").unlink()


def test_that_the_ear_hears_and_refuses(folder: Path) -> None:
    body = "import socket\nsocket.create_connection(('127.0.0.1', 9))"
    assert "PermissionError" in run_here(*main_with_ear(body)).stderr
    assert heard(folder / "heard") == ({"main"}, ["socket.getaddrinfo"])


def test_that_the_engine_and_its_helpers_reach_no_network_and_import_nothing_beside_the_file(folder: Path) -> None:
    recorder = PatientRecorder()
    client = EngineClient(recorder, command=with_ear(engine_command()))
    client.start()
    try:
        a, b = (client.submit(OpenFile(folder / name)) for name in ("a.pt", "b.pt"))
        rules = (RenameRule("(model)+", "model"),)
        compared = recorder.result(client.submit(Compare(a, b, options=CompareOptions(rules=rules))))
        assert isinstance(compared, Overview)
        recorder.result(client.submit(ScanAll(a)))
        exported = recorder.result(client.submit(Export(a, folder / "c.pth", ExportOptions())))
        assert isinstance(exported, ExportResult)
        report = recorder.result(client.submit(Verify(a)))
        assert isinstance(report, VerifyReport)
        found = recorder.result(client.submit(TryRoundTrip(a, 0, ways=("torch.save",), check_bytes=True)))
        assert isinstance(found, RoundTrip)
        assert [way.bits for way in found.ways] == [True]
    finally:
        client.close()
    assert heard(folder / "heard") == ({"viewer.engine.server", *STARTED}, [])
    assert_in_known_places(written(folder / "heard"), folder / "c.pth")


def test_that_the_command_line_works_without_a_network_and_imports_nothing_beside_the_file(folder: Path) -> None:
    body = (
        "from viewer.cli.main import main\n"
        "for line in ('show a.pt --stats', 'diff a.pt b.pt --map (model)+=>model', 'export a.pt c.pth',\n"
        "             'digest a.pt', 'verify a.pt', 'explain a.pt c.pth', 'check a.pt', 'roundtrip a.pt'):\n"
        "    print(line.split()[0], main(line.split()))\n"
    )
    done = run_here(*without_network(), *main_with_ear(body))
    ended = [line for line in done.stdout.splitlines() if line.split()[:1] and line.split()[-1] in "0123"]
    assert "Error" not in done.stderr, done.stderr
    for command, codes in {
        "show": "0", "diff": "1", "export": "0", "digest": "0", "verify": "01", "explain": "01", "check": "012",
        "roundtrip": "01",
    }.items():  # fmt: skip
        assert any(line in {f"{command} {code}" for code in codes} for line in ended), (command, done.stdout)
    assert heard(folder / "heard") == ({"main", *STARTED}, [])
    assert_in_known_places(written(folder / "heard"), folder / "c.pth")


@pytest.mark.parametrize("start", ["the command", "python -m viewer"])
def test_that_the_program_imports_nothing_from_the_working_folder(folder: Path, start: str) -> None:
    command = [str(Path(sys.executable).with_name("checkpoint-viewer"))]
    if start != "the command" or not Path(command[0]).exists():
        # Python itself looks there for the module that -m names, and for what our first lines need.
        for name in ("viewer", "typing", "sitecustomize", "usercustomize"):
            (folder / f"{name}.py").unlink()
        command = [sys.executable, "-m", "viewer"]
    done = run_here(*command, "show", "a.pt", *(["--stats"] if start == "the command" else []))
    assert (done.returncode, done.stderr) == (0, "")
    assert "net.w" in done.stdout


WINDOW = """
import os
from pathlib import Path
from PySide6.QtCore import QTimer
import viewer.gui.window as module
from viewer.cli.window import WindowOptions
from viewer.gui.app import run_window

def sockets(process):
    local = {line.split()[6] for line in (process / "net/unix").read_text().splitlines()[1:]}
    found = [os.readlink(fd) for fd in (process / "fd").iterdir() if fd.exists() or fd.is_symlink()]
    return [name for name in found if name.startswith("socket:") and name[8:-1] not in local]

def look(window):
    page = window.documents.pages[0] if window.documents.pages else None
    if page is not None and page.checkpoint is not None:
        window.tested.stop()
        for process in (os.getpid(), window.documents._bridge._client.pid):
            print("sockets of the network:", sockets(Path("/proc") / str(process)))
        print("opened", page.path.name)
        window.close()

shown = module.MainWindow.ask_engine
def ask_engine(self):
    shown(self)
    self.tested = QTimer(self, interval=20)
    self.tested.timeout.connect(lambda: look(self))
    self.tested.start()
module.MainWindow.ask_engine = ask_engine
sys.exit(run_window([Path("a.pt")], WindowOptions()))
"""


def test_that_the_window_opens_no_connection_and_imports_nothing_beside_the_file(folder: Path) -> None:
    done = run_here(*without_network(), *main_with_ear(WINDOW), QT_QPA_PLATFORM="offscreen")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["sockets of the network: []"] * 2 + ["opened a.pt"]
    assert heard(folder / "heard") == ({"main", "viewer.engine.server"}, [])
    assert_in_known_places(written(folder / "heard"))
