"""Places where nothing can be written or read: without root's rights, on a small disk, below a bound."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

_VERSION: Final = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
_DAC: Final = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH (linux/capability.h)


@contextmanager
def without_root_rights() -> Iterator[None]:
    """Modes of files and folders hold for this thread, also where it is root's. Threads that it starts inherit it."""
    if sys.platform != "linux" or os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    former = (ctypes.c_uint32 * 6)()
    if libc.capget(header, former):
        raise OSError(ctypes.get_errno(), "capget")
    fewer = (ctypes.c_uint32 * 6)(*former)
    fewer[0] &= ~_DAC
    if libc.capset(header, fewer):
        raise OSError(ctypes.get_errno(), "capset")
    try:
        yield
    finally:
        libc.capset(header, former)


@functools.cache
def can_mount() -> bool:
    """Whether this process may mount: root on a Linux that lets it."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "faults", folder], capture_output=True, check=False).returncode:
            return False
        subprocess.run(["umount", folder], check=True)
    return True


@contextmanager
def small_disk(at: Path, nbytes: int, *, read_only: bool = False) -> Iterator[Path]:
    """A file system of a given size; gone afterwards, also while files of it are open."""
    at.mkdir()
    options = f"size={nbytes}" + (",ro" if read_only else "")
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "faults", str(at)], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def fill(file: Path) -> None:
    """Write until the disk is full."""
    with file.open("wb", buffering=0) as out:
        for size in (4096, 1):
            try:
                while True:
                    out.write(bytes(size))
            except OSError as error:
                assert error.errno == errno.ENOSPC  # noqa: PT017 - any other is a fault of the test


@contextmanager
def bounded_files(nbytes: int) -> Iterator[None]:
    """No file of this process may grow beyond a size. What it writes meanwhile to its own output counts too."""
    import resource

    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)


def make_device(path: Path) -> Path:
    """A device of the test's own, like /dev/null: as root, a test could replace the real one."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("needs the right to make devices")
    return path
