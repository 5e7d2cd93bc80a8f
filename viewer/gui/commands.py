"""The commands that parts of the window bring along, in one place for the window to connect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from viewer.gui.compare.commands import comparison_handlers
from viewer.gui.export.commands import export_handlers
from viewer.gui.scan_commands import scan_handlers

if TYPE_CHECKING:
    from viewer.gui.documents import DocumentTabs
    from viewer.gui.engine_bridge import EngineBridge
    from viewer.gui.settings import Settings
    from viewer.gui.theme import Theme


def part_handlers(
    bridge: EngineBridge, theme: Theme, settings: Settings, tabs: DocumentTabs, parent: QWidget
) -> dict[str, Callable[..., object]]:
    """What the actions of export, comparison and scan do, by their ids."""
    handlers = export_handlers(bridge, theme, tabs, parent)
    handlers |= comparison_handlers(tabs, settings, parent)
    return handlers | scan_handlers(tabs, bridge, parent)
