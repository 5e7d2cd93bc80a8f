"""Whether Qt can be trusted to run here; said in words before it aborts the process without any."""

from __future__ import annotations

import os
import sys

from viewer.errors import ViewerError


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
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise NoWindow(
            "there is no display to show a window on (neither DISPLAY nor WAYLAND_DISPLAY is set)",
            advice="Use 'checkpoint-viewer show FILE' in a terminal",
        )
