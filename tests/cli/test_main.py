"""Which command is meant, help, versions, and what becomes of errors."""

from __future__ import annotations

import argparse
import gc
import json
from pathlib import Path

import pytest

from tests.cli.running import run_main, run_process
from viewer import __version__
from viewer.cli import show, window
from viewer.cli.commands import COMMANDS, Command
from viewer.errors import MalformedFile

_IMPORTED = """
import json, sys
from viewer.cli.main import main
code = main(sys.argv[1:])
heavy = {"torch", "numpy", "PySide6", "pyqtgraph"} & set(sys.modules)
print(json.dumps([code, sorted(heavy)]), file=sys.stderr)
"""


def heavy_modules(*arguments: str | Path) -> list[str]:
    ran = run_process(*arguments, code=_IMPORTED)
    code, heavy = json.loads(ran.err)
    assert code == 0
    return list(heavy)


@pytest.mark.parametrize("arguments", [["-h"], ["--version"], ["show", "--help"]])
def test_that_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    assert heavy_modules(*arguments) == []


def test_that_help_lists_every_command_and_how_to_open_a_file_called_like_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran = run_main(capsys, "--help")
    assert ran.code == 0
    assert all(f"\n  {command.name} " in ran.out for command in COMMANDS)
    assert "checkpoint-viewer -- show" in ran.out
    assert "--engine" not in ran.out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_that_every_command_has_help(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_main(capsys, command.name, "--help")
    assert ran.code == 0
    assert f"checkpoint-viewer {command.name}" in ran.out


def test_that_the_path_rules_stand_in_the_help_of_show(capsys: pytest.CaptureFixture[str]) -> None:
    out = run_main(capsys, "show", "--help").out
    for example in ("model/layer1.0.conv1.weight", "state[0]/exp_avg", 'files["a/b.py"]', 'cache[{"(1, 2)"}]'):
        assert example in out


def test_that_version_names_what_matters(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run_main(capsys, "--version")
    assert ran.code == 0
    assert ran.out.startswith(f"checkpoint-viewer {__version__}\n")
    assert [
        name for name in ("Python", "torch", "numpy", "PySide6-Essentials", "pyqtgraph") if name not in ran.out
    ] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["show", "a", "b"],
        ["show", "a", "--values", "-1"],
        ["show", "a", "--values", "x"],
        ["show", "a", "--js"],
        ["--theme", "pink"],
        ["--nonsense"],
    ],
    ids=" ".join,
)
def test_that_a_usage_error_is_one_line_and_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    ran = run_main(capsys, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("checkpoint-viewer: ")
    assert ran.err.count("\n") == 1
    assert "--help" in ran.err


def _opened(monkeypatch: pytest.MonkeyPatch) -> list[argparse.Namespace]:
    opened: list[argparse.Namespace] = []

    def remember(args: argparse.Namespace) -> int:
        opened.append(args)
        return 0

    monkeypatch.setattr(window, "run", remember)
    return opened


def test_that_files_without_a_command_go_to_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    from viewer.cli.main import main

    opened = _opened(monkeypatch)
    assert main(["a.pth", "--theme", "dark", "b.pth", "--device", "cpu", "--fresh", "--new-window"]) == 0
    assert main([]) == 0
    assert [args.files for args in opened] == [[Path("a.pth"), Path("b.pth")], []]
    assert (opened[0].theme, opened[0].device, opened[0].fresh, opened[0].new_window) == ("dark", "cpu", True, True)
    assert (opened[1].theme, opened[1].device, opened[1].fresh, opened[1].new_window) == (None, None, False, False)


def test_that_a_file_called_like_a_command_is_opened_after_two_dashes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from viewer.cli.main import main, window_main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "show").write_bytes(b"")
    opened = _opened(monkeypatch)
    assert main(["--", "show"]) == 0
    assert main(["./show"]) == 0
    monkeypatch.setattr("sys.argv", ["checkpoint-viewer-window", "show"])
    assert window_main() == 0
    assert [args.files for args in opened] == [[Path("show")]] * 3
    assert run_main(capsys, "show").code == 2  # the command, without its FILE


FAULT_OF_OURS = "a fault of this program; add --debug to see where"


def _failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(args: argparse.Namespace) -> int:
        raise error

    monkeypatch.setattr(show, "run", fail)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            MalformedFile("the directory is cut short", path="/tmp/model.pth", advice="Download it again"),
            "checkpoint-viewer: model.pth: the directory is cut short. Download it again\n",
        ),
        (
            FileNotFoundError(2, "No such file or directory", "a\nb.pth"),
            "checkpoint-viewer: a b.pth: No such file or directory\n",
        ),
        (
            ValueError("one\ntwo\x1b"),
            f"checkpoint-viewer: unexpected ValueError: one two\\x1b ({FAULT_OF_OURS})\n",
        ),
    ],
    ids=["viewer error", "system error", "fault of ours"],
)
def test_that_an_error_is_one_line_and_exit_code_2(
    error: Exception, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _failing(monkeypatch, error)
    ran = run_main(capsys, "show", "model.pth")
    assert (ran.code, ran.out, ran.err) == (2, "", line)


def test_that_debug_shows_where_an_unexpected_error_happened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _failing(monkeypatch, ValueError("oh"))
    ran = run_main(capsys, "show", "model.pth", "--debug")
    assert ran.code == 2
    assert "Traceback" in ran.err
    assert ran.err.splitlines()[-1].startswith("checkpoint-viewer: unexpected ValueError: oh")


def test_that_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _failing(monkeypatch, KeyboardInterrupt())
    ran = run_main(capsys, "show", "model.pth")
    assert (ran.code, ran.out, ran.err) == (130, "", "")


def test_that_the_garbage_collector_is_as_it_was_after_a_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _failing(monkeypatch, MalformedFile("broken"))
    assert gc.isenabled()
    run_main(capsys, "show", "model.pth")
    assert gc.isenabled()
