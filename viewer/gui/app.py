"""From the command line's arguments to a window, in this order:

0. Where a window is open, it gets the files, and this process is done before it has imported Qt.
1. The engine starts: its process needs some tens of milliseconds, which pass while Qt is imported.
2. Qt, the application object, the theme.
3. The window is shown, and the files are asked for; the engine reads while the window is painted.
4. After the first paint the engine imports torch and lists the devices. This process never imports torch.
5. The last window closes, settings are stored, the engine ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from viewer.desktop.handover import Lock, Message, absolute, hand_over, place

if TYPE_CHECKING:
    from viewer.engine.client import EngineClient
    from viewer.gui.mailbox import Mailbox
    from viewer.gui.second_start import SecondStarts
    from viewer.gui.window import MainWindow


class Options(Protocol):
    """What is used of `viewer.cli.window.WindowOptions`."""

    @property
    def device(self) -> str | None: ...
    @property
    def theme(self) -> str | None: ...
    @property
    def fresh(self) -> bool: ...
    @property
    def new_window(self) -> bool: ...
    @property
    def ask_compare(self) -> bool: ...
    @property
    def compare(self) -> tuple[os.PathLike[str], os.PathLike[str]] | None: ...


def run_window(paths: Sequence[str | os.PathLike[str]], options: Options) -> int:
    """Show the window on some files until it is closed, or hand them to the one that is open; returns the exit code.

    A start that asks for something about its window (a theme, a device, default settings) has one of its own.

    Raises
    ------
    ViewerError
        When the window cannot be: no display, or a Qt that would crash.
    """
    from viewer.engine.client import EngineClient
    from viewer.gui.mailbox import Mailbox

    own = options.new_window or options.fresh or options.ask_compare or bool(options.device or options.theme)
    at = None if own else place()
    lock = None if at is None else Lock(at)
    if at is not None and lock is not None:
        files, compare = (paths, False) if options.compare is None else (options.compare, True)
        if not (paths and compare) and hand_over(at, Message(absolute(files), compare), lock):
            return 0
    mailbox = Mailbox()
    client = EngineClient(mailbox.put)
    client.start()
    try:
        return _run_qt(paths, options, client, mailbox, at if lock is not None and lock.take() else None)
    finally:
        client.close()
        if lock is not None:
            lock.release()


def _run_qt(
    paths: Sequence[str | os.PathLike[str]],
    options: Options,
    client: EngineClient,
    mailbox: Mailbox,
    listen_at: Path | None,
) -> int:
    from viewer.gui.sound_qt import check_display, check_fonts, check_pyside

    check_pyside()
    check_display()
    from PySide6.QtCore import Qt
    from PySide6.QtWidgets import QApplication

    from viewer.gui.engine_bridge import EngineBridge
    from viewer.gui.faults import FaultReporter
    from viewer.gui.file_open import FileOpenEvents
    from viewer.gui.interrupts import Interrupts
    from viewer.gui.settings import Settings
    from viewer.gui.theme import Theme
    from viewer.gui.window import MainWindow

    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    check_fonts()
    app.setApplicationName("checkpoint-viewer")
    app.setApplicationDisplayName("")  # the window's title says it already
    app.setDesktopFileName("checkpoint-viewer")
    app.setStyle("Fusion")
    settings = Settings(fresh=options.fresh)
    theme = Theme(app, options.theme or settings.get("view/theme"), settings.get("view/zoom"))
    bridge = EngineBridge(client, mailbox)
    window = MainWindow(bridge, theme, settings, options.device)
    window.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose)
    reporter = FaultReporter(window.report_fault)
    file_events = FileOpenEvents(app, window.documents.open_paths)
    interrupts = Interrupts(window.close)
    window.painted.connect(window.ask_engine)
    window.painted.connect(window.preloader.ready_details)
    window.painted.connect(window.habits.crash_watch.start)
    window.show()
    window.documents.open_paths(paths)
    if options.compare is not None:
        window.documents.compare_paths(*options.compare)
    if not paths and options.compare is None and not options.new_window:
        window.habits.begin()
    if options.ask_compare:
        window.actions_by_id["compare"].trigger()
    starts: list[SecondStarts] = []
    if listen_at is not None:
        # Once painted: the socket's module takes longer to import than the window may take to show.
        window.painted.connect(partial(_listen, window, listen_at, absolute(paths), starts))
    code = 0
    try:
        code = app.exec()
        return code
    finally:
        for listening in starts:
            listening.release()
        interrupts.release()
        if not code:  # else the display is gone: the next start offers what was open
            window.habits.crash_watch.release()
        reporter.release()
        file_events.release()
        bridge.close()


def _listen(window: MainWindow, at: Path, opened: tuple[str, ...], starts: list[SecondStarts]) -> None:
    """Take the files of later starts."""
    from viewer.gui.second_start import Opener, SecondStarts

    opener = Opener(window)
    opener.note(opened)
    starts.append(SecondStarts(at, opener, window))
