"""The errors that Checkpoint Viewer raises on purpose.

Every message says three things: which file, what is wrong, and what to do next. They travel between the
engine and the window, so each is picklable and rebuilds from the same three parts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self


class ViewerError(Exception):
    """Something that a person can act on; anything else is a bug.

    Parameters
    ----------
    fault
        What is wrong, as a sentence without a full stop.
    path
        The file it is about; None when no file is concerned.
    advice
        The next step, as a sentence without a full stop; may be empty.
    """

    def __init__(self, fault: str, *, path: str | os.PathLike[str] | None = None, advice: str = "") -> None:
        super().__init__(fault)
        self.fault = fault
        self.path = None if path is None else Path(path)
        self.advice = advice

    def __str__(self) -> str:
        name = "" if self.path is None else f"{self.path.name or self.path}: "
        return ". ".join(part for part in (name + self.fault, self.advice) if part)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.fault, self.path, self.advice)

    def about(self, path: str | os.PathLike[str]) -> Self:
        """Name the file where the raiser did not know it; the first name given stays."""
        if self.path is None:
            self.path = Path(path)
        return self


def _rebuild(kind: type[ViewerError], fault: str, path: Path | None, advice: str) -> ViewerError:
    return kind(fault, path=path, advice=advice)


class NotACheckpoint(ViewerError):
    """The file is whole, but it is something else."""


class CompressedFile(NotACheckpoint):
    """The file is a checkpoint that is compressed as a whole; `viewer.formats.wrapped.unpack_task` unpacks it."""


class MalformedFile(ViewerError):
    """The bytes contradict the format, or some of them are missing."""


class LimitExceeded(ViewerError):
    """Reading on would cost more memory or time than a checkpoint can ask for."""


class FileChanged(ViewerError):
    """The file on disk is no longer the one that was opened."""


class DeviceProblem(ViewerError):
    """A device is missing, full or failing."""


class BadPath(ViewerError):
    """A path into a checkpoint that cannot be parsed or names nothing."""


class Cancelled(ViewerError):
    """The person asked to stop."""


class EngineLost(ViewerError):
    """The engine process ended while it worked."""
