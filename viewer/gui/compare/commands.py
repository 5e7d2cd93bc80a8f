"""The commands of the menu Compare."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from viewer.gui.documents import DocumentTabs
    from viewer.gui.settings import Settings


def comparison_handlers(tabs: DocumentTabs, settings: Settings, parent: QWidget) -> dict[str, Callable[..., object]]:
    """What the actions of the menu do, by their ids."""

    def on_front(command: str, *_checked: object) -> None:
        if (comparison := tabs.comparison) is not None:
            getattr(comparison, command)()

    return {
        "compare": partial(_ask, tabs, settings, parent),
        "swap_sides": partial(on_front, "swap"),
        "next_difference": partial(on_front, "next_difference"),
        "previous_difference": partial(on_front, "previous_difference"),
    }


def _ask(tabs: DocumentTabs, settings: Settings, parent: QWidget, *_checked: object) -> None:
    """Offer the document in front against the next one."""
    from viewer.gui.compare.dialog import CompareDialog

    paths = [page.path for page in tabs.pages]
    if tabs.page is not None:
        paths.remove(tabs.page.path)
        paths.insert(0, tabs.page.path)
    CompareDialog(tabs.compare_paths, paths, settings.get("files/folder"), parent).open()
