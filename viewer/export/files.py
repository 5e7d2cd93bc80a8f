"""Putting a new file in a place without ever leaving a broken one there.

The bytes go to a temporary file in the target's folder, are synced, checked by the caller, and then take the
target's name in one step. Until then the old file, if there is one, is untouched; on any failure the temporary file
is removed. A process that is killed can remove nothing: it leaves its temporary file, which the next file for that
folder removes. What tells such a file from one that is being written is a lock, which ends with its process; other
than a process number it holds across containers and machines that share the folder.

A target that is a link is refused: replacing the link would leave the file behind it, and writing through it would
change a file that somebody may hold by another name (as hubs keep their downloads).
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from viewer.checkpoint.document import FileFacts
from viewer.errors import ViewerError
from viewer.export.options import ExportRefused

if os.name == "posix":
    import fcntl

_SPARE_NBYTES: Final = 1 << 20
_PREFIX: Final = ".checkpoint-viewer-"
_SUFFIX: Final = ".tmp"
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EINVAL})
"""What file systems answer that have no hard links (FAT, some network folders)."""


class NewFile:
    """A file on its way to a target. A context manager: what was not committed is removed.

    Parameters
    ----------
    target
        Where it is to be in the end.
    force
        Whether an existing file may be replaced.
    sources
        Files that must not be replaced, by whatever name: those being read.
    nbytes
        How many are going to be written.

    Raises
    ------
    ExportRefused
        When the target is, or cannot be, what it has to be.
    """

    def __init__(
        self, target: str | os.PathLike[str], *, force: bool, sources: Iterable[FileFacts], nbytes: int
    ) -> None:
        try:
            self.target = Path(os.path.abspath(target))  # noqa: PTH100 - as viewer.formats.source does
            self.replaces = _checked_mode(self.target, force, sources) is not None
        except ValueError as error:
            raise ExportRefused("this cannot be the name of a file", advice="Check the path") from error
        self._force, self._sources = force, list(sources)
        remove_abandoned(self.target.parent)
        _demand_room(self.target, nbytes)
        self._syncing: threading.Thread | None = None
        self._sync_error: OSError | None = None
        try:
            self.path, self._fd = _new_temporary(self.target.parent)
        except OSError as error:
            raise self._failure(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        # Removed first: waiting for the disk may take longer than whoever cancelled waits for us.
        with contextlib.suppress(OSError):  # committed, and so no longer there; or a system that keeps open files
            self.path.unlink()
        self._close()
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            raise self._failure(error) from error

    def finish(self) -> None:
        """All is written: have it on the disk. A thread sees to that; the file may be read meanwhile."""
        self._syncing = threading.Thread(target=self._sync, name="fsync")
        self._syncing.start()

    def _sync(self) -> None:
        try:
            os.fsync(self._fd)
        except OSError as error:
            self._sync_error = error

    def wait(self, timeout_s: float) -> bool:
        """Wait for the disk, a while; True when all is there."""
        assert self._syncing is not None
        self._syncing.join(timeout_s)
        return not self._syncing.is_alive()

    def commit(self) -> None:
        """Take the target's name, when all is on the disk."""
        try:
            if self._syncing is not None:
                self._syncing.join()
            if self._sync_error is not None:
                raise self._sync_error
            if os.name == "nt":  # there an open file cannot be renamed; elsewhere its lock is to hold until then
                self._close()
            # Somebody else may have written there meanwhile.
            mode = _checked_mode(self.target, self._force, self._sources)
            self.replaces = mode is not None
            if mode is not None:
                self.path.chmod(mode)
                self.path.replace(self.target)
            else:
                _take_free_name(self.path, self.target)
            _sync_folder(self.target.parent)
        except FileExistsError as error:
            raise _there_already(self.target) from error
        except OSError as error:
            raise self._failure(error) from error

    def _close(self) -> None:
        if self._syncing is not None:
            self._syncing.join()
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _failure(self, error: OSError) -> ViewerError:
        folder = self.target.parent
        kept = "; the file that was there is untouched" if self.replaces else ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            fault, advice = "the disk is full", f"Make room in {folder} or choose another folder"
        elif error.errno == errno.EFBIG:
            fault, advice = "the file would be larger than this system allows here", "Choose another folder"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            fault, advice = f"nothing may be written to the folder {folder}", "Choose another folder"
        elif error.errno == errno.ENOENT:
            fault, advice = f"there is no folder {folder}", "Make it first, or choose another one"
        elif error.errno == errno.ENAMETOOLONG:  # of the temporary file beside it
            fault, advice = "its path is too long", "Choose a folder with a shorter path"
        else:
            fault, advice = f"writing failed ({error.strerror or error})", "Check the disk"
        return ViewerError(fault + kept, path=self.target, advice=advice)


