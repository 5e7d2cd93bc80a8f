"""The window's end of a second start: it listens, takes files and nothing else, and comes to the front."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from viewer.desktop.handover import ACCEPTED, LENGTH, MOST_NBYTES, Message, decode, server_name
from viewer.errors import ViewerError

if TYPE_CHECKING:
    from viewer.gui.window import MainWindow

_PATIENCE_MS: Final = 3000
_TOGETHER_S: Final = 2.0
"""A file manager that opens two files may start the program once for each, within moments."""


class SecondStarts(QObject):
    """Listens where `viewer.desktop.handover` sends to; the process must hold the lock of that place."""

    def __init__(self, at: Path, take: Callable[[Message], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._take = take
        self._connections: list[_Connection] = []
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._greet)
        name = server_name(at)
        # The lock is ours, so a socket file that is there is of a process that was killed.
        QLocalServer.removeServer(name)
        self.is_listening = self._server.listen(name)

    def release(self) -> None:
        """Listen no more."""
        self._server.close()
        for connection in self._connections:
            connection.end()
        self._connections.clear()

    @Slot()
    def _greet(self) -> None:
        while (socket := self._server.nextPendingConnection()) is not None:
            self._connections = [each for each in self._connections if not each.is_over]
            self._connections.append(_Connection(socket, self._take))


class _Connection(QObject):
    """One second start: its bytes as they come, for a while and up to a size."""

    def __init__(self, socket: QLocalSocket, take: Callable[[Message], None]) -> None:
        super().__init__(socket)
        self._socket = socket
        self._take = take
        self._data = bytearray()
        self.is_over = False
        self._patience = QTimer(self, singleShot=True, interval=_PATIENCE_MS)
        self._patience.timeout.connect(self.end)
        self._patience.start()
        socket.readyRead.connect(self._read)
        socket.disconnected.connect(self.end)
        self._read()

    @Slot()
    def end(self) -> None:
        if not self.is_over:
            self.is_over = True
            self._patience.stop()
            self._socket.abort()
            self._socket.deleteLater()

    @Slot()
    def _read(self) -> None:
        if self.is_over:
            return
        self._data += bytes(self._socket.readAll().data())
        if len(self._data) < LENGTH.size:
            return
        (length,) = LENGTH.unpack_from(self._data)
        if length > MOST_NBYTES:
            self.end()
        elif len(self._data) >= LENGTH.size + length:
            self._answer(bytes(self._data[LENGTH.size : LENGTH.size + length]))

    def _answer(self, body: bytes) -> None:
        try:
            message = decode(body)
        except ViewerError:
            self.end()  # without the answer, the other process opens a window of its own
            return
        self._socket.write(ACCEPTED)
        self._socket.flush()
        self._patience.stop()
        self.is_over = True
        self._socket.disconnected.connect(self._socket.deleteLater)
        self._socket.disconnectFromServer()
        self._take(message)


class Opener:
    """Opens what a second start asks for, in this window."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._last: tuple[float, tuple[str, ...]] = (0.0, ())

    def note(self, files: tuple[str, ...]) -> None:
        """These were opened by the start itself."""
        self._last = (time.monotonic(), files)

    def __call__(self, message: Message) -> None:
        documents = self._window.documents
        if message.compare:
            documents.compare_paths(*message.files)
        elif message.files:
            when, before = self._last
            together = len(before) == len(message.files) == 1 and time.monotonic() - when < _TOGETHER_S
            documents.open_paths([*before, *message.files] if together else message.files)
            self._last = (time.monotonic(), message.files)
        self._come_forward()

    def _come_forward(self) -> None:
        window = self._window
        if window.isMinimized():
            window.showNormal()
        window.raise_()
        window.activateWindow()
