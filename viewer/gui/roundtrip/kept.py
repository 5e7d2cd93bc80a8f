"""Folders for reloaded copies that are looked at: they last as long as the program, and are removed with it."""

from __future__ import annotations

import shutil
import weakref
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from viewer.roundtrip.scratch import new_folder


def kept_folder() -> Path:
    """A new folder. A comparison of what is in it may outlive the page that asked for it."""
    folder = new_folder("kept")
    # Runs at the end of the interpreter; after a crash, the next round trip sweeps.
    weakref.finalize(QCoreApplication.instance(), shutil.rmtree, folder, ignore_errors=True)
    return folder
