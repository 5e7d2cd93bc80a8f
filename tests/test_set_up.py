"""The set-up scripts: what they say when something is missing, and that they leave alone what is there."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tools import system_libraries

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the set-up scripts are for sh")


@pytest.fixture
def bare_checkout(tmp_path: Path) -> Path:
    """A folder with the set-up script and no .venv."""
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "set_up.sh", tmp_path / "tools")
    return tmp_path


def set_up(checkout: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "tools/set_up.sh", "run"],
        cwd=checkout,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_that_a_python_that_is_too_old_is_named(bare_checkout: Path) -> None:
    old = bare_checkout / "python3.9"
    write_program(old, "exit 1")
    result = set_up(bare_checkout, PYTHON=str(old))
    assert result.returncode == 1
    assert result.stderr == f"set-up: PYTHON={old} is not a Python 3.11 or newer.\n"


def test_that_a_machine_without_python_is_told_what_it_needs(bare_checkout: Path) -> None:
    empty = bare_checkout / "bin"
    empty.mkdir()
    for program in ("sh", "dirname", "id"):
        (empty / program).symlink_to(shutil.which(program) or program)
    result = set_up(bare_checkout, PATH=str(empty), PYTHON="")
    assert result.returncode == 1
    assert "Python 3.11 or newer is needed" in result.stderr


def test_that_a_missing_venv_module_is_one_clear_line(bare_checkout: Path) -> None:
    # A Python that passes the version check and fails to make a virtual environment, and no apt-get to mend it.
    python = bare_checkout / "python3"
    write_program(
        python,
        f'case "$*" in *venv*--clear*) exit 1;; *--version*) echo Python 3.11;; *) exec {sys.executable} "$@";; esac',
    )
    tools = bare_checkout / "bin"
    tools.mkdir()
    for program in ("sh", "dirname", "id"):
        (tools / program).symlink_to(shutil.which(program) or program)
    result = set_up(bare_checkout, PATH=str(tools), PYTHON=str(python))
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    assert f"sudo apt-get install {version}" in last


@pytest.mark.skipif(sys.platform != "linux", reason="Debian's package names")
def test_that_a_missing_library_is_reported_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system_libraries.missing_packages(screen=False, test=False) == []
    monkeypatch.setattr(
        system_libraries, "WINDOW_LIBRARIES", {"libnowhere.so.9": "libnowhere9", "libc.so.6": "libc6"}
    )
    assert system_libraries.missing_packages(screen=False, test=False) == ["libnowhere9"]


@pytest.mark.skipif(sys.platform != "linux", reason="Debian's package names")
def test_that_the_command_to_run_is_printed_where_nothing_can_be_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(system_libraries, "WINDOW_LIBRARIES", {"libnowhere.so.9": "libnowhere9"})
    monkeypatch.setenv("PATH", "")
    assert system_libraries.main([]) == 1
    assert "Run: sudo apt-get install libnowhere9" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="Debian's package names")
def test_that_the_demo_goes_on_without_a_virtual_screen_that_cannot_be_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert system_libraries.main(["--screen-if-possible"]) == 0
    assert system_libraries.main(["--screen"]) == 1
    assert "Run: sudo apt-get install xvfb" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="Debian's package names")
def test_that_what_is_missing_is_installed_as_root_without_a_question(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # An apt-get that notes what it is asked for, and brings Xvfb.
    log = tmp_path / "asked"
    brings = f"printf '#!/bin/sh\\n' > {tmp_path}/Xvfb; /bin/chmod +x {tmp_path}/Xvfb"
    write_program(tmp_path / "apt-get", f'echo "$DEBIAN_FRONTEND $*" >> {log}; case "$*" in *xvfb) {brings};; esac')
    (tmp_path / "env").symlink_to("/usr/bin/env")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert system_libraries.main(["--screen"]) == 0
    update, wanted = log.read_text(encoding="utf-8").splitlines()
    assert update.endswith(" update")
    assert wanted.startswith("noninteractive ")
    assert wanted.endswith(" install -y --no-install-recommends xvfb")
