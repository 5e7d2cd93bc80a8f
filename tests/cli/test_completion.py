"""Completion scripts, asked by the shells themselves where they are there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import run_main
from viewer.cli.commands import COMMANDS
from viewer.cli.completion import SHELLS
from viewer.cli.parsers import command_parser


def written(capsys: pytest.CaptureFixture[str], shell: str, tmp_path: Path) -> Path:
    ran = run_main(capsys, "completion", shell)
    assert (ran.code, ran.err) == (0, "")
    path = tmp_path / f"_completion.{shell}"
    path.write_text(ran.out, encoding="utf-8")
    return path


def bash_completes(path: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    line = " ".join(f"'{word}'" for word in words)
    asked = f"source {path}; COMP_WORDS=(checkpoint-viewer {line}); COMP_CWORD={len(words)}; "
    asked += "_checkpoint_viewer; printf '%s\\n' \"${COMPREPLY[@]}\""
    done = subprocess.run(
        [bash, "--norc", "-c", asked], capture_output=True, text=True, cwd=path.parent, timeout=30, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_that_bash_completes_commands_files_options_and_choices(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = written(capsys, "bash", tmp_path)
    (tmp_path / "shown.pth").touch()
    assert bash_completes(path, "sho") == ["show", "shown.pth"]
    assert bash_completes(path, "show", "sh") == ["shown.pth"]
    assert bash_completes(path, "show", "--st") == ["--stats"]
    assert bash_completes(path, "--theme", "d") == ["dark"]
    assert bash_completes(path, "completion", "f") == ["fish"]
    assert set(bash_completes(path, "")) >= {command.name for command in COMMANDS}


@pytest.mark.parametrize("shell", SHELLS)
def test_that_every_command_and_every_option_is_in_the_script(
    shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = written(capsys, shell, tmp_path).read_text(encoding="utf-8")
    for command in COMMANDS:
        assert command.name in text
        for action in command_parser(command)._actions:
            for name in action.option_strings:
                assert (f"-l {name[2:]}" if shell == "fish" and name.startswith("--") else name[1:]) in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_that_the_shell_can_read_its_script(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(
        [program, "-n", str(written(capsys, shell, tmp_path))],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_that_an_unknown_shell_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_main(capsys, "completion", "tcsh")
    assert ran.code == 2
    assert ran.err.count("\n") == 1
