"""`make demo`: the window on the two sample checkpoints.

With a display it is the window as anybody starts it. Without one the same window runs on a virtual screen (Xvfb, or
Qt's own offscreen platform where that is missing), until the histogram of a tensor is on screen; then a picture of it
is saved, and the tree is printed in the terminal.

    python -m tools.demo [--output FOLDER]
"""

from __future__ import annotations

import argparse
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
SAMPLES = [resource_path(f"samples/training-step-{step}.pth") for step in ("0200", "0400")]
TENSOR = "model/stages.2.conv.weight"
SIZE = (1280, 800)


def take_picture(path: Path) -> None:
    """Show the window, wait for the histogram, save a picture of it. Runs in a process that has a screen."""
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
        if not window.grab().save(str(path)):
            raise OSError(f"cannot write {path}")

    drive(script, SAMPLES)


def run_headless(output: Path) -> int:
    """The window on a virtual screen, its picture, and the tree in the terminal."""
    output.mkdir(parents=True, exist_ok=True)
    picture = output.resolve() / "checkpoint-viewer.png"
    if has_xvfb():
        print("No display: the window runs on a virtual screen.", flush=True)
        screen: AbstractContextManager[dict[str, str]] = virtual_screen()
    else:
        print("No display and no Xvfb: the window runs on Qt's offscreen platform.", flush=True)
        screen = nullcontext({"QT_QPA_PLATFORM": "offscreen"})
    with screen as environment:
        command = [sys.executable, "-m", "tools.demo", "--take-picture", str(picture)]
        taken = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False)
    if taken.returncode:
        return taken.returncode
    print(f"Saved a picture of it: {picture}\n", flush=True)
    shown = subprocess.run([sys.executable, "-m", "viewer", "show", str(SAMPLES[0])], cwd=ROOT, check=False)
    return shown.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description="Show the window on two sample checkpoints.")
    parser.add_argument("--output", type=Path, default=ROOT / "demo-output", help="folder for the picture")
    parser.add_argument("--take-picture", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.take_picture is not None:
        take_picture(options.take_picture)
        return 0
    if display_answers():
        return subprocess.run([sys.executable, "-m", "viewer", *map(str, SAMPLES)], cwd=ROOT, check=False).returncode
    return run_headless(options.output)


if __name__ == "__main__":
    sys.exit(main())
