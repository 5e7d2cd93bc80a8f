"""The open documents as tabs: one door for every file, one tab for each."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QMenu, QTabWidget, QWidget

from viewer.errors import Cancelled, CompressedFile, EngineLost, ViewerError
from viewer.gui.details.tips import plain_tip
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.message_bar import Message
from viewer.gui.override import override
from viewer.gui.settings import Settings
from viewer.gui.slices import SliceRunner
from viewer.gui.theme import Theme
from viewer.gui.tree.display import DisplayOptions
from viewer.report.wording import printable
from viewer.task import Progress, Task

if TYPE_CHECKING:
    from viewer.gui.compare.page import ComparePage
    from viewer.gui.compare.session import Side
    from viewer.gui.recent import RecentFiles

_AT_ONCE: Final = 40
"""Tabs that are made at once; more would hold up the window."""
_MAX_TITLE: Final = 40


@dataclass(slots=True)
class ViewOptions:
    """What a new document starts with."""

    display: DisplayOptions
    device: str
    tree_width: int
    settings: Settings | None = None


class DocumentTabs(QTabWidget):
    """Tabs that move, close, and close with the middle button.

    Signals
    -------
    page_changed
        Carries the DocumentPage in front, None for none, also when its contents have come.
    said
        Carries a Message.
    opened
        Carries the Path of a file that could be opened.
    unpack_asked
        Carries the Path of a compressed file that the person wants to have unpacked.
    compare_asked
        Carries the DocumentPage that is to be compared with something.
    compared
        Carries the two Sides of a comparison that begins.
    tabs_changed
        A tab came, went or moved.
    filled, tensor_chosen
        As in DocumentPage, of any of them.
    """

    page_changed = Signal(object)
    said = Signal(object)
    opened = Signal(object)
    unpack_asked = Signal(object)
    compare_asked = Signal(object)
    compared = Signal(object, object)
    tabs_changed = Signal()
    filled = Signal()
    tensor_chosen = Signal()

    def __init__(
        self, bridge: EngineBridge, theme: Theme, options: ViewOptions, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self.options = options
        self._lost: list[Path] = []
        self._recent: RecentFiles | None = None
        self._together: set[Path] = set()
        self._to_open: deque[Path] = deque()
        self._adding = SliceRunner(self)
        self._ahead = SliceRunner(self)
        self._is_ahead = False
        self.setDocumentMode(True)
        self.setTabsClosable(True)
        self.setMovable(True)
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.setProperty("role", "documents")
        self.tabBar().setProperty("role", "documents")
        self.tabBar().setExpanding(False)
        self.tabBar().setDrawBase(False)
        self.tabBar().installEventFilter(self)
        self.tabBar().setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.tabBar().customContextMenuRequested.connect(self._open_tab_menu)
        self.setAccessibleName("Open documents")
        self.tabCloseRequested.connect(self.close_tab)
        self.tabBar().tabMoved.connect(self.tabs_changed)
        self.currentChanged.connect(self._tell_page)

    @property
    def pages(self) -> list[DocumentPage]:
        """The documents, from left to right."""
        widgets = (self.widget(index) for index in range(self.count()))
        return [widget for widget in widgets if isinstance(widget, DocumentPage)]

    @property
    def page(self) -> DocumentPage | None:
        """The document in front; None where it is a comparison."""
        widget = self.currentWidget()
        return widget if isinstance(widget, DocumentPage) else None

    @property
    def comparison(self) -> ComparePage | None:
        """The comparison in front; None where it is a document."""
        widget = self.currentWidget()
        return None if widget is None or isinstance(widget, DocumentPage) else cast("ComparePage", widget)

    @property
    def comparisons(self) -> list[ComparePage]:
        """The comparisons, from left to right."""
        widgets = (self.widget(index) for index in range(self.count()))
        return [cast("ComparePage", widget) for widget in widgets if not isinstance(widget, DocumentPage)]

    def open_paths(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        """Open files, each in a tab that is there at once (of very many: one after the other); a file that is open
        already comes to the front. To compare two that are opened together is offered when both are there."""
        # No look at the disk here (abspath, not resolve): a network drive may take its time.
        opened = [Path(os.path.abspath(given)) for given in paths]  # noqa: PTH100
        for path in opened[:_AT_ONCE]:
            self.setCurrentWidget(self._page_of(path) or self._add(path))
        self._to_open += opened[_AT_ONCE:]
        if self._to_open and not self._adding.is_running:
            self._adding.start(self._add_others(), _ignore)
        self._together = set(opened) if len(opened) == 2 else set()

    def set_recent(self, recent: RecentFiles) -> None:
        """Files opened lately are offered for the sides of a comparison."""
        self._recent = recent

    def compare_choices(self) -> list[tuple[str, Path]]:
        """What could stand on a side of a comparison, under headings."""
        opened = [page.path for page in self.pages]
        recent = [] if self._recent is None else [path for path in self._recent.paths if path not in opened]
        return [*(("Open documents", path) for path in opened), *(("Recent files", path) for path in recent)]

    def compare_paths(self, a: str | os.PathLike[str], b: str | os.PathLike[str]) -> None:
        """Compare two files in a tab of their own."""
        from viewer.gui.compare.session import Side

        left, right = (Side(Path(os.path.abspath(given))) for given in (a, b))  # noqa: PTH100
        self.compare_sides(left, right)

    def compare_sides(self, a: Side, b: Side) -> None:
        """Compare two files, or parts of them, in a tab of their own."""
        # Imported with the first comparison: the window is there sooner without it.
        from viewer.gui.compare.page import ComparePage

        page = ComparePage(self._bridge, self._theme, a, b, self.compare_choices, self.options.display, self)
        page.said.connect(self.said)
        page.opened.connect(self.opened)
        page.retitled.connect(self._retitle)
        page.finished.connect(self._retitle)
        self.setCurrentIndex(self.addTab(page, ""))
        self._retitle()
        self.compared.emit(a, b)
        page.start()

    @Slot(int)
    def close_tab(self, index: int) -> None:
        """Close a document; whatever runs for it is cancelled."""
        if not 0 <= index < self.count():
            return
        page = cast("DocumentPage | ComparePage", self.widget(index))
        if isinstance(page, DocumentPage) and page.checkpoint is not None:
            self.options.tree_width = page.tree_width
        page.close_document()
        self.removeTab(index)
        page.deleteLater()

    def close_all(self) -> None:
        self._adding.stop()
        self._to_open.clear()
        self.tabBar().hide()  # it would be laid out anew after each
        while self.count():
            self.close_tab(self.count() - 1)
        self.tabBar().show()

    def step(self, by: int) -> None:
        """Go to a neighbouring tab, round the ends."""
        if self.count():
            self.setCurrentIndex((self.currentIndex() + by) % self.count())

    def set_display(self, display: DisplayOptions) -> None:
        """Show all trees another way."""
        self.options.display = display
        for page in self.pages:
            page.set_options(display)
        for comparison in self.comparisons:
            comparison.set_display(display)

    def set_device(self, name: str) -> None:
        """Compute values of all documents on another device from now on."""
        self.options.device = name
        for page in self.pages:
            page.set_device(name)

    def take_lost(self) -> list[Path]:
        """The files whose opening ended with the engine; asked once."""
        lost, self._lost = self._lost, []
        return lost

    def _page_of(self, path: Path) -> DocumentPage | None:
        return next((page for page in self.pages if page.path == path), None)

    def _add_others(self) -> Task[None]:
        """Open what waits, behind the tab that is in front: a few at a time, since each takes some 10 ms."""
        while self._to_open:
            path = self._to_open.popleft()
            if self._page_of(path) is None:
                self._add(path)
            yield Progress(0, 0)

    def _add(self, path: Path) -> DocumentPage:
        options = self.options
        page = DocumentPage(
            self._bridge,
            self._theme,
            path,
            options.display,
            options.device,
            options.tree_width,
            self,
            options.settings,
        )
        page.opened.connect(self._page_opened)
        page.failed.connect(self._page_failed)
        page.said.connect(self._say_info)
        page.files_compared.connect(self.compare_paths)
        page.filled.connect(self.filled)
        page.tensor_chosen.connect(self.tensor_chosen)
        index = self.addTab(page, _title(path))
        self.setTabToolTip(index, plain_tip(str(path)))
        page.open()
        return page

    @Slot(object)
    def _page_opened(self, _checkpoint: object) -> None:
        page = self.sender()
        assert isinstance(page, DocumentPage)
        checkpoint = page.checkpoint
        assert checkpoint is not None
        self.opened.emit(page.path)
        self._offer_comparison(page.path)
        if len(self.pages) > 1 and not self._is_ahead:
            from viewer.gui.compare.ahead import modules_task

            self._is_ahead = True
            self._ahead.start(modules_task(), _ignore)
        if checkpoint.warnings:
            count = len(checkpoint.warnings)
            more = "" if count == 1 else f" (and {count - 1:,} more)"
            text = f"{printable(page.path.name)}: {checkpoint.warnings[0]}{more}"
            self.said.emit(Message("warning", text, "\n".join(checkpoint.warnings), key=f"warnings {page.path}"))
        if page is self.page:
            self.page_changed.emit(page)

    def _offer_comparison(self, opened: Path) -> None:
        """Of two files that were opened together, the second is there now."""
        pages = [page for page in self.pages if page.path in self._together and page.checkpoint is not None]
        if opened in self._together and len(pages) == 2:
            self._together = set()
            text = f"{printable(pages[0].path.name)} and {printable(pages[1].path.name)} are open in tabs"
            offer = partial(self.compare_paths, pages[0].path, pages[1].path)
            self.said.emit(Message("info", text, action="Compare them", on_action=offer, key="compare two"))

    @Slot(object)
    def _page_failed(self, error: ViewerError) -> None:
        page = self.sender()
        assert isinstance(page, DocumentPage)
        if page.checkpoint is None:
            self.close_tab(self.indexOf(page))
        if isinstance(error, EngineLost):
            self._lost.append(page.path)  # one message about the engine speaks for all
        elif isinstance(error, CompressedFile):
            ask = partial(self.unpack_asked.emit, page.path)
            self.said.emit(Message.of(error, action="Unpack…", on_action=ask, key=f"open {page.path}"))
        elif not isinstance(error, Cancelled):
            retry = partial(self._retry, page.path)
            self.said.emit(
                Message.of(error.about(page.path), action="Retry", on_action=retry, key=f"open {page.path}")
            )

    def _retry(self, path: Path) -> None:
        page = self._page_of(path)
        if page is None:
            self.open_paths([path])
        else:
            self.setCurrentWidget(page)
            page.open()

    @Slot(object)
    def _say_info(self, text: str) -> None:
        self.said.emit(Message("info", text, key="hint"))  # the next takes its place

    @Slot()
    def _retitle(self) -> None:
        """Comparisons have other names when their sides are others."""
        for page in self.comparisons:
            index = self.indexOf(page)
            sides = page.sides
            one_file = sides[0].path == sides[1].path
            titles = [_short(side.part or side.name) if one_file else side_title(side.path) for side in sides]
            self.setTabText(index, " ⇄ ".join(titles))
            self.setTabToolTip(index, plain_tip(" ⇄ ".join(f"{side.path} {side.part}".rstrip() for side in sides)))
        if self.comparison is not None:
            self._tell_page()

    @Slot(QPoint)
    def _open_tab_menu(self, at: QPoint) -> None:
        index = self.tabBar().tabAt(at)
        if index >= 0:
            self.make_tab_menu(index).popup(self.tabBar().mapToGlobal(at))

    def make_tab_menu(self, index: int) -> QMenu:
        """What can be done with a tab."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        page = self.widget(index)
        if isinstance(page, DocumentPage):
            menu.addAction("Compare with…", partial(self.compare_asked.emit, page))
            for other in self.pages:
                if other is not page:
                    compare = partial(self.compare_paths, page.path, other.path)
                    menu.addAction(f"Compare with {_title(other.path)}", compare)
            menu.addSeparator()
        menu.addAction("Close", partial(self.close_tab, index))
        return menu

    @Slot()
    def _tell_page(self) -> None:
        self.page_changed.emit(self.page)

    @override
    def tabInserted(self, index: int) -> None:
        super().tabInserted(index)
        self.tabs_changed.emit()

    @override
    def tabRemoved(self, index: int) -> None:
        super().tabRemoved(index)
        self.tabs_changed.emit()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.MouseButtonRelease
            and isinstance(event, QMouseEvent)
            and event.button() == Qt.MouseButton.MiddleButton
        ):
            self.close_tab(self.tabBar().tabAt(event.position().toPoint()))
            return True
        return super().eventFilter(watched, event)


def _ignore(_none: None) -> None:
    """The modules are there; nobody waits for them."""


def side_title(path: Path) -> str:
    """One side's name in the tab of a comparison: half the room, so that what stands between them stays."""
    return _title(path, _MAX_TITLE // 2)


def _title(path: Path, most: int = _MAX_TITLE) -> str:
    """The file's name, shortened in its middle to about `most` characters."""
    return _short(path.name or str(path), most)


def _short(name: str, most: int = _MAX_TITLE // 2) -> str:
    name = printable(name)
    if len(name) > most:
        name = f"{name[: most // 2]}…{name[-(most // 2) :]}"
    return name.replace("&", "&&")  # a single one would mark an access key
