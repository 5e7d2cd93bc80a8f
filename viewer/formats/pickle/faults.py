"""The errors that a pickle can end in, in words."""

from __future__ import annotations

from viewer.errors import LimitExceeded, MalformedFile


class TruncatedPickle(MalformedFile):
    """The data ends before STOP."""


def truncated(source_name: str) -> TruncatedPickle:
    return TruncatedPickle(
        f"the file ends inside {source_name}", advice="The file was cut short: copy or download it again"
    )


def damaged(source_name: str, what: str, at: int | None = None) -> MalformedFile:
    """Something that no pickler writes; `at` is where, in bytes."""
    where = "" if at is None else f" at byte {at:,}"
    return MalformedFile(
        f"{source_name} is not a sound pickle: {what}{where}", advice="The file was damaged or made by hand"
    )


def excess(source_name: str, what: str) -> LimitExceeded:
    """More than `Limits` allow."""
    return LimitExceeded(
        f"{source_name} asks for {what}", advice="No checkpoint needs that: the file may have been made to do harm"
    )
