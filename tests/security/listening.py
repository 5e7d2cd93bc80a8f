"""An ear in every interpreter that the program starts: it hears what would reach a network, and refuses it, and what
is opened to be written."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

HEARD: Final = "HEARD_BY_THE_TEST"
"""Environment variable: the file that all processes write to."""

EAR: Final = f"""\
import os, sys
def _tell(line):
    with open(os.environ[{HEARD!r}], "a") as file:
        file.write(line + "\\n")
def _hear(event, args):
    if event.startswith("socket.") or event.startswith(("urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.")):
        family = args[1] if event == "socket.__new__" else getattr(args[0] if args else None, "family", None)
        if family != 1:  # AF_UNIX, which ends at this machine
            _tell(event)
            raise PermissionError(event)
    elif event == "open" and not isinstance(args[0], int):
        writes = set(args[1] or "") & set("wax+") or (args[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes and os.fspath(args[0]) != os.environ[{HEARD!r}]:
            _tell("writes " + os.path.abspath(os.fsdecode(args[0])))
sys.addaudithook(_hear)
_tell("started " + (sys.argv[1] if len(sys.argv) > 1 and sys.argv[1].startswith("viewer.") else "main"))
"""

_HELP: Final = """\
import viewer.interpreter, viewer.compare.crew, viewer.compare.values
viewer.compare.values._HELP_FROM = 0
def _want_help(crew, start=viewer.compare.crew.Crew.want_help):
    start(crew)
    for thread in crew._starting:
        thread.join()
viewer.compare.crew.Crew.want_help = _want_help
"""
"""Helpers help with small files, too, and are waited for."""

_PASS_ON: Final = """\
viewer.interpreter._BOOT = sys.orig_argv[sys.orig_argv.index("-c") + 1]
"""
"""The interpreters that this one starts begin as it did."""


def with_ear(command: list[str]) -> list[str]:
    """The command of `viewer.interpreter.module_command`, and all that it starts, with an ear."""
    at = command.index("-c") + 1
    last = "import_module(name).main()\n"
    assert command[at].endswith(last)
    return [*command[:at], EAR + command[at].removesuffix(last) + _HELP + _PASS_ON + last, *command[at + 1 :]]


def main_with_ear(body: str) -> list[str]:
    """A program of our own, its children with an ear as well."""
    children = (
        "from tests.security.listening import with_ear\n"
        "viewer.interpreter._BOOT = with_ear(['-c', viewer.interpreter._BOOT])[1]\n"
    )
    root = str(Path(__file__).parents[2])
    return [sys.executable, "-P", "-c", f"{EAR}sys.path.append({root!r})\n{_HELP}{children}{body}"]


def heard(file: Path) -> tuple[set[str], list[str]]:
    """Which modules started with an ear, and what of the network was heard."""
    lines = file.read_text("utf-8").splitlines()
    started = {line.removeprefix("started ") for line in lines if line.startswith("started ")}
    return started, [line for line in lines if not line.startswith(("started ", "writes "))]


def written(file: Path) -> set[Path]:
    """What was opened to be written; not Python's own cache of compiled modules."""
    lines = file.read_text("utf-8").splitlines()
    paths = {Path(line.removeprefix("writes ")) for line in lines if line.startswith("writes ")}
    return {path for path in paths if path.parent.name != "__pycache__" and str(path) != os.devnull}


TRAPS: Final = (
    "torch", "numpy", "json", "viewer", "dataclasses", "pickle", "zipfile", "typing", "ctypes", "PySide6",
    "pyqtgraph", "sitecustomize", "usercustomize", "resource", "subprocess",
)  # fmt: skip


def set_traps(folder: Path) -> None:
    """Modules with names of ours and of our libraries; each leaves a file named canary when it is imported."""
    for name in TRAPS:
        (folder / f"{name}.py").write_text(
            f"open({str(folder / 'canary')!r}, 'w').close()\nraise SystemExit('trap')\n"
        )
