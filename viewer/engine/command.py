"""How the engine process is started: always a fresh interpreter, never a fork and never the window's own main."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import viewer

ENGINE_SWITCH: Final = "--engine"
"""First argument of a frozen application that is to be the engine."""

_BOOT: Final = """\
import sys
package, *paths = sys.argv[1:]
sys.path += [path for path in paths if path not in sys.path]
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("viewer", package + "/__init__.py", submodule_search_locations=[package])
sys.modules["viewer"] = module_from_spec(spec)
spec.loader.exec_module(sys.modules["viewer"])
from viewer.engine.server import main
main()
"""


def engine_command() -> list[str]:
    """The command that starts an engine, which then speaks over its standard input and output.

    `-I` keeps the working folder and PYTHON* variables out of the engine; it also drops the user's site-packages and
    PYTHONPATH, where torch may well be, so the folders that this process imports from are given by name, after the
    engine's own. The package is given by its place, so that a source checkout runs its own engine, and the folder
    around it does not come before the standard library.
    """
    if getattr(sys, "frozen", False):  # PyInstaller: sys.executable is the application, which has no -c
        return [sys.executable, ENGINE_SWITCH]
    package = Path(viewer.__file__).parent.resolve()
    here = Path.cwd()
    paths = [path for path in sys.path if Path(path).is_absolute() and Path(path) != here]
    return [sys.executable, "-I", "-X", "faulthandler", "-c", _BOOT, str(package), *paths]
