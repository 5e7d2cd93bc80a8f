"""What a tab of the details is: when a node has it, and how its page is made. A further tab is one row of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

from PySide6.QtWidgets import QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.gui.details.summaries import SummaryStore
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme


class TabPage(Protocol):
    """What the panel asks of the page of a tab; the page is a QWidget besides."""

    def show_node(self, document: int, checkpoint: Checkpoint, node: int) -> None:
        """Turn to a node that has this tab: called when the page is about to be looked at."""

    def set_active(self, active: bool) -> None:
        """Being looked at or not: nothing is asked of the engine while it is not."""

    def set_device(self, name: str) -> None:
        """Compute on another device from now on."""

    def clear(self) -> None:
        """Stop what runs and forget the node."""


@dataclass(frozen=True, slots=True)
class TabTools:
    """What a page may be made with.

    Attributes
    ----------
    store
        The summaries of tensors that are known.
    go_to_node
        Has the tree select a node.
    settings
        Where choices outlive the window; None where they need not.
    """

    bridge: EngineBridge
    theme: Theme
    store: SummaryStore
    go_to_node: Callable[[int], None]
    settings: Settings | None = None


@dataclass(frozen=True, slots=True)
class TabSpec:
    """One tab.

    Attributes
    ----------
    title
        Also its name; no two are the same.
    suits
        Whether a node has it.
    make
        Makes the page, with its parent, when the tab is first turned to: import it here and not before.
    leads
        True where a node that has it begins with it, until the person chooses another tab. The root never does.
    """

    title: str
    suits: Callable[[Checkpoint, int], bool]
    make: Callable[[TabTools, QWidget], TabPage]
    leads: bool = False


class LazyPages:
    """The pages of tabs, made when they are first wanted, and turned to a node when they are looked at."""

    def __init__(self, tools: TabTools, parent: QWidget, added: Callable[[QWidget], object]) -> None:
        self._tools = tools
        self._parent = parent
        self._added = added
        self._specs: list[TabSpec] = []
        self._pages: dict[str, TabPage] = {}
        self._shown: dict[str, tuple[int, Checkpoint, int]] = {}
        self._active: str | None = None
        self._device = "cpu"

    def add(self, spec: TabSpec) -> None:
        assert all(spec.title != other.title for other in self._specs)
        self._specs.append(spec)

    def suiting(self, checkpoint: Checkpoint, node: int) -> list[TabSpec]:
        """The tabs of a node, in the order in which they were added."""
        return [spec for spec in self._specs if spec.suits(checkpoint, node)]

    def made(self, title: str) -> QWidget | None:
        """The page of a tab, if it was looked at before."""
        return cast(QWidget | None, self._pages.get(title))

    def turn_to(self, title: str | None, document: int, checkpoint: Checkpoint | None, node: int | None) -> None:
        """Look at the page of a tab, which shows the node; None, or a tab of others, leaves the page before."""
        spec = next((spec for spec in self._specs if spec.title == title), None)
        if self._active is not None and (spec is None or spec.title != self._active):
            self._pages[self._active].set_active(False)
        self._active = None if spec is None else spec.title
        if spec is None or checkpoint is None or node is None:
            return
        page = self._pages.get(spec.title)
        if page is None:
            page = self._pages[spec.title] = spec.make(self._tools, self._parent)
            page.set_device(self._device)
            self._added(cast(QWidget, page))
        before, shown = self._shown.get(spec.title), (document, checkpoint, node)
        if before is None or before[::2] != shown[::2] or before[1] is not checkpoint:
            self._shown[spec.title] = shown
            page.show_node(document, checkpoint, node)
        page.set_active(True)

    def set_device(self, name: str) -> None:
        self._device = name
        for page in self._pages.values():
            page.set_device(name)

    def clear(self) -> None:
        """Have all pages forget their node."""
        self._active = None
        self._shown.clear()
        for page in self._pages.values():
            page.set_active(False)
            page.clear()
