"""Tabs that were added to the details: which nodes have them, when their pages are made, what these are told."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget

from tests.gui.details.handmade import DOCUMENT
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.gui.details.panel import DISTRIBUTION, OVERVIEW, STORAGE, DetailsPanel
from viewer.gui.details.tabs import TabSpec, TabTools


class NotedPage(QWidget):
    """Notes what it is told."""

    made = 0

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        type(self).made += 1
        self.told: list[object] = []

    def show_node(self, document: int, checkpoint: Checkpoint, node: int) -> None:
        self.told.append((document, checkpoint.path_of(node)))

    def set_active(self, active: bool) -> None:
        self.told.append(active)

    def set_device(self, name: str) -> None:
        self.told.append(name)

    def clear(self) -> None:
        self.told.append("clear")


def _noted(_tools: TabTools, parent: QWidget) -> NotedPage:
    return NotedPage(parent)


@pytest.fixture
def tabbed(panel: DetailsPanel, checkpoint: Checkpoint) -> DetailsPanel:
    NotedPage.made = 0
    panel.add_tab(TabSpec("Numbers", lambda c, node: c.tensor_of_node(node) is not None, _noted))
    panel.add_tab(TabSpec("Keys", lambda c, node: c.nodes.kind[node] == Kind.MAPPING, _noted, leads=True))
    panel.set_document(DOCUMENT, checkpoint)
    return panel


def told(panel: DetailsPanel, title: str) -> list[object]:
    page = panel.page(title)
    assert isinstance(page, NotedPage)
    found, page.told = page.told, []
    return found


def test_that_an_added_tab_stands_before_storage_where_it_suits(tabbed: DetailsPanel, checkpoint: Checkpoint) -> None:
    tabbed.show_node(checkpoint.find("model/mask"))
    assert [title for title in tabbed.tab_titles if title in (OVERVIEW, DISTRIBUTION, "Numbers", STORAGE)] == [
        OVERVIEW,
        DISTRIBUTION,
        "Numbers",
        STORAGE,
    ]
    assert "Keys" not in tabbed.tab_titles
    tabbed.show_node(checkpoint.find("model"))
    assert tabbed.tab_titles == [OVERVIEW, "Keys"]


def test_that_a_page_is_made_when_its_tab_is_first_turned_to(tabbed: DetailsPanel, checkpoint: Checkpoint) -> None:
    tabbed.show_node(checkpoint.find("model/mask"))
    assert tabbed.page("Numbers") is None
    tabbed.set_device("cuda:0")
    tabbed.choose_tab("Numbers")
    assert told(tabbed, "Numbers") == ["cuda:0", (DOCUMENT, "model/mask"), True]
    tabbed.choose_tab(STORAGE)
    tabbed.choose_tab("Numbers")
    assert told(tabbed, "Numbers") == [False, True]
    tabbed.show_node(checkpoint.find("model/fc.top"))
    assert told(tabbed, "Numbers") == [(DOCUMENT, "model/fc.top"), True]


def test_that_a_leading_tab_is_shown_until_another_is_chosen(tabbed: DetailsPanel, checkpoint: Checkpoint) -> None:
    tabbed.show_node(checkpoint.find("model"))
    assert tabbed.tab == "Keys"
    tabbed.choose_tab(OVERVIEW)
    tabbed.show_node(checkpoint.find(""))
    assert tabbed.tab == OVERVIEW
    tabbed.show_node(checkpoint.find("model/mask"))
    assert tabbed.tab == DISTRIBUTION


def test_that_tabs_are_looked_for_again_when_more_is_known(panel: DetailsPanel, checkpoint: Checkpoint) -> None:
    known: list[int] = []
    panel.add_tab(TabSpec("Known", lambda _c, node: node in known, _noted))
    panel.set_document(DOCUMENT, checkpoint)
    node = checkpoint.find("epoch")
    panel.show_node(node)
    assert panel.tab_titles == ["Value"]
    known.append(node)
    panel.refresh_tabs()
    assert panel.tab_titles == ["Value", "Known"]


def test_that_pages_forget_when_the_document_goes(tabbed: DetailsPanel, checkpoint: Checkpoint) -> None:
    tabbed.show_node(checkpoint.find("model/mask"))
    tabbed.choose_tab("Numbers")
    told(tabbed, "Numbers")
    tabbed.release()
    assert told(tabbed, "Numbers")[-2:] == [False, "clear"]