def _checked_mode(target: Path, force: bool, sources: Iterable[FileFacts]) -> int | None:
    """The mode of the file to replace; None where there is none. Raises ExportRefused."""
    try:
        status = target.lstat()
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise ExportRefused("a part of the path is a file, not a folder", path=target, advice="Check it") from error
    except OSError as error:
        what = (
            "its name is too long" if error.errno == errno.ENAMETOOLONG else f"it cannot be used ({error.strerror})"
        )
        raise ExportRefused(what, path=target, advice="Choose another name") from error
    if stat.S_ISLNK(status.st_mode):
        raise ExportRefused(
            f"this is a link to {_shown(target)}",
            path=target,
            advice="Give the name of the file itself, or another one",
        )
    if stat.S_ISDIR(status.st_mode):
        raise ExportRefused("this is a folder", path=target, advice="Give the name of a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise ExportRefused("this is not an ordinary file", path=target, advice="Choose another name")
    if any((facts.inode, facts.device) == (status.st_ino, status.st_dev) for facts in sources):
        raise ExportRefused(
            "this is the file that is being read, by this or another name",
            path=target,
            advice="Choose another name; the original can be replaced when the export is there",
        )
    if not force:
        raise _there_already(target)
    return stat.S_IMODE(status.st_mode)


def _there_already(target: Path) -> ExportRefused:
    return ExportRefused("there is a file of this name already", path=target, advice="Replace it with --force")


def _take_free_name(path: Path, target: Path) -> None:
    """Rename, and never replace: raises FileExistsError where there is something by now."""
    if os.name == "nt":
        path.rename(target)
        return
    try:
        os.link(path, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        path.replace(target)
    else:
        path.unlink()


def _new_temporary(folder: Path) -> tuple[Path, int]:
    """A new file and its descriptor, which holds the lock that says that it is being written."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    while True:
        path = folder / f"{_PREFIX}{secrets.token_hex(6)}{_SUFFIX}"
        fd = os.open(path, flags, 0o666)
        if os.name != "posix":
            return path, fd  # an open file cannot be removed there
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another process is about to remove it, having met it before it was locked
            os.close(fd)
            continue
        except OSError:  # a file system without locks; nobody can lock it to remove it
            return path, fd
        if os.fstat(fd).st_nlink:
            return path, fd
        os.close(fd)


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files of exports into a folder whose processes are gone."""
    with contextlib.suppress(OSError):  # a folder that is not there, or not ours to read, is told elsewhere
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(_PREFIX)]
        for name in names:
            if name.endswith(_SUFFIX):
                _remove_if_abandoned(folder / name)


def _remove_if_abandoned(path: Path) -> None:
    with contextlib.suppress(OSError):  # locked, and so in use; gone by now; or not ours
        if os.name != "posix":
            path.unlink()
            return
        fd = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
        finally:
            os.close(fd)


def _shown(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return "another file"


def _demand_room(target: Path, nbytes: int) -> None:
    try:
        free = shutil.disk_usage(target.parent).free
    except OSError:
        return  # a folder that is not there is told when the file is made
    if free < nbytes + min(_SPARE_NBYTES, free // 2):
        raise ExportRefused(
            f"the disk is too full: {nbytes:,} bytes are needed, and {free:,} are free",
            path=target,
            advice=f"Make room in {target.parent} or choose another folder",
        )


def _sync_folder(folder: Path) -> None:
    """Have the new name on the disk too; some systems cannot open folders, and need not."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system without it
            raise
    finally:
        os.close(fd)
