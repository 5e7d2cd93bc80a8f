"""The user's state folder: a log of faults, and a note of each running window, so that the next start can tell that
one did not end properly. A home that is missing or cannot be written is no fault: then nothing is kept."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from viewer.desktop.handover import Lock

LOG_NAME: Final = "checkpoint-viewer.log"
LOG_NBYTES: Final = 256 << 10
"""Of one log; a full one becomes the older one, and the one before that goes."""

_LOGS: Final = 3
_MOST_FAULT: Final = 64 << 10


def state_folder() -> Path | None:
    """Where logs and notes lie; None where the user has no home. It may not exist."""
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA", "")
            return (Path(base) if base else Path.home() / "AppData/Local") / "checkpoint-viewer" / "State"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Logs" / "checkpoint-viewer"
        base = os.environ.get("XDG_STATE_HOME", "")
        # The XDG specification has relative ones ignored.
        return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state") / "checkpoint-viewer"
    except RuntimeError:
        return None


def log(text: str) -> None:
    """Add to the log, with the time. Does nothing where that cannot be done."""
    folder = state_folder()
    if folder is None:
        return
    stamp = time.strftime("%Y-%m-%d %H:%M:%S%z")
    entry = f"{stamp} [{os.getpid()}] {text.rstrip()}\n".encode("utf-8", "backslashreplace")
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / LOG_NAME
        if path.exists() and path.stat().st_size + len(entry) > LOG_NBYTES:
            for number in range(_LOGS - 1, 0, -1):
                older = path if number == 1 else path.with_suffix(f".{number - 1}.log")
                if older.exists():
                    older.replace(path.with_suffix(f".{number}.log"))
        # Not waiting for a reader, where a pipe has that name.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o600), "ab") as file:
            file.write(entry)


@dataclass(frozen=True, slots=True)
class Crash:
    """A window that did not end properly.

    Attributes
    ----------
    session
        What was open, as `viewer.gui.habits.session` writes it.
    fault
        Where each thread was, if the interpreter could still write it; "" after a kill or a power cut.
    """

    session: list[str]
    fault: str


class RunNote:
    """Says that a window runs, and what it has open, until `release`. Its lock ends with the process."""

    def __init__(self) -> None:
        self._lock: Lock | None = None
        self._base: Path | None = None
        self._fault: IO[bytes] | None = None

    def start(self) -> IO[bytes] | None:
        """Begin; returns the file for `faulthandler`, None where nothing can be written."""
        folder = state_folder()
        if folder is None:
            return None
        base = folder / f"run-{os.getpid()}"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = Lock(base)
            if not lock.take():
                return None
            self._lock, self._base = lock, base
            self._fault = base.with_suffix(".fault").open("wb", buffering=0)
        except OSError:
            return None
        return self._fault

    def keep(self, session: Sequence[str]) -> None:
        """Note what is open."""
        if self._base is not None:
            with suppress(OSError):  # a full disk: then the last note stands
                new = self._base.with_suffix(".new")
                new.write_text(json.dumps(list(session)), encoding="utf-8")
                new.replace(self._base.with_suffix(".json"))

    def release(self) -> None:
        """The window ended as it should."""
        if self._fault is not None:
            self._fault.close()
        if self._base is not None:
            _remove(self._base)
        if self._lock is not None:
            self._lock.release()
        self._lock = self._base = self._fault = None


def crashes() -> list[Crash]:
    """The windows that did not end properly since this was asked last; their notes are gone afterwards."""
    folder = state_folder()
    found: list[Crash] = []
    with suppress(OSError):
        for path in sorted(folder.glob("run-*.lock")) if folder is not None else ():
            base = path.with_suffix("")
            lock = Lock(base)
            # A lock that is held belongs to a window that runs, or to another start that looks as we do.
            if base.name != f"run-{os.getpid()}" and lock.take():
                found.append(Crash(_session(base.with_suffix(".json")), _text(base.with_suffix(".fault"))))
                _remove(base)
                lock.release()
    return found


def _remove(base: Path) -> None:
    for suffix in (".json", ".new", ".fault", ".lock"):
        with suppress(OSError):
            base.with_suffix(suffix).unlink()


def _session(path: Path) -> list[str]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_FAULT).decode("utf-8", "replace").strip()
    except OSError:
        return ""
