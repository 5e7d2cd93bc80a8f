"""Fresh interpreters that run a module of this package: never a fork, and never the main of the window."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_BOOT: Final = """\
import sys
name, package, count, *rest = sys.argv[1:]
paths, sys.argv[1:] = rest[:int(count)], rest[int(count):]
sys.path += [path for path in paths if path not in sys.path]
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("viewer", package + "/__init__.py", submodule_search_locations=[package])
sys.modules["viewer"] = module_from_spec(spec)
spec.loader.exec_module(sys.modules["viewer"])
import_module("viewer.interpreter").give_up_rights()
import_module(name).main()
"""

_NO_CORE: Final = 1
"""Bytes of a core file. A limit of 0 keeps the kernel from writing a file and not from feeding a program; 1 keeps it
from both (fs/coredump.c)."""


def give_up_rights() -> None:
    """What no process that reads files for the window needs, nor any that it starts.

    Core files, which would hold the weights, and the rights of set-uid programs (Linux). Where the system has neither
    the one nor the other, it works without.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        most = _NO_CORE if hard == resource.RLIM_INFINITY else min(_NO_CORE, hard)
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))
    if sys.platform == "linux":
        import ctypes

        pr_set_no_new_privs = 38  # <linux/prctl.h>
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(pr_set_no_new_privs, 1, 0, 0, 0)


def can_start() -> bool:
    """Whether this program can start interpreters: a frozen application is none."""
    return not getattr(sys, "frozen", False) and bool(sys.executable)


def module_command(module: str, arguments: Sequence[str] = (), *, flags: Sequence[str] = ("-I",)) -> list[str]:
    """The command that runs `main()` of a module of this package in a fresh interpreter.

    `-I` keeps the working folder and PYTHON* variables out of it; it also drops the user's site-packages and
    PYTHONPATH, where torch may well be, so the folders that this process imports from are given by name, after the
    interpreter's own. The package is given by its place, so that a source checkout runs its own code, and the folder
    around it does not come before the standard library.

    Parameters
    ----------
    arguments
        What `sys.argv[1:]` is to be.
    flags
        Of the interpreter.
    """
    package = Path(__file__).resolve().parent
    here = Path.cwd()
    paths = [path for path in sys.path if Path(path).is_absolute() and Path(path) != here]
    return [sys.executable, *flags, "-c", _BOOT, module, str(package), str(len(paths)), *paths, *arguments]
