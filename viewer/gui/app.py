"""From the command line's arguments to a window, in this order:

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
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from viewer.engine.client import EngineClient
    from viewer.gui.mailbox import Mailbox


class Options(Protocol):
    """What is used of `viewer.cli.window.WindowOptions`."""

    @property
    def device(self) -> str | None: ...
    @property
    def theme(self) -> str | None: ...
    @property
    def fresh(self) -> bool: ...
    @property
    def compare(self) -> tuple[os.PathLike[str], os.PathLike[str]] | None: ...


def run_window(paths: Sequence[str | os.PathLike[str]], options: Options) -> int:
    """Show the window on some files until it is closed; returns the exit code.

    Raises
    ------
    ViewerError
        When the window cannot be: no display, or a Qt that would crash.
    """
    from viewer.engine.client import EngineClient
    from viewer.gui.mailbox import Mailbox

    mailbox = Mailbox()
    client = EngineClient(mailbox.put)
    client.start()
    try:
        return _run_qt(paths, options, client, mailbox)
    finally:
        client.close()


def _run_qt(paths: Sequence[str | os.PathLike[str]], options: Options, client: EngineClient, mailbox: Mailbox) -> int:
    from viewer.gui.sound_qt import check_display, check_pyside

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
    window.show()
    window.documents.open_paths(paths)
    if options.compare is not None:
        window.documents.compare_paths(*options.compare)
    try:
        return app.exec()
    finally:
        interrupts.release()
        reporter.release()
        file_events.release()
        bridge.close()
