"""`make demo`: the window on the two sample checkpoints.

With a display it is the window as anybody starts it. Without one the same window runs on a virtual screen (Xvfb, or
Qt's own offscreen platform where that is missing), until the histogram of a tensor is on screen; then a picture of it
is saved, and the tree is printed in the terminal.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from tools.virtual_screen import display_answers, has_xvfb, virtual_screen
from viewer.resources import resource_path

if TYPE_CHECKING:
    from tools.window_driver import Condition
    from viewer.gui.window import MainWindow

ROOT = Path(__file__).parents[1]
OUTPUT = Path("demo-output")
SAMPLES = [resource_path(f"samples/training-step-{step}.pth") for step in ("0200", "0400")]
TENSOR = "model/stages.2.conv.weight"
SIZE = (1280, 800)


def picture_path() -> Path:
    return OUTPUT / "checkpoint-viewer.png"


def take_picture() -> None:
    """Show the window, wait for the histogram, save a picture. Runs in a process that has a screen."""
    from tools.window_driver import document_is_shown, drive, histogram_is_shown

    def script(window: MainWindow) -> Generator[Condition, None, None]:
        window.resize(*SIZE)
        yield lambda: all(page.tree is not None for page in window.documents.pages)
        window.documents.setCurrentIndex(0)
        yield lambda: document_is_shown(window)
        page = window.documents.page
        assert page is not None
        assert page.tree is not None
        page.tree.go_to_path(TENSOR)
        yield lambda: histogram_is_shown(window)
        OUTPUT.mkdir(exist_ok=True)
        if not window.grab().save(str(picture_path())):
            raise OSError(f"cannot write {picture_path()}")

    drive(script, SAMPLES)


def run_headless() -> int:
    """The window on a virtual screen, its picture, and the tree in the terminal."""
    if has_xvfb():
        print("No display: the window runs on a virtual screen.", flush=True)
        screen: AbstractContextManager[dict[str, str]] = virtual_screen()
    else:
        print("No display and no Xvfb: the window runs on Qt's offscreen platform.", flush=True)
        screen = nullcontext({"QT_QPA_PLATFORM": "offscreen"})
    with screen as environment:
        command = [sys.executable, "-m", "tools.demo", "--take-picture"]
        taken = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False)
    if taken.returncode:
        return taken.returncode
    print(f"Saved a picture of it: {ROOT / picture_path()}\n", flush=True)
    shown = subprocess.run([sys.executable, "-m", "viewer", "show", str(SAMPLES[0])], cwd=ROOT, check=False)
    return shown.returncode


def main() -> int:
    if sys.argv[1:] == ["--take-picture"]:
        take_picture()
        return 0
    if display_answers():
        return subprocess.run([sys.executable, "-m", "viewer", *map(str, SAMPLES)], cwd=ROOT, check=False).returncode
    return run_headless()


if __name__ == "__main__":
    sys.exit(main())
