"""How the engine process is started: always a fresh interpreter, never a fork and never the window's own main."""

from __future__ import annotations

import sys
from typing import Final

from viewer.interpreter import can_start, module_command

ENGINE_SWITCH: Final = "--engine"
"""First argument of a frozen application that is to be the engine."""


def engine_command() -> list[str]:
    """The command that starts an engine, which then speaks over its standard input and output."""
    if not can_start():  # PyInstaller: sys.executable is the application, which has no -c
        return [sys.executable, ENGINE_SWITCH]
    return module_command("viewer.engine.server", flags=("-I", "-X", "faulthandler"))
