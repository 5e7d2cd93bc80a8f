"""`checkpoint-viewer install-desktop` and `uninstall-desktop`: double-click a checkpoint to open it."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Final

from viewer.cli.output import EXIT_DONE, write_all
from viewer.errors import ViewerError

_WINDOW_PROGRAM: Final = "checkpoint-viewer-window"


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="change nothing; print what would be done")


def window_program() -> Path:
    """The installed program that opens the window, by its absolute path.

    Raises
    ------
    ViewerError
        Where it is not installed.
    """
    if getattr(sys, "frozen", False):
        return Path(sys.executable)
    suffix = ".exe" if sys.platform == "win32" else ""
    beside = Path(sys.executable).parent / f"{_WINDOW_PROGRAM}{suffix}"  # not resolved: a venv's python is a link
    found = str(beside) if beside.exists() else shutil.which(_WINDOW_PROGRAM)
    if found is None:
        raise ViewerError(
            f"{_WINDOW_PROGRAM} is not installed beside this Python",
            advice="Install the program first (pip install, or pipx install), and run this command from there",
        )
    return Path(found).absolute()


def print_steps(steps: list[str], nothing: str) -> int:
    write_all(f"{step}\n" for step in steps or [nothing])
    return EXIT_DONE
