"""The tabs that show the elements of a tensor themselves; they share which slice is chosen."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.slice_choice import SliceChoice
from viewer.gui.details.tabs import TabPage, TabSpec, TabTools

VALUES: Final = "Values"
MAP: Final = "Map"


def slice_tabs(owner: QObject) -> tuple[TabSpec, ...]:
    """Rows for the table of tabs. The choice of the slice belongs to `owner`."""
    choice = SliceChoice(owner)

    def make_values(tools: TabTools, parent: QWidget) -> TabPage:
        from viewer.gui.details.values_page import ValuesPage

        return ValuesPage(tools, choice, parent)

    def make_map(tools: TabTools, parent: QWidget) -> TabPage:
        from viewer.gui.details.map_page import MapPage

        return MapPage(tools, choice, parent)

    return TabSpec(VALUES, _is_tensor, make_values), TabSpec(MAP, _is_tensor, make_map)


def _is_tensor(checkpoint: Checkpoint, node: int) -> bool:
    return checkpoint.tensor_of_node(node) is not None
