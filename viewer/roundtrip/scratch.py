"""Folders for what is saved on the way, by the process that uses them; those of ended processes are removed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

PREFIX: Final = "checkpoint-viewer-roundtrip-"


def new_folder(what: str) -> Path:
    """A new folder of this process, for whoever asks to remove."""
    return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-{what}-"))


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is removed whatever happens; those of processes that were killed are removed on the way."""
    sweep()
    folder = new_folder("try")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Remove the folders of processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        number = folder.name.removeprefix(PREFIX).partition("-")[0]
        if number.isdecimal() and not _is_running(int(number)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(number: int) -> bool:
    if os.name == "nt":  # there os.kill(number, 0) would end it
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
