"""An ear in every interpreter that the program starts: it writes down what would reach a network, and refuses."""

from __future__ import annotations

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
sys.addaudithook(_hear)
_tell("started " + (sys.argv[1] if len(sys.argv) > 1 and sys.argv[1].startswith("viewer.") else "main"))
"""

PASS_ON: Final = """\
import viewer.interpreter
viewer.interpreter._BOOT = sys.orig_argv[sys.orig_argv.index("-c") + 1]
import viewer.compare.values
viewer.compare.values._HELP_FROM = 0
"""
"""What makes the interpreters that this one starts begin as it did, and helpers help with small files, too."""


def with_ear(command: list[str]) -> list[str]:
    """The command of `viewer.interpreter.module_command`, and all that it starts, with an ear."""
    at = command.index("-c") + 1
    last = "import_module(name).main()\n"
    assert command[at].endswith(last)
    return [*command[:at], EAR + command[at].removesuffix(last) + PASS_ON + last, *command[at + 1 :]]


def main_with_ear(body: str) -> list[str]:
    """A program of our own, its children with an ear as well."""
    children = (
        "import viewer.interpreter, viewer.compare.values\n"
        "viewer.compare.values._HELP_FROM = 0\n"
        "from tests.security.listening import with_ear\n"
        "viewer.interpreter._BOOT = with_ear(['-c', viewer.interpreter._BOOT])[1]\n"
    )
    root = str(Path(__file__).parents[2])
    return [sys.executable, "-P", "-c", f"{EAR}sys.path.append({root!r})\n{children}{body}"]


def heard(file: Path) -> tuple[set[str], list[str]]:
    """Which modules started with an ear, and what was heard."""
    lines = file.read_text("utf-8").splitlines()
    started = {line.removeprefix("started ") for line in lines if line.startswith("started ")}
    return started, [line for line in lines if not line.startswith("started ")]


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
