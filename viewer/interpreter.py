"""Fresh interpreters that run a module of this package: never a fork, and never the main of the window."""

from __future__ import annotations

import sys
from collections.abc import Sequence
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
import_module(name).main()
"""


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
