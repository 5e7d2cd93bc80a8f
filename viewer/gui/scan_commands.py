"""The commands about a scan of all values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from viewer.engine.values_requests import ClearScanCache
from viewer.gui.format import format_bytes
from viewer.gui.message_bar import Message

if TYPE_CHECKING:
    from viewer.gui.documents import DocumentTabs
    from viewer.gui.engine_bridge import EngineBridge


def scan_handlers(tabs: DocumentTabs, bridge: EngineBridge, owner: QObject) -> dict[str, Callable[..., object]]:
    """What the actions do, by their ids."""
    return {"scan": partial(_scan, tabs), "clear_scans": partial(_clear, tabs, bridge, owner)}


def _scan(tabs: DocumentTabs, *_checked: object) -> None:
    if (page := tabs.page) is not None:
        page.scan_values()


def _clear(tabs: DocumentTabs, bridge: EngineBridge, owner: QObject, *_checked: object) -> None:
    bridge.submit(ClearScanCache(), owner=owner, on_result=partial(_tell_cleared, tabs))


def _tell_cleared(tabs: DocumentTabs, nbytes: int) -> None:
    words = f"{format_bytes(nbytes)} on disk are free again" if nbytes else "nothing was kept"
    tabs.said.emit(Message("info", f"Kept results of scans are cleared: {words}", key="scan"))
