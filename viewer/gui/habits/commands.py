"""The everyday commands, and the parts behind them, as the window knows them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from viewer.desktop.state import log
from viewer.errors import EngineLost
from viewer.gui.habits.crash_watch import CrashWatch
from viewer.gui.habits.disk_watch import DiskWatch
from viewer.gui.habits.history import History
from viewer.gui.habits.preferences import Preferences
from viewer.gui.habits.session import open_pair, reopen, session_of
from viewer.gui.message_bar import Message
from viewer.gui.recent import Pair
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme

if TYPE_CHECKING:
    from viewer.gui.compare.session import Side
    from viewer.gui.engine_bridge import EngineBridge
    from viewer.gui.window import MainWindow


class Habits(QObject):
    """Settings, session, history, files that change. One object for the window to hold."""

    def __init__(self, window: MainWindow, bridge: EngineBridge, theme: Theme, settings: Settings) -> None:
        super().__init__(window)
        self._window = window
        self._theme = theme
        self._settings = settings
        self.preferences = Preferences(window, bridge, theme, settings)
        self.history = History(window.documents, window)
        self.disk_watch = DiskWatch(window.documents, self)
        self.crash_watch = CrashWatch(window.documents, self)
        bridge.engine_restarted.connect(self._note_engine)
        bridge.engine_down.connect(self._note_engine)

    def handlers(self) -> dict[str, Callable[..., object]]:
        """What the actions do, by their ids."""
        return {
            "settings": self.preferences.open,
            "back": partial(self._go, -1),
            "forward": partial(self._go, 1),
            "reopen_session": self.reopen_last,
            "properties": self._show_properties,
        }

    def start(self) -> None:
        """The window is put together."""
        documents, window = self._window.documents, self._window
        self.history.changed.connect(self._enable)
        self.disk_watch.said.connect(window.messages.say)
        self.crash_watch.said.connect(window.messages.say)
        window.messages.report_asked.connect(self.crash_watch.copy_report)
        documents.compared.connect(self._note_comparison)
        window.recent_menu.pair_chosen.connect(self.open_pair)
        window.start.pair_chosen.connect(self.open_pair)
        self._enable()

    def save(self) -> None:
        """Keep what is open for the next time."""
        self._settings.set("session/tabs", session_of(self._window.documents))

    def begin(self) -> None:
        """The program was started without a file: open what was open, where the person wants that."""
        if self._settings.get("session/reopen"):
            reopen(self._window.documents, self._settings.get("session/tabs"))

    @Slot()
    def reopen_last(self) -> None:
        """Open what was open when the window was closed last."""
        texts = self._settings.get("session/tabs")
        if texts:
            reopen(self._window.documents, texts)
        else:
            self._window.messages.say(Message("info", "Nothing was open when the window closed", key="session"))

    @Slot(object)
    def open_pair(self, pair: Pair) -> None:
        open_pair(self._window.documents, pair)

    def note_fault(self, traceback_text: str) -> None:
        """Write a fault of this program to the log."""
        log(traceback_text)

    @Slot(object)
    def _note_engine(self, error: EngineLost) -> None:
        log(str(error))

    def _go(self, by: int, *_checked: object) -> None:
        self.history.go(by)

    @Slot()
    def _enable(self) -> None:
        actions = self._window.actions_by_id
        actions["back"].setEnabled(self.history.can_go_back)
        actions["forward"].setEnabled(self.history.can_go_forward)

    @Slot(object, object)
    def _note_comparison(self, a: Side, b: Side) -> None:
        self._window.recent.add_pair(Pair((_text(a.path), a.part), (_text(b.path), b.part)))

    @Slot()
    def _show_properties(self) -> None:
        from viewer.gui.habits.properties import PropertiesDialog

        page = self._window.documents.page
        if page is not None and page.checkpoint is not None:
            PropertiesDialog(self._theme, page.checkpoint, self._window).open()


def _text(path: Path) -> str:
    return str(path)
