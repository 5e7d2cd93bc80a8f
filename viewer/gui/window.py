"""The main window: puts the parts together and carries commands from menus to the document in front."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from PySide6.QtCore import QByteArray, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QActionGroup,
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QIcon,
    QPaintEvent,
)
from PySide6.QtWidgets import QMainWindow, QMenu, QStackedWidget, QVBoxLayout, QWidget

from viewer.engine.protocol import ListDevices, WarmUp
from viewer.errors import EngineLost, ViewerError
from viewer.gui.actions import ACTIONS, MENUS, dress_actions, make_actions, make_toolbar
from viewer.gui.commands import part_handlers
from viewer.gui.document_page import DocumentPage
from viewer.gui.documents import DocumentTabs, ViewOptions
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.file_dialogs import FileDialogs
from viewer.gui.habits.commands import Habits
from viewer.gui.habits.recent_menu import RecentMenu
from viewer.gui.icons import IconSet
from viewer.gui.meaning.commands import show_whole
from viewer.gui.meaning.tabs import CHECKS
from viewer.gui.message_bar import Message, MessageBar
from viewer.gui.override import override
from viewer.gui.preload import Preloader
from viewer.gui.recent import RecentFiles
from viewer.gui.settings import Settings
from viewer.gui.start_page import StartPage
from viewer.gui.status import StatusLine
from viewer.gui.theme import THEME_CHOICES, Theme
from viewer.gui.tree.display import DisplayOptions
from viewer.gui.tree.panel import TreePanel
from viewer.gui.unpacking import Unpacker
from viewer.report.wording import printable
from viewer.resources import resource_path
from viewer.tensors.devices import Device

TITLE: Final = "Checkpoint Viewer"
SAMPLE: Final = "samples/training-step-0200.pth"
_ENGINE: Final = "engine"  # key of messages about the engine: the last one speaks


class MainWindow(QMainWindow):
    """The window. It owns neither the engine nor the theme.

    Signals
    -------
    painted
        The first paint is done.
    """

    painted = Signal()

    def __init__(self, bridge: EngineBridge, theme: Theme, settings: Settings, device: str | None = None) -> None:
        super().__init__()
        self._bridge = bridge
        self._theme = theme
        self._settings = settings
        self._is_painted = False
        self.recent = RecentFiles(settings, self)
        self.start = StartPage(theme, self.recent, self)
        device = device or settings.get("engine/device")
        display = DisplayOptions(settings.get("tree/group_names"), settings.get("tree/natural_order"))
        self.documents = DocumentTabs(
            bridge, theme, ViewOptions(display, device, settings.get("window/tree_width"), settings), self
        )
        self.documents.set_recent(self.recent)
        self.messages = MessageBar(theme, self)
        self.files = FileDialogs(settings, self.documents.open_paths, self)
        self.unpacker = Unpacker(bridge, self.files, self._open_path)
        self.preloader = Preloader(self)
        self.status = StatusLine(bridge, theme, device, self)
        self.habits = Habits(self, bridge, theme, settings)
        self.recent_menu = RecentMenu(self.recent, self)
        self.actions_by_id = make_actions(self, self._handlers())
        self._theme_menu = QMenu("&Colours", self)
        self._stack = QStackedWidget(self)
        self._lay_out()
        self._make_menus()
        self._connect()
        self.habits.start()
        self._show_page(None)

    def ask_engine(self) -> None:
        """Ask for what is needed soon but not yet: the devices, and torch in the engine's memory."""
        self._bridge.submit(WarmUp(), owner=self, on_result=_ignore, on_failure=_ignore)
        self._bridge.submit(ListDevices(), owner=self, on_result=self._take_devices, on_failure=self._no_devices)
        self.habits.preferences.tell_engine()

    def report_fault(self, summary: str, traceback_text: str) -> None:
        """Say that something of ours went wrong; the window goes on."""
        self.habits.note_fault(traceback_text)
        text = f"A fault of this program: {summary}"
        self.messages.say(Message("error", text, traceback_text, key="fault", report=True))

    def save(self) -> None:
        """Store place, sizes and choices."""
        page = self.documents.page
        if page is not None and page.checkpoint is not None:
            self.documents.options.tree_width = page.tree_width
        self._settings.set("window/tree_width", self.documents.options.tree_width)
        self._settings.set("window/geometry", self.saveGeometry().data())
        self.habits.save()
        self._settings.save()

    # Commands

    @Slot()
    def _open_sample(self) -> None:
        try:
            self.documents.open_paths([resource_path(SAMPLE)])
        except FileNotFoundError as error:
            self.messages.say(Message("error", str(error)))

    def _handlers(self) -> dict[str, Callable[..., object]]:
        on_tree, zoom = self._on_tree, self._zoom
        handlers: dict[str, Callable[..., object]] = {
            "open": self.files.choose_files,
            "open_folder": self.files.choose_folder,
            "open_sample": self._open_sample,
            "clear_recent": self.recent.clear,
            "reload": self._reload,
            "close": self._close_current,
            "quit": self.close,
            "find": partial(on_tree, TreePanel.focus_filter),
            "go_to_path": self._go_to_path,
            "group_names": self._set_grouped,
            "natural_order": self._set_natural,
            "expand": partial(on_tree, TreePanel.expand_below),
            "collapse": partial(on_tree, TreePanel.collapse_below),
            "copy_name": partial(on_tree, TreePanel.copy_name),
            "copy_path": partial(on_tree, TreePanel.copy_path),
            "copy_expression": partial(on_tree, TreePanel.copy_expression),
            "go_to_state": partial(on_tree, TreePanel.go_to_state),
            "go_to_parameter": partial(on_tree, TreePanel.go_to_parameter),
            "whole_file": partial(show_whole, self.documents),
            "checks": partial(show_whole, self.documents, CHECKS),
            "zoom_in": partial(zoom, 1),
            "zoom_out": partial(zoom, -1),
            "zoom_reset": partial(zoom, None),
            "full_screen": self._full_screen,
            "next_tab": partial(self.documents.step, 1),
            "previous_tab": partial(self.documents.step, -1),
            "shortcuts": self._shortcuts,
            "about": self._about,
        }
        handlers |= self.habits.handlers()
        handlers |= part_handlers(self._bridge, self._theme, self._settings, self.documents, self)
        return handlers | {f"theme_{choice}": partial(self._choose_theme, choice) for choice in THEME_CHOICES}

    def _on_tree(self, command: Callable[[TreePanel], object], *_checked: object) -> None:
        page = self.documents.page
        if page is not None and page.tree is not None:
            command(page.tree)

    @Slot()
    def _reload(self) -> None:
        if (page := self.documents.page) is not None:
            page.open()
        elif (comparison := self.documents.comparison) is not None:
            comparison.start()

    @Slot()
    def _close_current(self) -> None:
        self.documents.close_tab(self.documents.currentIndex())

    @Slot()
    def _go_to_path(self) -> None:
        from viewer.gui.dialogs import GoToPathDialog

        page = self.documents.page
        if page is not None and page.tree is not None and page.checkpoint is not None:
            node = page.tree.current_node
            start = page.checkpoint.path_of(node) if node is not None else ""
            GoToPathDialog(page.tree.go_to_path, self._theme, start, self).open()

    def _set_grouped(self, grouped: bool) -> None:
        self._settings.set("tree/group_names", grouped)
        self.documents.set_display(replace(self.documents.options.display, grouped=grouped))

    def _set_natural(self, natural: bool) -> None:
        self._settings.set("tree/natural_order", natural)
        self.documents.set_display(replace(self.documents.options.display, natural=natural))

    def _choose_theme(self, choice: str, chosen: bool) -> None:
        if chosen:
            self._settings.set("view/theme", choice)
            self._theme.set_choice(choice)

    def _zoom(self, by: int | None, *_checked: object) -> None:
        self._theme.set_zoom(0 if by is None else self._theme.zoom + by)
        self._settings.set("view/zoom", self._theme.zoom)

    @Slot()
    def _full_screen(self) -> None:
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    @Slot()
    def _shortcuts(self) -> None:
        from viewer.gui.dialogs import ShortcutsDialog

        ShortcutsDialog(list(self.actions_by_id.values()), self).open()

    @Slot()
    def _about(self) -> None:
        from viewer.gui.dialogs import about_box

        about_box(self).open()

    @Slot()
    def _show_names(self) -> None:
        from viewer.gui.safety import SafetyDialog

        page = self.documents.page
        if page is not None and page.checkpoint is not None:
            dialog = SafetyDialog(self._theme, page.checkpoint, self)
            if page.tree is not None:  # modal, so that the tree stays the one that the places are numbers of
                dialog.node_requested.connect(page.tree.go_to_node)
            dialog.open()

    # What happens

    @Slot(object)
    def _show_page(self, page: DocumentPage | None) -> None:
        comparison = self.documents.comparison
        self._stack.setCurrentWidget(self.documents if self.documents.count() else self.start)
        name = comparison.title if comparison is not None else "" if page is None else printable(page.path.name)
        self.setWindowTitle(f"{name} — {TITLE}" if name else TITLE)
        self.setWindowFilePath("" if page is None else str(page.path))
        self.status.show_document(None if page is None else page.checkpoint)
        self.status.show_comparison(comparison)
        for spec in ACTIONS:
            if spec.on_document or spec.on_comparison:
                fits = (spec.on_document and page is not None) or (spec.on_comparison and comparison is not None)
                self.actions_by_id[spec.id].setEnabled(fits)

    @Slot(object)
    def _engine_ended(self, error: EngineLost) -> None:
        lost = self.documents.take_lost()
        retry = partial(self.documents.open_paths, lost) if lost else None
        self.messages.say(
            Message("warning", str(error), action="Open again" if lost else "", on_action=retry, key=_ENGINE)
        )

    @Slot(object)
    def _job_failed(self, error: ViewerError) -> None:
        self.messages.say(Message.of(error))

    def _take_devices(self, devices: list[Device]) -> None:
        self.status.device_box.set_devices(devices)
        if problem := self.status.device_box.problem:
            name = self.status.device_box.device
            text = f"The device {name} cannot be used: {problem}. Choose another in the status line"
            self.messages.say(Message("warning", text, key="device"))

    def _no_devices(self, error: ViewerError) -> None:
        if not isinstance(error, EngineLost):
            self.messages.say(Message.of(error, action="Retry", on_action=self.ask_engine, key="device"))

    @Slot(object)
    def _choose_device(self, name: str) -> None:
        self.messages.dismiss("device")
        self._settings.set("engine/device", name)
        self.documents.set_device(name)

    @Slot()
    def _take_theme(self) -> None:
        dress_actions(self.actions_by_id, IconSet(self._theme.tokens))

    # Putting together

    def _lay_out(self) -> None:
        self._stack.addWidget(self.start)
        self._stack.addWidget(self.documents)
        middle = QWidget(self)
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.messages)
        column.addWidget(self._stack, 1)
        self.setCentralWidget(middle)
        self.setStatusBar(self.status)
        self.setAcceptDrops(True)
        self.setMinimumSize(640, 420)
        self.setWindowIcon(QIcon(str(resource_path("icons/checkpoint-viewer.svg"))))
        geometry = self._settings.get("window/geometry")
        if not (geometry and self.restoreGeometry(QByteArray(geometry))):
            self.resize(1280, 820)

    def _make_menus(self) -> None:
        submenus = {"recent>": self.recent_menu, "theme>": self._theme_menu}
        for title, entries in MENUS.items():
            menu = self.menuBar().addMenu(title)
            for entry in entries:
                if entry == "-":
                    menu.addSeparator()
                elif entry in submenus:
                    menu.addMenu(submenus[entry])
                else:
                    menu.addAction(self.actions_by_id[entry])
        themes = QActionGroup(self)
        for choice in THEME_CHOICES:
            action = self.actions_by_id[f"theme_{choice}"]
            themes.addAction(action)
            self._theme_menu.addAction(action)
        self.addToolBar(make_toolbar(self, self.actions_by_id))
        self._take_theme()
        self.recent_menu.set_clear(self.actions_by_id["clear_recent"])
        display = self.documents.options.display
        for name, state in (
            ("group_names", display.grouped),
            ("natural_order", display.natural),
            (f"theme_{self._theme.choice}", True),
        ):
            action = self.actions_by_id[name]
            action.blockSignals(True)  # it is so already
            action.setChecked(state)
            action.blockSignals(False)

    def _connect(self) -> None:
        self.start.open_clicked.connect(self.files.choose_files)
        self.start.folder_clicked.connect(self.files.choose_folder)
        self.start.sample_clicked.connect(self._open_sample)
        self.start.path_chosen.connect(self._open_path)
        self.documents.page_changed.connect(self._show_page)
        self.documents.said.connect(self.messages.say)
        self.documents.opened.connect(self.recent.add)
        self.documents.unpack_asked.connect(self.unpacker.ask)
        self.unpacker.said.connect(self.messages.say)
        self.documents.filled.connect(self.preloader.ready_qt)
        self.documents.tensor_chosen.connect(self.preloader.ready_numbers)
        self.recent_menu.path_chosen.connect(self._open_path)
        self.status.verdict_clicked.connect(self._show_names)
        self.status.device_box.device_changed.connect(self._choose_device)
        self._bridge.failed.connect(self._job_failed)
        self._bridge.engine_restarted.connect(self._engine_ended)
        self._bridge.engine_down.connect(self._engine_ended)
        self._theme.changed.connect(self._take_theme)

    @Slot(object)
    def _open_path(self, path: object) -> None:
        self.documents.open_paths([path])  # type: ignore[list-item]  # a Path, through Signal(object)

    # Events

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._is_painted:
            self._is_painted = True
            QTimer.singleShot(0, self, self.painted.emit)

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        self.save()
        self.documents.close_all()
        super().closeEvent(event)

    @override
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()
            self.start.drop_area.set_active(True)

    @override
    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:  # noqa: ARG002
        self.start.drop_area.set_active(False)

    @override
    def dropEvent(self, event: QDropEvent) -> None:
        self.start.drop_area.set_active(False)
        names = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if names:
            event.acceptProposedAction()
            self.documents.open_paths(names)


def _ignore(_answer: object) -> None:
    """Nobody waits for this answer; what is wrong shows when the engine is really needed."""
