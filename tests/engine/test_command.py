from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.recorder import Recorder
from viewer.engine.client import EngineClient
from viewer.engine.command import engine_command
from viewer.engine.protocol import Ping


def test_that_the_engine_starts_in_any_folder_and_imports_nothing_from_it(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json.py", "viewer.py", "dataclasses.py", "ctypes.py", "sitecustomize.py"):
        (tmp_path / name).write_text("import pathlib; pathlib.Path('canary').touch(); raise SystemExit('from here')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    monkeypatch.syspath_prepend("")
    monkeypatch.syspath_prepend(str(tmp_path))
    client = EngineClient(recorder)
    client.start()
    try:
        assert recorder.result(client.submit(Ping("here"))) == "here"
    finally:
        client.close()
    assert not (tmp_path / "canary").exists()


def test_that_folders_this_process_imports_from_come_after_the_engines_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So torch is found where only PYTHONPATH or the user's site-packages has it, and shadows nothing."""
    (tmp_path / "only_here.py").write_text("")
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.syspath_prepend(str(tmp_path))
    command = engine_command()
    at = command.index("-c") + 1
    command[at] = command[at].replace(
        "import_module(name).main()",
        "import json, only_here, viewer; print(json.dumps([sys.path, viewer.__file__]))",
    )
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    paths, package = json.loads(done.stdout)
    assert str(tmp_path) in paths
    assert paths.index(str(tmp_path)) > paths.index(str(Path(json.__path__[0]).parent))
    assert Path(package).samefile(Path(__file__).parents[2] / "viewer" / "__init__.py")


def test_that_a_frozen_application_starts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert engine_command() == [sys.executable, "--engine"]


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("viewer.engine.client", "torch numpy PySide6 multiprocessing asyncio socket ssl logging ctypes"),
        ("viewer.engine.server", "torch numpy PySide6 subprocess multiprocessing asyncio socket ssl logging"),
    ],
)
def test_that_importing_either_side_imports_nothing_heavy(module: str, unwanted: str) -> None:
    code = f"import {module}, sys; print(*sorted(set(sys.modules) & set({unwanted.split()!r})))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.split() == []


def test_that_python_m_viewer_engine_ends_when_its_input_does() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "viewer.engine"], input=b"", capture_output=True, cwd=root, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_that_the_engine_refuses_input_that_is_not_its_protocol() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "viewer.engine"]
    done = subprocess.run(command, input=b"GET / HTTP/1.1\r\n\r\n", capture_output=True, cwd=root, check=False)
    assert done.returncode == 65
    assert b"which is no header" in done.stderr
    assert done.stdout == b""
