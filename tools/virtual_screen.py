"""A screen in memory (Xvfb), for machines that have none."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_START_S = 20.0
"""Xvfb says its number after some 0.1 s; a machine under load may need longer."""


def has_xvfb() -> bool:
    return shutil.which("Xvfb") is not None


@contextmanager
def virtual_screen(size: str = "1440x900x24") -> Iterator[dict[str, str]]:
    """Run an X server of our own; gives the variables that a program needs to show its windows there.

    Parameters
    ----------
    size
        Width, height and depth, as Xvfb writes them.

    Raises
    ------
    RuntimeError
        When Xvfb does not start.
    """
    read_end, write_end = os.pipe()
    # With -displayfd the server chooses a number that is free and tells it when it can be used.
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", size, "-nolisten", "tcp", "-noreset"],
        pass_fds=[write_end],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    try:
        ready, _, _ = select.select([read_end], [], [], _START_S)
        number = os.read(read_end, 32).decode().strip() if ready else ""
        if not number:
            raise RuntimeError("Xvfb did not start")
        yield {"DISPLAY": f":{number}", "QT_QPA_PLATFORM": "xcb"}
    finally:
        os.close(read_end)
        server.terminate()
        server.wait()


def display_answers() -> bool:
    """Whether a window can be shown: asked of Qt in a process of its own, since Qt aborts where it can't connect."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    if os.environ.get("QT_QPA_PLATFORM") in {"offscreen", "minimal"}:
        return False
    program = "from PySide6.QtGui import QGuiApplication; QGuiApplication([])"
    asked = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=60)
    return asked.returncode == 0
