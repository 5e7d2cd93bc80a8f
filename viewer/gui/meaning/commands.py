"""What menus do about the meaning of the document in front."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewer.gui.documents import DocumentTabs


def show_whole(documents: DocumentTabs, tab: str = "", *_checked: object) -> None:
    """Show the document in front as a whole, and turn to a tab of it."""
    if documents.page is not None:
        documents.page.show_whole(tab)
