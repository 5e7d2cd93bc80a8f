"""A second start of the program on the same screen: its files come to the window that is open."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.window, pytest.mark.xdist_group("window")]

FIRST = """
import json, sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
import viewer.gui.window as module
from viewer.cli.window import WindowOptions
from viewer.gui.app import run_window
from viewer.gui.settings import Settings

wanted = int(sys.argv[2])
timer = None

def look():
    window = next(widget for widget in QApplication.topLevelWidgets() if isinstance(widget, module.MainWindow))
    pages = window.documents.pages
    if len(pages) == wanted and all(page.checkpoint is not None for page in pages):
        is_dark = window.palette().window().color().lightness() < 128
        print(json.dumps([[page.path.name for page in pages], "dark" if is_dark else "light"]), flush=True)
        window.close()

def watch(window):
    global timer
    timer = QTimer(window, interval=20)
    timer.timeout.connect(look)
    timer.start()
    print("ready", flush=True)

shown = module.MainWindow.ask_engine
def ask_engine(self):
    shown(self)
    QTimer.singleShot(0, self, lambda: watch(self))
module.MainWindow.ask_engine = ask_engine
settings = Settings()
settings.set("view/theme", sys.argv[3])  # a start that asks for a theme would have a window of its own
settings.save()
sys.exit(run_window([Path(sys.argv[1])], WindowOptions()))
"""


@pytest.fixture
def own_screen(screen: dict[str, str], tmp_path: Path) -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="run-") as folder:  # a socket's path has to be short
        yield {**screen, "XDG_RUNTIME_DIR": folder, "XDG_CONFIG_HOME": str(tmp_path / "config")}


def start(path: Path, wanted: int, screen: dict[str, str], theme: str = "light") -> subprocess.Popen[str]:
    first = subprocess.Popen(
        [sys.executable, "-c", FIRST, str(path), str(wanted), theme],
        cwd=ROOT, env=screen, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert first.stdout is not None
    assert first.stdout.readline() == "ready\n"
    return first


def second(*arguments: str | Path, screen: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "viewer", *map(str, arguments)],
        cwd=ROOT, env=screen, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_that_files_of_a_second_and_a_third_start_become_tabs(
    theme: str, own_screen: dict[str, str], sample_path: Path, tmp_path: Path
) -> None:
    copies = [Path(shutil.copy(sample_path, tmp_path / name)) for name in ("b one.pth", "c.pth")]
    first = start(sample_path, 3, own_screen, theme)
    try:
        for path in copies:
            done = second(path, screen=own_screen)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        out, err = first.communicate(timeout=60)
    finally:
        first.kill()
        first.communicate()
    assert json.loads(out) == [[sample_path.name, "b one.pth", "c.pth"], theme]
    assert (first.returncode, err) == (0, "")


def test_that_after_a_window_was_killed_the_next_start_opens_its_own(
    own_screen: dict[str, str], sample_path: Path
) -> None:
    killed = start(sample_path, 99, own_screen)
    killed.kill()
    killed.communicate()
    first = start(sample_path, 1, own_screen)
    out, err = first.communicate(timeout=60)
    assert json.loads(out)[0] == [sample_path.name]
    assert (first.returncode, err) == (0, "")
