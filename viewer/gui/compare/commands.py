"""The commands of the menu Compare."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from viewer.gui.message_bar import Message

if TYPE_CHECKING:
    from viewer.gui.compare.session import Side
    from viewer.gui.document_page import DocumentPage
    from viewer.gui.documents import DocumentTabs
    from viewer.gui.settings import Settings


def comparison_handlers(tabs: DocumentTabs, settings: Settings, parent: QWidget) -> dict[str, Callable[..., object]]:
    """What the actions of the menu do, by their ids."""

    def on_front(command: str, *_checked: object) -> None:
        if (comparison := tabs.comparison) is not None:
            getattr(comparison, command)()

    def ask(*_checked: object) -> None:
        _ask(tabs, settings, parent, tabs.page)

    def ask_about(page: DocumentPage) -> None:
        _ask(tabs, settings, parent, page)

    def ask_about_row(*_checked: object) -> None:
        _ask(tabs, settings, parent, tabs.page, part=_current_part(tabs.page))

    tabs.compare_asked.connect(ask_about)
    return {
        "compare": ask,
        "compare_this": ask_about_row,
        "compare_selected": partial(_compare_selected, tabs),
        "swap_sides": partial(on_front, "swap"),
        "next_difference": partial(on_front, "next_difference"),
        "previous_difference": partial(on_front, "previous_difference"),
        "compare_overview": partial(on_front, "show_overview"),
        "sort_by_change": partial(on_front, "sort_by_change"),
        "rename_rules": partial(on_front, "edit_rules"),
        "tolerance": partial(on_front, "choose_tolerance"),
        "explain": partial(on_front, "explain"),
    }


def _ask(tabs: DocumentTabs, settings: Settings, parent: QWidget, page: DocumentPage | None, part: str = "") -> None:
    """Offer a document, or a part of it, against the next one."""
    from viewer.gui.compare.dialog import CompareDialog
    from viewer.gui.compare.session import Side

    others = [other.path for other in tabs.pages if other is not page]
    left = Side(page.path, part) if page is not None else Side(others.pop(0)) if others else None
    right = Side(others[0]) if others else left if part else None
    choices = [path for _, path in tabs.compare_choices()]
    CompareDialog(tabs.compare_sides, (left, right), choices, settings.get("files/folder"), parent).open()


def _current_part(page: DocumentPage | None) -> str:
    """The path of the row that is current in a document; "" for none."""
    if page is None or page.tree is None or page.checkpoint is None:
        return ""
    node = page.tree.current_node
    return "" if node is None else page.checkpoint.path_of(node)


def _compare_selected(tabs: DocumentTabs, *_checked: object) -> None:
    """Compare two rows of the document in front."""
    from viewer.gui.compare.session import Side

    page = tabs.page
    if page is None or page.tree is None or page.checkpoint is None:
        return
    table = page.tree.model.table
    nodes = [node for row in page.tree.view.chosen_rows() if (node := table.node[row]) >= 0]
    if len(nodes) != 2:
        tabs.said.emit(
            Message("info", "Select two rows first: click on one, then Ctrl+click on the other", key="compare two")
        )
        return
    left, right = (page.checkpoint.path_of(node) for node in sorted(nodes))
    sides: tuple[Side, Side] = Side(page.path, left), Side(page.path, right)
    tabs.compare_sides(*sides)
