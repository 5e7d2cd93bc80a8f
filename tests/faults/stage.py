"""A window over a real engine, and what a person does in it, for faults to happen in the middle of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import shiboken6
from PySide6.QtWidgets import QDialog
from pytestqt.qtbot import QtBot

from tests.faults.faulty_engine import faulty_command
from viewer.engine.client import EngineClient
from viewer.engine.restarts import RestartBudget
from viewer.export.files import _PREFIX
from viewer.gui.document_page import DocumentPage
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.export.dialog import ExportDialog
from viewer.gui.mailbox import Mailbox
from viewer.gui.roundtrip.page import RoundTripPage
from viewer.gui.roundtrip.tab import ROUND_TRIP
from viewer.gui.scan import ScanState
from viewer.gui.settings import Settings
from viewer.gui.theme import Theme
from viewer.gui.window import MainWindow

PATIENCE_MS: Final = 30_000
RESTARTS: Final = 3
Dialog = TypeVar("Dialog", bound=QDialog)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def temporary_files(folder: Path) -> list[str]:
    """What an export or a settings file on its way leaves when it is not cleaned up."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith((_PREFIX, ".")))


@dataclass(eq=False)
class Stage:
    """One window with its engine.

    Attributes
    ----------
    plan, door
        As `tests.faults.faulty_engine.faulty_command` takes them.
    """

    client: EngineClient
    window: MainWindow
    plan: Path
    door: Path
    qtbot: QtBot

    def wait(self, true: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(true()), timeout=PATIENCE_MS)

    def said(self) -> str:
        """All messages of the window, as one text."""
        return "\n".join(message.text for message in self.window.messages.messages)

    def open(self, path: Path) -> DocumentPage:
        self.window.documents.open_paths([path])
        page = self.window.documents.page
        assert page is not None
        self.wait(lambda: page._is_filled)
        return page

    def fresh(self) -> None:
        """Without tabs and messages of the test before, for the next one."""
        self.window.documents.close_all()
        for row in list(self.window.messages._rows):
            self.window.messages._remove(row)
        self.qtbot.waitUntil(lambda: not self.window._bridge.jobs, timeout=PATIENCE_MS)


@contextmanager
def staged(folder: Path, theme: Theme, qtbot: QtBot | None, *, memory_nbytes: int | None = None) -> Iterator[Stage]:
    """A window whose engine looks for faults in `folder`."""
    plan, door = folder / "plan", folder / "door"
    mailbox = Mailbox()
    client = EngineClient(
        mailbox.put,
        command=faulty_command(plan, door),
        memory_nbytes=memory_nbytes,
        restarts=RestartBudget(RESTARTS, 60.0),
    )
    client.start()
    bridge = EngineBridge(client, mailbox)
    window = MainWindow(bridge, theme, Settings(folder / "settings.ini"))
    window.show()
    try:
        yield Stage(client, window, plan, door, qtbot)  # type: ignore[arg-type]
    finally:
        window.close()
        bridge.close()
        shiboken6.delete(window)
        shiboken6.delete(bridge)


class Operation:
    """One thing that a person does. `ready` comes before the fault, `go` begins what the fault interrupts."""

    name: str
    request: str
    """The class of the request in the middle of which a fault happens."""
    writes = ""
    """The name of the file that it writes beside the source."""

    def __init__(self, stage: Stage, a: Path, b: Path) -> None:
        self.stage, self.a, self.b = stage, a, b

    def ready(self) -> None:
        raise NotImplementedError

    def go(self) -> None:
        raise NotImplementedError

    def failure(self) -> str:
        """What the window says of a failure, "" while there is none."""
        raise NotImplementedError

    def is_done(self) -> bool:
        raise NotImplementedError


class Open(Operation):
    name = "open"
    request = "OpenFile"

    def ready(self) -> None:
        """Nothing is open yet."""

    def go(self) -> None:
        self.stage.window.documents.open_paths([self.a])

    def failure(self) -> str:
        return "" if self.stage.window.documents.count() else self.stage.said()

    def is_done(self) -> bool:
        page = self.stage.window.documents.page
        return page is not None and page._is_filled


class Scan(Operation):
    name = "scan"
    request = "ScanAll"

    def ready(self) -> None:
        self.page = self.stage.open(self.a)

    def go(self) -> None:
        self.stage.window.actions_by_id["scan"].trigger()

    def failure(self) -> str:
        error = self.page.scan.failure
        return "" if error is None else f"{self.page.tree.values.foot.text}\n{self.stage.said()}"  # type: ignore[union-attr]

    def is_done(self) -> bool:
        return self.page.scan.state is ScanState.DONE


class Compare(Operation):
    name = "compare"
    request = "Compare"

    def ready(self) -> None:
        """The comparison opens its files itself."""

    def go(self) -> None:
        self.stage.window.documents.compare_paths(self.a, self.b)

    def failure(self) -> str:
        page = self.stage.window.documents.comparison
        assert page is not None
        return self.stage.said() if page.again.isVisible() else ""

    def is_done(self) -> bool:
        page = self.stage.window.documents.comparison
        return page is not None and page.comparison is not None and page.comparison.overview is not None


class Export(Operation):
    name = "export"
    request = "Export"
    writes = "a-canonical.pth"

    def ready(self) -> None:
        page = self.stage.open(self.a)
        self.stage.window.actions_by_id["export"].trigger()
        (self.dialog,) = page.findChildren(ExportDialog)
        self.stage.wait(self.dialog.go.isEnabled)

    def go(self) -> None:
        self.dialog.go.click()

    def failure(self) -> str:
        return "" if self.dialog.fault.isHidden() else self.dialog.fault.text()

    def is_done(self) -> bool:
        return self.dialog.written_file is not None


class RoundTrip(Operation):
    name = "round trip"
    request = "TryRoundTrip"

    def ready(self) -> None:
        page = self.stage.open(self.a)
        assert page.tree is not None
        assert page.details is not None
        page.tree.go_to_path("w")
        page.details.choose_tab(ROUND_TRIP)
        found = page.details.findChildren(RoundTripPage)
        self.page = found[0]
        self.page.bytes.setChecked(False)

    def go(self) -> None:
        self.page.start()

    def failure(self) -> str:
        return self.page.notice.text if self.page.notice.action == "Try again" else ""

    def is_done(self) -> bool:
        return self.page._job is None and bool(self.page.model.results)


OPERATIONS: Final = {kind.name: kind for kind in (Open, Scan, Compare, Export, RoundTrip)}
