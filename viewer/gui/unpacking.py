"""Unpacking a file that is compressed as a whole, to a place that the person chooses, and opening the result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Signal

from viewer.engine.export_requests import Unpack
from viewer.errors import Cancelled, EngineLost, ViewerError
from viewer.gui.engine_bridge import EngineBridge
from viewer.gui.file_dialogs import FileDialogs
from viewer.gui.message_bar import Message

_PACKED: Final = (".gz", ".xz", ".bz2")


class Unpacker(QObject):
    """Signals: `said` carries a Message."""

    said = Signal(object)

    def __init__(self, bridge: EngineBridge, dialogs: FileDialogs, open_path: Callable[[Path], None]) -> None:
        super().__init__(dialogs)
        self._bridge = bridge
        self._dialogs = dialogs
        self._open_path = open_path

    def ask(self, path: Path) -> None:
        """Ask where to, and begin."""
        self._dialogs.choose_target(f"Unpack {path.name} to", unpacked_path(path), partial(self.unpack, path))

    def unpack(self, path: Path, target: Path) -> None:
        """Write what is in `path` to `target`, which the dialog asked about where it is there already."""
        self._bridge.submit(
            Unpack(path, target, overwrite=target.exists()),
            owner=self,
            on_result=self._open_path,
            on_failure=partial(self._fail, path),
            title=f"unpacking {path.name}",
        )

    def _fail(self, path: Path, error: ViewerError) -> None:
        if not isinstance(error, (Cancelled, EngineLost)):
            retry = partial(self.ask, path)
            self.said.emit(Message.of(error, action="Unpack…", on_action=retry, key=f"open {path}"))


def unpacked_path(path: Path) -> Path:
    """What to propose: the name without its ending, or another name where the ending does not say it."""
    if path.suffix.lower() in _PACKED:
        return path.with_suffix("")
    return path.with_name(f"{path.stem}-unpacked{path.suffix}")
