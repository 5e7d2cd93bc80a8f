"""Putting a new file in a place without ever leaving a broken one there.

The bytes go to a temporary file in the target's folder, are synced, checked by the caller, and then take the
target's name in one step. Until then the old file, if there is one, is untouched; on any failure the temporary file
is removed.

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

_SPARE_NBYTES: Final = 1 << 20


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
            self._mode = _checked_mode(self.target, force, sources)
        except ValueError as error:
            raise ExportRefused("this cannot be the name of a file", advice="Check the path") from error
        self.replaces = self._mode is not None
        _demand_room(self.target, nbytes)
        self.path = self.target.with_name(f".checkpoint-viewer-{secrets.token_hex(6)}.tmp")
        self._syncing: threading.Thread | None = None
        self._sync_error: OSError | None = None
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        try:
            self._fd = os.open(self.path, flags, 0o666)
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
            self._close()
            if self._sync_error is not None:
                raise self._sync_error
            if self._mode is not None:
                self.path.chmod(self._mode)
            self.path.replace(self.target)
            _sync_folder(self.target.parent)
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
        raise ExportRefused("there is a file of this name already", path=target, advice="Replace it with --force")
    return stat.S_IMODE(status.st_mode)


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
