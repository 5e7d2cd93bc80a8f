"""The program from its start to its end, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

STORY = """
import os, sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication, QTimer
from PySide6.QtWidgets import QApplication
import viewer.gui.window as window_module
from viewer.cli.window import WindowOptions
from viewer.gui.app import run_window

class Window(window_module.MainWindow):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.documents.filled.connect(self.look)
        QTimer.singleShot(60_000, QApplication.quit)

    def look(self):
        page = self.documents.page
        print("rows", page.tree.model.rowCount(), flush=True)
        page.tree.go_to_path(page.checkpoint.path_of(next(
            node for node in range(len(page.checkpoint.nodes)) if page.checkpoint.tensor_of_node(node) is not None
        )))
        if os.environ.get("THEN") == "wait":
            print("waiting", flush=True)
        else:
            QTimer.singleShot(300, self.close)

window_module.MainWindow = Window
code = run_window([Path(sys.argv[1])], WindowOptions(fresh=True))
print("torch" in sys.modules, code, flush=True)
"""


def test_that_the_window_opens_a_file_shows_a_tensor_and_ends_cleanly_without_torch(sample_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", STORY, str(sample_path)],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("rows "), done.stderr
    assert lines[-1] == "False 0"
    assert done.returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_that_ctrl_c_in_the_terminal_closes_the_window_and_ends_the_engine(sample_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STORY, str(sample_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "THEN": "wait"},
    )
    assert process.stdout is not None
    with process:
        for line in process.stdout:
            if line == "waiting\n":
                break
        engines = psutil.Process(process.pid).children()
        assert engines
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(30) == 0
    assert rest.endswith("False 0\n")
    assert not [engine for engine in engines if engine.is_running() and engine.status() != psutil.STATUS_ZOMBIE]
