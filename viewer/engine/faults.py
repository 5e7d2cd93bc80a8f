"""Errors that belong to the engine itself."""

from __future__ import annotations

import os

from viewer.errors import ViewerError


class EngineFault(ViewerError):
    """A bug: a task raised what it should not have.

    Attributes
    ----------
    details
        The end of the traceback, for a report.
    """

    def __init__(
        self, fault: str, *, path: str | os.PathLike[str] | None = None, advice: str = "", details: str = ""
    ) -> None:
        super().__init__(fault, path=path, advice=advice)
        self.details = details

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_fault, (self.fault, self.path, self.advice, self.details)


def _rebuild_fault(fault: str, path: str | None, advice: str, details: str) -> EngineFault:
    return EngineFault(fault, path=path, advice=advice, details=details)


class OutOfMemory(ViewerError):
    """The machine, or the bound set on the engine, has no more memory to give."""


class DocumentClosed(ViewerError):
    """A request names a document that is not open."""


class ProtocolError(Exception):
    """The other side sent what the protocol does not know. The connection cannot go on."""
