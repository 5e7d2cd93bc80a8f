"""The details beside the tree: tabs, head and pages for the node that is selected there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.gui.details.facts import KIND_WORDS, headline
from viewer.gui.details.header import DetailsHeader
from viewer.gui.details.making import Pages, pages_task
from viewer.gui.details.slice_tabs import slice_tabs
from viewer.gui.details.tabs import LazyPages, TabSpec, TabTools
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.format import format_count
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.view_memory import remember_distribution
from viewer.report.wording import printable
from viewer.task import run

if TYPE_CHECKING:
    from viewer.gui.details.overlay import OverlayPage

OVERVIEW: Final = "Overview"
DISTRIBUTION: Final = "Distribution"
STORAGE: Final = "Storage"
TOGETHER: Final = "Together"
_OWN_TITLES: Final = {Kind.SCALAR: "Value", Kind.TEXT: "Text"}


class DetailsPanel(QWidget):
    """Shows one node of one document.

    The tab that was chosen for a tensor stays chosen for the next, and so it is for other nodes. Further tabs are
    added by `add_tab`.

    Signals
    -------
    node_requested
        Carries the number of a node that the person wants to see: the tree should select it.
    """

    node_requested = Signal(object)

    def __init__(
        self,
        bridge: EngineBridge,
        theme: Theme,
        parent: QWidget | None = None,
        settings: Settings | None = None,
        pages: Pages | None = None,
    ) -> None:
        """
        Parameters
        ----------
        pages
            Made before, in events of their own; None to make them now.
        """
        super().__init__(parent)
        pages = run(pages_task(bridge, theme, self)) if pages is None else pages
        self._document = -1
        self._checkpoint: Checkpoint | None = None
        self._node: int | None = None
        self._chosen = {True: DISTRIBUTION, False: ""}  # for tensors and for other nodes
        self._bridge = bridge
        self._store = pages.store
        self._device = "cpu"
        self._several: OverlayPage | None = None

        self.setProperty("role", "panel")
        self.tabs = QTabBar(self)
        self.tabs.setProperty("role", "details")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setAccessibleName("Details")
        line = QFrame(self)
        line.setFrameShape(QFrame.Shape.HLine)
        line.setFrameShadow(QFrame.Shadow.Plain)
        line.setFixedHeight(1)
        self._line = line
        self.header = DetailsHeader(theme, self)
        self.overview = pages.overview
        self.distribution = pages.distribution
        if settings is not None:
            remember_distribution(self.distribution.bar, settings)
        self.storage = pages.storage
        self._pages: dict[str, QWidget] = {
            OVERVIEW: self.overview,
            DISTRIBUTION: self.distribution,
            STORAGE: self.storage,
        }
        self._stack = QStackedWidget(self)
        for page in self._pages.values():
            self._stack.addWidget(page)
        self._lazy = LazyPages(
            TabTools(bridge, theme, self._store, self.node_requested.emit, settings),
            self._stack,
            added=self._stack.addWidget,
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        tab_row = QHBoxLayout()
        tab_row.setContentsMargins(4, 0, 16, 0)  # with the tabs' own margin their text begins at 16
        tab_row.addWidget(self.tabs)
        layout.addLayout(tab_row)
        layout.addWidget(line)
        layout.addWidget(self.header)
        layout.addWidget(self._stack, 1)

        self.tabs.currentChanged.connect(self._tab_changed)
        self.distribution.computed.connect(self._computed_on)
        self.overview.node_requested.connect(self.node_requested)
        self.storage.node_requested.connect(self.node_requested)
        theme.changed.connect(self._recolor)
        self._theme = theme
        for tab in slice_tabs(self):
            self.add_tab(tab)
        self._recolor()
        self._show_nothing()

    # From outside

    def add_tab(self, spec: TabSpec) -> None:
        """Offer one more tab for the nodes that it suits; its page is made when it is first turned to."""
        self._lazy.add(spec)

    def refresh_tabs(self) -> None:
        """Something became known about the document: nodes may have other tabs now."""
        if self._checkpoint is not None and self._node is not None:
            self._offer_tabs(self._checkpoint, self._node)

    def page(self, title: str) -> QWidget | None:
        """The page of a tab; None where it was not looked at yet."""
        return self._pages.get(title) or self._lazy.made(title)

    def set_document(self, document: int, checkpoint: Checkpoint) -> None:
        """Turn to a document, and show it as a whole.

        Parameters
        ----------
        document
            The number of the job that opened it.
        """
        if checkpoint is not self._checkpoint:
            self._store.forget(self._document)  # also of a document that was read anew under its number
        self._document = document
        self._checkpoint = checkpoint
        self.show_node(0 if len(checkpoint.nodes) else None)

    def show_node(self, node: int | None) -> None:
        """Show a node of the document; None for nothing."""
        checkpoint = self._checkpoint
        if checkpoint is None or node is None:
            self._show_nothing()
            return
        self._node = node
        kind = Kind(checkpoint.nodes.kind[node])
        path = checkpoint.path_of(node)
        self.header.show_path(path or printable(checkpoint.path.name), copyable=bool(path))
        self.overview.show_node(checkpoint, node)
        tensor = checkpoint.tensor_of_node(node)
        if tensor is None:
            self._leave_tensor()
            self._offer_tabs(checkpoint, node)
            type_name = checkpoint.nodes.type_name(node)
            words = checkpoint.container if node == 0 else KIND_WORDS[kind]
            self.header.show_facts(f"{words} · {type_name}" if type_name not in ("", words) else words)
            return
        self.storage.show_tensor(checkpoint, node, tensor)
        self.header.show_facts(headline(tensor))
        self.distribution.show_tensor(self._document, tensor, path)
        self._offer_tabs(checkpoint, node)

    def show_group(self, name: str, nodes: Sequence[int]) -> None:
        """Show entries that the tree holds together by the first parts of their names.

        Parameters
        ----------
        name
            What their names begin with.
        nodes
            The entries, each a node of the document.
        """
        if self._checkpoint is None:
            return
        self._node = None
        self._leave_tensor()
        self.header.show_path(name, copyable=True)
        self.header.show_facts("group of names")
        self.overview.show_group(self._checkpoint, name, nodes)
        self._show_tabs([OVERVIEW])

    def show_several(self, nodes: Sequence[int]) -> None:
        """Show the tensors among several nodes together; a single one by itself."""
        checkpoint = self._checkpoint
        tensors = [] if checkpoint is None else [n for n in nodes if checkpoint.nodes.kind[n] == Kind.TENSOR]
        if checkpoint is None or len(tensors) < 2:
            if tensors:
                self.show_node(tensors[0])
            return
        if self._several is None:
            from viewer.gui.details.overlay import OverlayPage

            self._several = OverlayPage(self._bridge, self._theme, self)
            self._several.set_device(self._device)
            self._several.node_requested.connect(self.node_requested)
            self._pages[TOGETHER] = self._several
            self._stack.addWidget(self._several)
        self._node = None
        self._leave_tensor()
        self.header.show_path(f"{format_count(len(tensors))} tensors", copyable=False)
        self.header.show_facts("histograms over one another, statistics side by side")
        self._several.show_tensors(self._document, checkpoint, tensors, len(nodes))
        self._show_tabs([TOGETHER])

    def set_device(self, name: str) -> None:
        """Compute on another device from now on."""
        self._device = name
        if self._several is not None:
            self._several.set_device(name)
        self.distribution.set_device(name)
        self._lazy.set_device(name)

    @property
    def node(self) -> int | None:
        """The node that is shown."""
        return self._node

    @property
    def tab(self) -> str:
        """The title of the tab that is shown."""
        return self.tabs.tabText(self.tabs.currentIndex())

    @property
    def tab_titles(self) -> list[str]:
        return [self.tabs.tabText(index) for index in range(self.tabs.count())]

    def choose_tab(self, title: str) -> None:
        """Turn to a tab, where the node has it."""
        if title in self.tab_titles:
            self.tabs.setCurrentIndex(self.tab_titles.index(title))

    def release(self) -> None:
        """Stop everything that runs for this panel: its document is being closed."""
        self._show_nothing()
        self._bridge.release(self)

    # Inside

    def _show_nothing(self) -> None:
        self._node = None
        self._leave_tensor()
        self._lazy.clear()
        self.overview.clear()
        self._show_tabs([])
        self._stack.hide()
        self.header.hide()

    def _leave_tensor(self) -> None:
        self.distribution.show_tensor(self._document, None, "")
        self.distribution.set_active(False)
        self.storage.clear()

    def _offer_tabs(self, checkpoint: Checkpoint, node: int) -> None:
        added = self._lazy.suiting(checkpoint, node)
        if checkpoint.tensor_of_node(node) is not None:
            self._show_tabs([OVERVIEW, DISTRIBUTION], added, last=[STORAGE])
        else:
            kind = Kind(checkpoint.nodes.kind[node])
            self._show_tabs([OVERVIEW], added, _OWN_TITLES.get(kind, OVERVIEW))

    def _show_tabs(
        self, first: Sequence[str], added: Sequence[TabSpec] = (), own_title: str = OVERVIEW, last: Sequence[str] = ()
    ) -> None:
        """Offer tabs, and turn to the one that was chosen last among several."""
        pages = [*first, *(spec.title for spec in added), *last]
        titles = [own_title if page == OVERVIEW else page for page in pages]
        self.tabs.blockSignals(True)
        if self.tab_titles != titles:
            while self.tabs.count():
                self.tabs.removeTab(0)
            for page, title in zip(pages, titles, strict=True):
                self.tabs.setTabData(self.tabs.addTab(title), page)
        if pages:
            # The root begins with its overview: that is where it says that a file could be read in part only.
            leading = next((spec.title for spec in added if spec.leads and self._node), pages[0])
            chosen = self._chosen[self._is_tensor]
            self.tabs.setCurrentIndex(pages.index(chosen if chosen in pages else leading))
        self.tabs.blockSignals(False)
        self._stack.setVisible(bool(pages))
        self.header.setVisible(bool(pages))
        self._turn_to(self.tabs.tabData(self.tabs.currentIndex()) if pages else None)

    @property
    def _is_tensor(self) -> bool:
        if self._checkpoint is None or self._node is None:
            return False
        return self._checkpoint.tensor_of_node(self._node) is not None

    def _tab_changed(self, index: int) -> None:
        page = self.tabs.tabData(index)
        if page is not None:
            if self.tabs.count() > 1:
                self._chosen[self._is_tensor] = page
            self._turn_to(page)

    def _turn_to(self, page: str | None) -> None:
        self._lazy.turn_to(page, self._document, self._checkpoint, self._node)
        if page is not None and (widget := self.page(page)) is not None:
            self._stack.setCurrentWidget(widget)
        self.distribution.set_active(page == DISTRIBUTION)
        if self._several is not None and page != TOGETHER:
            self._several.clear()
        if page == STORAGE:
            self.storage.seek_sharing()

    def _computed_on(self, device: str) -> None:
        tensor = (
            None if self._checkpoint is None or self._node is None else self._checkpoint.tensor_of_node(self._node)
        )
        if tensor is not None:
            self.header.show_facts(headline(tensor, device))

    def _recolor(self) -> None:
        palette = self._line.palette()
        palette.setColor(self._line.foregroundRole(), self._theme.color("border"))
        self._line.setPalette(palette)
