"""Whether Qt can be trusted to run here; said in words before it aborts the process without any."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Final

from viewer.errors import ViewerError

_X_PORT: Final = 6000
"""Of display 0 (X Window System Protocol, appendix B)."""

_DISPLAYS: Final = (1 << 16) - _X_PORT
"""That have a port."""

_CONNECT_S: Final = 1.0


class NoWindow(ViewerError):
    """The window cannot be shown here; the command line works."""


def check_pyside(
    pyside_version: tuple[int, ...] | None = None, python_version: tuple[int, ...] = sys.version_info[:2]
) -> None:
    """Refuse the release that loses a reference to None in every void call below Python 3.12.

    There PySide6 6.12.0 aborts the interpreter ("deallocating None") after some thousand calls, in mid-work.
    """
    if pyside_version is None:
        try:
            import PySide6
        except ImportError as error:
            raise NoWindow(
                f"PySide6, which draws the window, cannot be imported: {error}",
                advice="Install it with 'pip install PySide6-Essentials', or use 'checkpoint-viewer show FILE'",
            ) from error
        pyside_version = tuple(int(part) for part in PySide6.__version__.split(".")[:2] if part.isdigit())
    if python_version < (3, 12) and pyside_version >= (6, 12):
        raise NoWindow(
            f"PySide6 {'.'.join(map(str, pyside_version))} aborts on Python {'.'.join(map(str, python_version))}",
            advice="Install another with 'pip install \"PySide6-Essentials<6.12\"', or use Python 3.12 or later",
        )


def check_display() -> None:
    """Refuse to start where Qt would abort the process for want of a display."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return
    display, wayland = os.environ.get("DISPLAY", ""), os.environ.get("WAYLAND_DISPLAY")
    advice = "Use 'checkpoint-viewer show FILE' in a terminal"
    if not (display or wayland):
        raise NoWindow(
            "there is no display to show a window on (neither DISPLAY nor WAYLAND_DISPLAY is set)", advice=advice
        )
    local = re.match(r":(\d+)", display)
    if local and not wayland and not _answers(int(local[1])):
        raise NoWindow(f"the display {display} (of the variable DISPLAY) does not answer", advice=advice)


def _answers(number: int) -> bool:
    """Whether an X server of this machine takes connections, at one of the places where Qt would look for it."""
    path = f"/tmp/.X11-unix/X{number}"  # noqa: S108 - where X servers are, whoever runs them
    if Path(path).exists():  # as a rule; a connection would have to import more
        return True
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as unix:
        if unix.connect_ex("\0" + path) == 0:
            return True
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as network:
        network.settimeout(_CONNECT_S)
        return number < _DISPLAYS and network.connect_ex(("127.0.0.1", _X_PORT + number)) == 0


def check_fonts() -> None:
    """Refuse to show a window without a letter in it. After QApplication, which knows the fonts."""
    from PySide6.QtGui import QFontMetrics, QGuiApplication

    if not QFontMetrics(QGuiApplication.font()).inFont("a"):
        raise NoWindow(
            "there is no font to show text with",
            advice="Install one (fonts-dejavu, for example), or use 'checkpoint-viewer show FILE' in a terminal",
        )
