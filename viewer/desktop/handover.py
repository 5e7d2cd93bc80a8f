"""A second start hands its files to the window that is open: where, by whom, and in which words.

One process per user and screen holds a lock and listens on a local socket. Both lie in a folder that only the user
can enter, so nobody else can listen in its place or send to it. The lock is the operating system's (flock, or a
locked byte on Windows) and ends with its process, so a window that was killed leaves nothing that a later start
believes.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from viewer.errors import ViewerError

VERSION: Final = 1
LENGTH: Final = struct.Struct(">I")
MOST_NBYTES: Final = 1 << 20
"""Of one message: some thousand paths. Longer ones are not sent; the files open in a window of their own."""

ACCEPTED: Final = b"OK"
_CONNECT_S: Final = 0.3
_ANSWER_S: Final = 3.0
_WAIT_S: Final = 3.0
"""How long the holder of the lock may take until it listens: it does so when its window is painted."""

_RETRY_S: Final = 0.05
_UNSEEN: Final = frozenset({"offscreen", "minimal", "vnc"})


@dataclass(frozen=True, slots=True)
class Message:
    """What a second start asks for.

    Attributes
    ----------
    files
        Absolute paths to open; may be empty, to raise the window.
    compare
        Whether the two of them are to be compared.
    """

    files: tuple[str, ...]
    compare: bool = False

    def encode(self) -> bytes:
        """The bytes to send."""
        # Paths that are no valid text keep their bytes as lone surrogates, which JSON escapes.
        body = json.dumps({"v": VERSION, "files": self.files, "compare": self.compare}).encode("ascii")
        return LENGTH.pack(len(body)) + body


def decode(body: bytes) -> Message:
    """A message from the bytes after its length.

    Raises
    ------
    ViewerError
        When it is none: it asks for something else than opening files, or comes from another version.
    """
    try:
        # As it is encoded: bytes of other encodings would be guessed at.
        found = json.loads(body.decode("ascii"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or set(found) != {"v", "files", "compare"} or found["v"] != VERSION:
        raise ViewerError("a second start sent what is no message of this version")
    files, compare = found["files"], found["compare"]
    sound = isinstance(files, list) and all(isinstance(name, str) and Path(name).is_absolute() for name in files)
    if not sound or any("\0" in name for name in files) or type(compare) is not bool:
        raise ViewerError("a second start sent something else than files")
    if compare and len(files) != 2:
        raise ViewerError("a second start asked to compare something else than two files")
    return Message(tuple(files), compare)


def place() -> Path | None:
    """Where the lock and the socket of this user and screen are, without a suffix; None where nothing is shared."""
    if os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0] in _UNSEEN:
        return None
    folder = _own_folder()
    if folder is None:
        return None
    screen = "\0".join(os.environ.get(name, "") for name in ("WAYLAND_DISPLAY", "DISPLAY", "XDG_SESSION_ID"))
    return folder / hashlib.sha256(screen.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def server_name(at: Path) -> str:
    """What the window listens on: a socket file, or a pipe on Windows, where one name space serves all users."""
    whole = hashlib.sha256(str(at).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return rf"\\.\pipe\checkpoint-viewer-{whole}" if sys.platform == "win32" else f"{at}.sock"


class Lock:
    """Held by the one process that listens; ends with it."""

    def __init__(self, at: Path) -> None:
        self._path = at.with_suffix(".lock")
        self._file: IO[bytes] | None = None

    def take(self) -> bool:
        """Whether this process holds it now."""
        if self._file is None:
            try:
                file = self._path.open("ab")
            except OSError:
                return False
            if not _lock(file):
                file.close()
                return False
            self._file = file
        return True

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def hand_over(at: Path, message: Message, lock: Lock) -> bool:
    """Whether the window that is open took the message. Where none is open, `lock` is held afterwards."""
    data = message.encode()
    if len(data) > MOST_NBYTES:
        return False
    end_s = time.monotonic() + _WAIT_S
    while not lock.take():
        if _send(server_name(at), data):
            return True
        if time.monotonic() > end_s:
            return False
        time.sleep(_RETRY_S)
    return False


def absolute(paths: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Paths as the other process needs them: it has another working folder."""
    return tuple(os.path.abspath(os.fspath(path)) for path in paths)  # noqa: PTH100 - links stay links


def _own_folder() -> Path | None:
    """A folder that this user alone can enter, made where it is missing; None where that cannot be had."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if sys.platform == "win32":
        parent = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local"))
    elif Path(runtime).is_absolute():
        parent = Path(runtime)
    else:
        parent = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    folder = parent / "checkpoint-viewer"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    if sys.platform != "win32":
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            return None
        if stat.S_IMODE(status.st_mode) & 0o077:
            folder.chmod(0o700)
        if len(os.fsencode(folder)) > 80:  # a socket's path has 107 bytes
            return None
    return folder


def _send(name: str, data: bytes) -> bool:
    try:
        if sys.platform == "win32":
            with Path(name).open("r+b", buffering=0) as pipe:
                pipe.write(data)
                return pipe.read(len(ACCEPTED)) == ACCEPTED
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_CONNECT_S)
            connection.connect(name)
            connection.settimeout(_ANSWER_S)
            connection.sendall(data)
            return connection.recv(len(ACCEPTED)) == ACCEPTED
    except OSError:
        return False


def _lock(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
