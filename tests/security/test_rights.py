"""What the processes that read files have given up before they read one, seen from outside (Linux)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.recorder import Recorder
from viewer import open_checkpoint
from viewer.compare.helper import Helper
from viewer.engine.client import EngineClient
from viewer.engine.command import engine_command
from viewer.engine.protocol import Ping
from viewer.interpreter import module_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")


def facts(pid: int) -> tuple[str, list[str]]:
    """NoNewPrivs, and the soft and hard limit of core files."""
    process = Path("/proc") / str(pid)
    status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines() if ":\t" in line)
    limit = next(line for line in (process / "limits").read_text().splitlines() if line.startswith("Max core file"))
    return status["NoNewPrivs"], limit.split()[4:6]


def assert_given_up(pid: int) -> None:
    no_new_privileges, cores = facts(pid)
    assert no_new_privileges == "1"
    # With a limit of 1 the kernel neither writes a core file nor feeds one to a program; a hard 0 stays.
    assert cores in (["1", "1"], ["0", "0"])


@pytest.fixture
def inheritable() -> object:
    """A descriptor that a child would get, were it not closed."""
    fd = os.open("/etc/hostname" if Path("/etc/hostname").exists() else os.devnull, os.O_RDONLY)
    os.set_inheritable(fd, True)
    yield fd
    os.close(fd)


def test_that_the_engine_writes_no_core_file_and_gains_no_rights_and_inherits_nothing(inheritable: int) -> None:
    at = Path(f"/proc/self/fd/{inheritable}").readlink()
    recorder = Recorder()
    client = EngineClient(recorder)
    client.start()
    try:
        recorder.result(client.submit(Ping("here")))
        pid = client.pid
        assert pid is not None
        assert_given_up(pid)
        open_files = [str(fd.readlink()) for fd in (Path("/proc") / str(pid) / "fd").iterdir() if fd.is_symlink()]
        assert str(at) not in open_files
        assert all(name.startswith("pipe:") or name == os.devnull for name in open_files), open_files
    finally:
        client.close()


def test_that_a_helper_of_the_command_line_gives_up_the_same(sample_path: Path) -> None:
    checkpoint = open_checkpoint(sample_path)
    helper = Helper(checkpoint, checkpoint)
    try:
        helper.wait_until_ready()
        assert_given_up(helper._process.pid)
    finally:
        helper.close()


@pytest.mark.parametrize("start", ["-m viewer.engine", "-m viewer --engine", "command"])
def test_that_an_engine_started_in_any_way_gives_up_the_same(start: str) -> None:
    """Frozen applications start themselves with --engine."""
    command = engine_command() if start == "command" else [sys.executable, *start.split()]
    root = Path(__file__).parents[2]
    engine = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root)
    assert engine.stdin is not None
    assert engine.stdout is not None
    try:
        # It says hello by repeating the token that it was sent.
        from viewer.engine.admitted import ADMITTED
        from viewer.engine.framing import pack_message
        from viewer.engine.protocol import Hello

        engine.stdin.write(pack_message(0, Hello(b"x" * 16, 0), ADMITTED))
        engine.stdin.flush()
        assert engine.stdout.read(16) == b"x" * 16
        assert_given_up(engine.pid)
    finally:
        engine.kill()
        engine.wait()
        engine.stdin.close()
        engine.stdout.close()


def test_that_a_limit_of_the_person_is_never_raised() -> None:
    code = (
        "import resource, sys\nresource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
        "from viewer.interpreter import give_up_rights\ngive_up_rights()\n"
        "print(resource.getrlimit(resource.RLIMIT_CORE))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout == "(0, 0)\n"


def test_that_every_interpreter_we_start_is_isolated() -> None:
    for command in (
        engine_command(),
        module_command("viewer.compare.helper"),
        module_command("viewer.tensors.helper"),
    ):
        assert "-I" in command
