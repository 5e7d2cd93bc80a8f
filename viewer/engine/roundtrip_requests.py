"""The request to save and reload a part of a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from viewer.engine.protocol import DocumentRequest, LaneName, Request


@dataclass(frozen=True, slots=True)
class TryRoundTrip(DocumentRequest):
    """Save and reload a part of a document in each way. Partial results: a WayResult each. Result: a RoundTrip.

    Attributes
    ----------
    node
        A tensor, or what holds some.
    ways
        Names of ways; all when empty.
    check_bytes, large
        As in `viewer.roundtrip.task.roundtrip_task`.
    """

    lane: ClassVar[LaneName] = "compute"

    node: int
    device: str = "cpu"
    ways: tuple[str, ...] = ()
    check_bytes: bool | None = None
    large: bool = False

    @property
    def doing(self) -> str:
        return "saving and reloading"


@dataclass(frozen=True, slots=True)
class KeepCopy(DocumentRequest):
    """Save what one way brings back to a file, to compare it with the original. Result: the path of the file.

    Attributes
    ----------
    folder
        Where to write; the asker removes it.
    """

    lane: ClassVar[LaneName] = "compute"

    node: int
    way: str
    folder: str
    device: str = "cpu"

    @property
    def doing(self) -> str:
        return "keeping a reloaded copy"


@dataclass(frozen=True, slots=True)
class RemoveScratch(Request):
    """Remove what engines that were killed had saved on the way. Result: None."""

    @property
    def doing(self) -> str:
        return "removing what was left"
