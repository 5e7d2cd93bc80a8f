"""A file that is read by position.

Never mapped: a mapped file that another program truncates kills the process with SIGBUS, and a read only comes back
short. Every read is positional (`pread`), so threads share one descriptor without a lock.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Final, NoReturn, Self

from viewer.checkpoint.document import FileFacts
from viewer.errors import FileChanged, MalformedFile, NotACheckpoint, ViewerError

_OPEN_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    # A named pipe that takes the file's place between stat and open would block for ever without it.
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
)

_MAX_READ: Final = 1 << 30
"""Linux reads at most 2,147,479,552 bytes in one call (man 2 read), some systems fewer; the loop asks for less."""


class FileSource:
    """A regular file, opened for positional reads. Any thread may read; one closes.

    Parameters
    ----------
    path
        Made absolute (links are kept), so that it means the same in every process.

    Raises
    ------
    ViewerError
        When there is no such file, it may not be read, or it is no regular file. Folders, pipes and devices are
        refused without being opened.

    Attributes
    ----------
    path
        Absolute.
    facts
        The file as it was when it was opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.path = Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps ".." and so reads worse
            before = self.path.stat()
            _demand_regular(self.path, before.st_mode)
            self._fd = os.open(self.path, _OPEN_FLAGS)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            _refuse(path, error)
        try:
            status = os.fstat(self._fd)
            _demand_regular(self.path, status.st_mode)
        except BaseException:
            os.close(self._fd)
            raise
        self.facts = _facts(self.path, status)
        self._ctime_ns, self._n_links = status.st_ctime_ns, status.st_nlink
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)

    @property
    def nbytes(self) -> int:
        """Size of the file when it was opened."""
        return self.facts.nbytes

    def read(self, offset: int, nbytes: int) -> bytes:
        """The bytes in [offset, offset + nbytes).

        Raises
        ------
        MalformedFile
            When the range leaves the file; nothing is read or allocated then.
        FileChanged
            When the file has become shorter since it was opened.
        """
        self._demand_range(offset, nbytes)
        data = self._read_some(offset, min(nbytes, _MAX_READ))
        if len(data) == nbytes:
            return data
        parts = [data]
        done = len(data)
        while done < nbytes:
            data = self._read_some(offset + done, min(nbytes - done, _MAX_READ))
            if not data:
                self._fail_short(offset + done)
            parts.append(data)
            done += len(data)
        return b"".join(parts)

    def read_into(self, offset: int, buffer: bytearray | memoryview) -> None:
        """Fill `buffer` (writable, contiguous) with the bytes from `offset` on; raises as `read` does."""
        view = memoryview(buffer).cast("B")
        self._demand_range(offset, len(view))
        done = 0
        while done < len(view):
            count = self._read_some_into(offset + done, view[done : done + _MAX_READ])
            if count == 0:
                self._fail_short(offset + done)
            done += count

    def check_open_file(self) -> None:
        """Raise FileChanged when the open file was written to since it was opened. One system call."""
        status = os.fstat(self._fd)
        facts = self.facts
        if status.st_size != facts.nbytes or status.st_mtime_ns != facts.mtime_ns:
            raise _changed(facts, _facts(self.path, status))
        # A writer can set the other time back, and not this one; another name for the file changes this one alone.
        if status.st_ctime_ns != self._ctime_ns and status.st_nlink == self._n_links:
            raise FileChanged(
                "it was written to, or its permissions were changed, while it was read",
                path=self.path,
                advice="Open it again",
            )

    def check_unchanged(self) -> None:
        """Raise FileChanged when the open file was written to, or the path leads to another file by now."""
        self.check_open_file()
        try:
            status = self.path.stat()
        except OSError as error:
            raise FileChanged(
                f"the file was moved or deleted since it was opened ({error.strerror})",
                path=self.path,
                advice="Open it again from where it is now",
            ) from error
        now = _facts(self.path, status)
        if now != self.facts:
            raise _changed(self.facts, now)

    def _demand_range(self, offset: int, nbytes: int) -> None:
        if offset < 0 or nbytes < 0 or offset + nbytes > self.facts.nbytes:
            raise MalformedFile(
                f"bytes {offset:,} to {offset + nbytes:,} are needed, but the file has {self.facts.nbytes:,}",
                path=self.path,
                advice="Fetch or copy the file again",
            )

    def _fail_short(self, offset: int) -> NoReturn:
        self.check_open_file()
        raise FileChanged(
            f"the file ends at byte {offset:,} of {self.facts.nbytes:,}", path=self.path, advice="Open it again"
        )

    def _unreadable(self, offset: int, error: OSError) -> ViewerError:
        return ViewerError(
            f"reading at byte {offset:,} failed: {error.strerror or error}",
            path=self.path,
            advice="Check the disk or the network share, or copy the file and open the copy",
        )

    if sys.platform == "win32":  # no pread there: seek and read, one thread at a time

        def _read_some(self, offset: int, nbytes: int) -> bytes:
            try:
                with self._lock:
                    os.lseek(self._fd, offset, os.SEEK_SET)
                    return os.read(self._fd, nbytes)
            except OSError as error:
                raise self._unreadable(offset, error) from error

        def _read_some_into(self, offset: int, view: memoryview) -> int:
            data = self._read_some(offset, len(view))
            view[: len(data)] = data
            return len(data)

    else:

        def _read_some(self, offset: int, nbytes: int) -> bytes:
            try:
                return os.pread(self._fd, nbytes, offset)
            except OSError as error:
                raise self._unreadable(offset, error) from error

        def _read_some_into(self, offset: int, view: memoryview) -> int:
            try:
                return os.preadv(self._fd, [view], offset)
            except OSError as error:
                raise self._unreadable(offset, error) from error


