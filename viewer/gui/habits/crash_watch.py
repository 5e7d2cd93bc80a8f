"""What becomes of faults: the log, a report to copy, and a word about a window that ended unexpectedly."""

from __future__ import annotations

import faulthandler
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication

from viewer.desktop.state import Crash, RunNote, crashes, log
from viewer.gui.habits.session import reopen, session_of
from viewer.gui.message_bar import Message

if TYPE_CHECKING:
    from viewer.checkpoint.document import Checkpoint
    from viewer.gui.documents import DocumentTabs


class CrashWatch(QObject):
    """Signals: `said` carries a Message."""

    said = Signal(object)

    def __init__(self, tabs: DocumentTabs, parent: QObject) -> None:
        super().__init__(parent)
        self._tabs = tabs
        self._note: RunNote | None = None
        self._is_handling = False
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._keep)

    @Slot()
    def start(self) -> None:
        """Note that this window runs, and tell of others that did not end properly. Called once it is painted."""
        if self._note is not None:
            return
        self._note = RunNote()
        file = self._note.start()
        if file is not None and not faulthandler.is_enabled():  # -X faulthandler has a place of its own
            faulthandler.enable(file)
            self._is_handling = True
        self._tabs.tabs_changed.connect(self._changed)
        self._tabs.currentChanged.connect(self._changed)
        self._keep()
        found = crashes()
        if found:
            self._tell(found)

    @Slot()
    def release(self) -> None:
        """This window ends properly."""
        self._later.stop()
        if self._is_handling:
            faulthandler.disable()
            self._is_handling = False
        if self._note is not None:
            self._note.release()

    @Slot(object)
    def copy_report(self, message: Message) -> None:
        """Put what someone who mends the program needs on the clipboard."""
        documents = [page.checkpoint for page in self._tabs.pages if page.checkpoint is not None]
        QGuiApplication.clipboard().setText(report_text(message, documents))

    @Slot()
    def _changed(self) -> None:
        self._later.start()  # not connected itself: it would take the number of the tab for its interval

    @Slot()
    def _keep(self) -> None:
        if self._note is not None:
            self._note.keep(session_of(self._tabs))

    def _tell(self, found: list[Crash]) -> None:
        session = list(dict.fromkeys(text for crash in found for text in crash.session))
        fault = "\n\n".join(crash.fault for crash in found if crash.fault)
        log(f"a window ended unexpectedly before this start\n{fault}")
        text = "Checkpoint Viewer ended unexpectedly the last time"
        action, on_action = ("Open what was open", partial(reopen, self._tabs, session)) if session else ("", None)
        self.said.emit(
            Message("warning", text, fault, action=action, on_action=on_action, key="crash", report=bool(fault))
        )


def report_text(message: Message, documents: list[Checkpoint]) -> str:
    """Versions, platform, what happened, and facts about the open files: no names, no values, no paths below home."""
    from viewer.desktop.versions import version_lines  # some ten milliseconds that the first paint need not wait for

    lines = [*version_lines(), "", message.text]
    if message.details:
        lines += ["", message.details]
    for number, checkpoint in enumerate(documents, 1):
        lines += ["", f"document {number}: {checkpoint.container}"]
        lines.append(f"{checkpoint.nbytes:,} bytes, {len(checkpoint.files)} files, suffix {checkpoint.path.suffix!r}")
        lines.append(f"{len(checkpoint.nodes):,} nodes, {len(checkpoint.tensors):,} tensors")
        lines += [f"{name}: {text}" for name, text in checkpoint.facts.items() if name in _FACTS]
        lines.append(f"{len(checkpoint.warnings):,} warnings, {len(checkpoint.globals):,} names")
    text = "\n".join(lines) + "\n"
    try:
        home = str(Path.home())
    except RuntimeError:
        return text
    return text.replace(home, "~") if len(home) > 1 else text


_FACTS = frozenset({"pickle protocol", "byte order", "format version", "storage alignment", "records"})
