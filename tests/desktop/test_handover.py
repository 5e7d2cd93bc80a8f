"""The words between two starts, the lock, and where both lie."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from viewer.desktop.handover import ACCEPTED, LENGTH, Lock, Message, absolute, decode, hand_over, place, server_name
from viewer.errors import ViewerError


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    with tempfile.TemporaryDirectory(prefix="run-", dir="/tmp") as folder:  # a socket's path has to be short
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        found = place()
        assert found is not None
        yield found


def test_that_a_message_arrives_as_it_was_sent() -> None:
    for message in (
        Message(()),
        Message(("/a b/é.pth", "/\udcff\n.pt")),
        Message(("/a", "/b"), compare=True),
    ):
        data = message.encode()
        assert LENGTH.unpack_from(data)[0] == len(data) - LENGTH.size
        assert decode(data[LENGTH.size :]) == message


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"v": 2, "files": [], "compare": false}',
        b'{"v": 1, "files": ["relative"], "compare": false}', b'{"v": 1, "files": [7], "compare": false}',
        b'{"v": 1, "files": ["/a\\u0000b"], "compare": false}', b'{"v": 1, "files": ["/a"], "compare": true}',
        b'{"v": 1, "files": "/a", "compare": false}', b'{"v": 1, "files": [], "compare": 1}',
        b'{"v": 1, "files": [], "compare": false, "run": "x"}',
    ],
)  # fmt: skip
def test_that_anything_but_files_is_refused(body: bytes) -> None:
    with pytest.raises(ViewerError):
        decode(body)


def test_that_the_place_is_the_users_alone_and_one_per_screen(at: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stat.S_IMODE(at.parent.stat().st_mode) == 0o700
    at.parent.chmod(0o755)
    assert place() == at
    assert stat.S_IMODE(at.parent.stat().st_mode) == 0o700
    monkeypatch.setenv("DISPLAY", ":77")
    assert place() != at
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert place() is None


def test_that_a_link_or_a_long_folder_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    (tmp_path / "elsewhere").mkdir()
    with tempfile.TemporaryDirectory(prefix="run-", dir="/tmp") as short:
        (Path(short) / "checkpoint-viewer").symlink_to(tmp_path / "elsewhere")
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        assert place() is None
    long = tmp_path / ("x" * 90)
    long.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(long))
    assert place() is None


def test_that_one_process_holds_the_lock_and_its_end_frees_it(at: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from viewer.desktop.handover import Lock;"
        "print(Lock(Path(sys.argv[1])).take(), flush=True); sys.stdin.read()"
    )
    root = Path(__file__).parents[2]
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(at)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root
    )
    assert other.stdout is not None
    assert other.stdin is not None
    # The other's Lock object is gone with the expression: what it holds is asked by a lock that lives.
    assert other.stdout.readline() == b"True\n"
    other.kill()
    other.wait()
    other.stdout.close()
    other.stdin.close()
    mine, second = Lock(at), Lock(at)
    assert mine.take()
    assert mine.take()
    assert not second.take()
    mine.release()
    assert second.take()
    second.release()


def test_that_files_are_handed_to_the_one_that_listens(at: Path) -> None:
    holder = Lock(at)
    assert holder.take()
    received: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(server_name(at))
        server.listen()

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                head = connection.recv(LENGTH.size, socket.MSG_WAITALL)
                received.append(connection.recv(LENGTH.unpack(head)[0], socket.MSG_WAITALL))
                connection.sendall(ACCEPTED)

        thread = threading.Thread(target=answer)
        thread.start()
        second = Lock(at)
        assert hand_over(at, Message(absolute(["a.pth"])), second)
        thread.join()
    assert decode(received[0]) == Message((str(Path.cwd() / "a.pth"),))
    holder.release()


def test_that_a_socket_of_a_killed_window_is_not_believed(at: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gone:
        gone.bind(server_name(at))
    lock = Lock(at)
    assert not hand_over(at, Message(("/a",)), lock)
    assert lock.take()  # ours: a window may open and listen
    lock.release()


def test_that_a_message_too_long_to_send_opens_a_window(at: Path) -> None:
    holder = Lock(at)
    assert holder.take()
    assert not hand_over(at, Message(tuple(f"/{'x' * 200}{number}" for number in range(10_000))), Lock(at))
    holder.release()