def _facts(path: Path, status: os.stat_result) -> FileFacts:
    return FileFacts(path, status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)


def _changed(then: FileFacts, now: FileFacts) -> FileChanged:
    if (now.inode, now.device) != (then.inode, then.device):
        what = "another file was put in its place since it was opened"
    elif now.nbytes != then.nbytes:
        what = f"it had {then.nbytes:,} bytes when it was opened and has {now.nbytes:,} now"
    else:
        what = "it was written to since it was opened"
    return FileChanged(what, path=then.path, advice="Open it again")


def changed_since(then: FileFacts, now: FileFacts) -> FileChanged | None:
    """Why `now` is not the file that `then` describes; None where it is."""
    return None if now == then else _changed(then, now)


_SPECIAL: Final = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _demand_regular(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise NotACheckpoint("this is a folder (a directory), not a file", path=path, advice="Choose a file in it")
    kind = next((name for test, name in _SPECIAL if test(mode)), "something else")
    raise NotACheckpoint(
        f"this is {kind}, not an ordinary file", path=path, advice="Save its content to a file and open that"
    )


def _refuse(path: str | os.PathLike[str], error: OSError | ValueError) -> NoReturn:
    code = error.errno if isinstance(error, OSError) else None
    if isinstance(error, FileNotFoundError):
        fault, advice = "there is no such file", "Check the name; the file may have been moved or renamed"
    elif isinstance(error, PermissionError):
        fault, advice = "this account may not read the file", "Change its permissions, or open a copy that you own"
    elif isinstance(error, NotADirectoryError):
        fault, advice = "a part of the path is a file, not a folder", "Check the path"
    elif isinstance(error, ValueError) or code == errno.ENAMETOOLONG:
        fault, advice = "this cannot be the name of a file", "Check the path"
    elif code == errno.ELOOP:
        fault, advice = "the link leads back to itself", "Open the file that it should lead to"
    else:
        fault, advice = f"the file cannot be opened ({error})", "Check the disk or the network share"
    raise ViewerError(fault, path=_printable(path), advice=advice) from error


def _printable(path: str | os.PathLike[str]) -> str:
    return os.fsdecode(path).replace("\0", "�")
