"""The row of the table of tabs that offers the round trip."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from PySide6.QtWidgets import QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.gui.details.tabs import TabPage, TabSpec, TabTools

ROUND_TRIP: Final = "Round trip"
_KINDS: Final = frozenset({Kind.TENSOR, Kind.MAPPING, Kind.SEQUENCE, Kind.GROUP})


def roundtrip_tab(compare: Callable[[Path, Path], None]) -> TabSpec:
    """A tab for tensors and for what holds them.

    Parameters
    ----------
    compare
        Opens a comparison of two files.
    """

    def make(tools: TabTools, parent: QWidget) -> TabPage:
        from viewer.gui.roundtrip.page import RoundTripPage

        return RoundTripPage(tools, compare, parent)

    return TabSpec(ROUND_TRIP, _suits, make)


def _suits(checkpoint: Checkpoint, node: int) -> bool:
    return checkpoint.nodes.kind[node] in _KINDS and len(checkpoint.tensors) > 0
