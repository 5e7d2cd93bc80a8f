"""Who may speak to the window that is open: the same user, and about files alone."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from viewer.desktop.handover import ACCEPTED, LENGTH, MOST_NBYTES, Message, place, server_name
from viewer.gui.second_start import SecondStarts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a socket file")

STRANGER = 65_534  # nobody

CONNECT = """
import os, socket, sys
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
except OSError as error:
    print(type(error).__name__)
else:
    print("connected")
"""


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    with tempfile.TemporaryDirectory(prefix="run-", dir="/tmp") as folder:  # a socket's path has to be short
        Path(folder).chmod(0o755)  # whatever the system's folder allows, ours is to be closed
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        found = place()
        assert found is not None
        yield found


@pytest.fixture
def taken(at: Path, qtbot: QtBot) -> Iterator[list[Message]]:
    """What a window that listens was asked to do."""
    messages: list[Message] = []
    server = SecondStarts(at, messages.append)
    assert server.is_listening
    yield messages
    server.release()
    server.deleteLater()


def test_that_the_socket_and_its_folder_are_for_the_user_alone(at: Path, taken: list[Message]) -> None:
    assert stat.S_IMODE(at.parent.stat().st_mode) == 0o700
    mode = Path(server_name(at)).stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) & 0o077 == 0
    assert at.parent.stat().st_uid == Path(server_name(at)).stat().st_uid == os.getuid()


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only the administrator can become another user")
@pytest.mark.parametrize("open_folder", [False, True], ids=["the folder", "the socket itself"])
def test_that_another_user_cannot_connect(at: Path, taken: list[Message], open_folder: bool) -> None:
    if open_folder:
        at.parent.chmod(0o755)
    command = [sys.executable, "-c", CONNECT, server_name(at)]
    answers = [
        subprocess.run([*command, str(uid)], capture_output=True, text=True, check=True).stdout.strip()
        for uid in (STRANGER, os.getuid())
    ]
    assert answers == ["PermissionError", "connected"]


@pytest.mark.parametrize(
    ("body", "accepted"),
    [
        ({"v": 1, "files": ["/a b.pth"], "compare": False}, True),
        ({"v": 1, "files": ["/a b.pth"], "compare": False, "run": "touch canary"}, False),
        ({"v": 1, "files": ["a.pth"], "compare": False}, False),
        ({"v": 1, "files": [["/a.pth"]], "compare": False}, False),
        ({"v": 1, "export": "/a.pth", "files": []}, False),
        (["/a.pth"], False),
        (None, False),
    ],
)
def test_that_the_socket_takes_paths_and_nothing_else(
    at: Path, taken: list[Message], qtbot: QtBot, body: object, accepted: bool
) -> None:
    data = json.dumps(body).encode()
    answer = speak(at, LENGTH.pack(len(data)) + data, qtbot)
    assert answer == (ACCEPTED if accepted else b"")
    assert taken == ([Message(("/a b.pth",))] if accepted else [])


def test_that_a_long_message_is_cut_off_before_it_has_come(at: Path, taken: list[Message], qtbot: QtBot) -> None:
    assert speak(at, LENGTH.pack(MOST_NBYTES + 1), qtbot) == b""
    assert taken == []


def test_that_users_of_one_windows_machine_have_pipes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [Path(f"C:/Users/{user}/AppData/Local/checkpoint-viewer/0123456789abcdef") for user in ("ada", "bob")]
    monkeypatch.setattr(sys, "platform", "win32")
    names = [server_name(at) for at in places]
    monkeypatch.undo()
    assert len(set(names)) == 2
    assert all(name.startswith("\\\\.\\pipe\\checkpoint-viewer-") for name in names)


def speak(at: Path, data: bytes, qtbot: QtBot) -> bytes:
    """Send something as another program would, and wait for the end of the answer."""
    answer: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(server_name(at))
        other.sendall(data)
        other.setblocking(False)

        def ended() -> bool:
            try:
                answer.append(other.recv(64))
            except BlockingIOError:
                return False
            except ConnectionResetError:
                return True
            return answer[-1] == b""

        qtbot.waitUntil(ended)
    return b"".join(answer)
