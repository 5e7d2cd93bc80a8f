"""Positional reads, and the words for what is no readable file."""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from viewer.errors import FileChanged, MalformedFile, NotACheckpoint, ViewerError
from viewer.formats.source import FileSource, changed_since


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.bin"
    path.write_bytes(bytes(range(256)) * 40)
    return path


def test_that_bytes_are_read_from_where_they_stand(file: Path) -> None:
    with FileSource(file) as source:
        assert source.nbytes == 10_240
        assert source.read(250, 12) == bytes([*range(250, 256), *range(6)])
        assert source.read(10_240, 0) == b""
        buffer = bytearray(5)
        source.read_into(3, buffer)
        assert buffer == bytes([3, 4, 5, 6, 7])
        source.read_into(0, memoryview(buffer)[4:])
        assert buffer == bytes([3, 4, 5, 6, 0])


@pytest.mark.parametrize(("offset", "nbytes"), [(10_240, 1), (0, 10_241), (-1, 2), (5, -1), (1 << 62, 1 << 62)])
def test_that_a_range_outside_the_file_is_refused_before_anything_is_allocated(
    file: Path, offset: int, nbytes: int
) -> None:
    with FileSource(file) as source, pytest.raises(MalformedFile, match=r"numbers\.bin.*10,240"):
        source.read(offset, nbytes)


def test_that_threads_share_one_source(file: Path) -> None:
    wrong: list[int] = []

    def read(start: int) -> None:
        places = range(start, 10_000, 7)
        wrong.extend(at for at in places if source.read(at, 3) != bytes(number % 256 for number in range(at, at + 3)))

    with FileSource(file) as source:
        threads = [threading.Thread(target=read, args=(start,)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_that_the_path_is_absolute_and_the_facts_are_those_of_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    with FileSource("numbers.bin") as source:
        assert source.path == file
        status = file.stat()
        facts = source.facts
    assert (facts.nbytes, facts.mtime_ns, facts.inode, facts.device) == (
        status.st_size,
        status.st_mtime_ns,
        status.st_ino,
        status.st_dev,
    )


def test_that_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ViewerError, match=r"gone\.pth: there is no such file"):
        FileSource(tmp_path / "gone.pth")


def test_that_a_file_below_a_file_is_explained(file: Path) -> None:
    with pytest.raises(ViewerError, match="a part of the path is a file"):
        FileSource(file / "x.pth")


def test_that_a_folder_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpoint, match="folder"):
        FileSource(tmp_path)


@pytest.mark.parametrize("name", ["a\0b.pth", "x" * 5000])
def test_that_an_impossible_name_is_no_crash(tmp_path: Path, name: str) -> None:
    with pytest.raises(ViewerError, match="name of a file"):
        FileSource(tmp_path / name)


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in the file system")
def test_that_a_named_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pth")
    with pytest.raises(NotACheckpoint, match="named pipe"):
        FileSource(tmp_path / "pipe.pth")


@pytest.mark.skipif(sys.platform == "win32", reason="no such device")
def test_that_a_device_is_refused() -> None:
    with pytest.raises(NotACheckpoint, match="device"):
        FileSource("/dev/zero")


@pytest.mark.skipif(sys.platform == "win32", reason="no sockets in the file system")
def test_that_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket has 108 bytes at most
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.pth")
        with pytest.raises(NotACheckpoint, match="socket"):
            FileSource("s.pth")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_that_a_link_to_itself_is_explained(tmp_path: Path) -> None:
    (tmp_path / "loop.pth").symlink_to("loop.pth")
    with pytest.raises(ViewerError, match="leads back to itself"):
        FileSource(tmp_path / "loop.pth")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="the administrator may read everything")
def test_that_a_file_that_may_not_be_read_is_explained(file: Path) -> None:
    file.chmod(0)
    with pytest.raises(ViewerError, match="may not read"):
        FileSource(file)


def test_that_an_unchanged_file_passes(file: Path) -> None:
    with FileSource(file) as source:
        source.check_unchanged()


def test_that_a_file_that_was_written_to_is_noticed(file: Path) -> None:
    with FileSource(file) as source:
        os.utime(file, ns=(1, 1))
        with pytest.raises(FileChanged, match="written to"):
            source.check_unchanged()


def test_that_a_file_that_grew_is_noticed(file: Path) -> None:
    with FileSource(file) as source:
        with file.open("ab") as appended:
            appended.write(b"more")
        with pytest.raises(FileChanged, match=r"10,240 bytes .* 10,244 now"):
            source.check_unchanged()


def test_that_a_file_that_was_replaced_is_noticed_and_the_old_one_stays_readable(file: Path) -> None:
    with FileSource(file) as source:
        other = file.with_name("other")
        other.write_bytes(b"x" * 10_240)
        other.replace(file)
        with pytest.raises(FileChanged, match="another file was put in its place"):
            source.check_unchanged()
        assert source.read(0, 3) == bytes([0, 1, 2])


def test_that_a_deleted_file_is_noticed(file: Path) -> None:
    with FileSource(file) as source:
        file.unlink()
        with pytest.raises(FileChanged, match="moved or deleted"):
            source.check_unchanged()


def test_that_a_file_cut_short_while_open_is_an_error_and_no_crash(file: Path) -> None:
    with FileSource(file) as source:
        os.truncate(file, 100)
        with pytest.raises(FileChanged, match="100 now"):
            source.read(50, 100)
        with pytest.raises(FileChanged, match="100 now"):
            source.read_into(50, bytearray(100))


def test_that_facts_are_compared_whole(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.bin"
    copy.write_bytes(file.read_bytes())
    with FileSource(file) as first, FileSource(file) as again, FileSource(copy) as other:
        assert changed_since(first.facts, again.facts) is None
        assert isinstance(changed_since(first.facts, other.facts), FileChanged)


def test_that_closing_twice_is_harmless(file: Path) -> None:
    source = FileSource(file)
    source.close()
    source.close()
    with pytest.raises(ViewerError):
        source.read(0, 1)
