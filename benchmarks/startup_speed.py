"""From the start of the process to the first paint, and to the tree of a 300-tensor file on screen, against
`python -c "import torch"`.

The program is started as anybody starts it, but for one thing: once its engine was started (its first step), the
class of the window is made to tell when it was painted, or that of a document's page when its tree was. The clock
starts before the process does.

    python -m benchmarks.startup_speed
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.checkpoints import many_tensors
from benchmarks.measuring import ROOT, Figure, Run, alternate, figure, scratch_folder, table
from tools.virtual_screen import has_xvfb, virtual_screen

RUNS = 9
TENSORS = 300

_WATCHED = """
import functools, sys, time
from viewer.engine.client import EngineClient

start = EngineClient.start

def start_and_watch(client):
    start(client)
    if sys.argv[2] == "tree":
        from viewer.gui.document_page import DocumentPage as kind
    else:
        from viewer.gui.window import MainWindow as kind
    make = kind.__init__
    def make_and_listen(widget, *arguments):
        make(widget, *arguments)
        (widget.shown if sys.argv[2] == "tree" else widget.painted).connect(functools.partial(shown, widget))
    kind.__init__ = make_and_listen

def shown(widget):
    print(time.monotonic(), flush=True)
    widget.window().close()

EngineClient.start = start_and_watch
from viewer.cli.main import main
sys.exit(main(["--fresh", "--new-window", sys.argv[1]]))
"""


def start_window(path: Path, until: str, environment: Mapping[str, str]) -> Run:
    """Start the program on a file; the time until its window ("paint") or its tree is painted."""
    started = time.monotonic()  # one clock for all processes of the machine
    shown = subprocess.run(
        [sys.executable, "-c", _WATCHED, str(path), until],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    return Run(float(shown.stdout) - started, 0)


def import_torch() -> Run:
    """What a script that opens a checkpoint waits for before its first line of work."""
    started = time.monotonic()
    program = "import torch, time; print(time.monotonic())"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    return Run(float(done.stdout) - started, 0)


def measure() -> list[Figure]:
    found: list[Figure] = []
    with scratch_folder() as folder:
        path = many_tensors(folder / "small.pth", TENSORS)
        found += _measure_on("offscreen", path, {"QT_QPA_PLATFORM": "offscreen"})
        if has_xvfb():
            with virtual_screen() as environment:
                found += _measure_on("X server", path, environment)
    return found


def _measure_on(screen: str, path: Path, environment: Mapping[str, str]) -> list[Figure]:
    paints, trees, torchs = alternate(
        RUNS,
        lambda: start_window(path, "paint", environment),
        lambda: start_window(path, "tree", environment),
        import_torch,
    )
    theirs, against = [run.ms for run in torchs], 'python -c "import torch"'
    return [
        figure(
            f"start to the first paint ({screen})", "ms", [run.ms for run in paints], theirs, against, times=1 / 0.5
        ),
        figure(
            f"start to the tree of {TENSORS} tensors on screen ({screen})",
            "ms",
            [run.ms for run in trees],
            theirs,
            against,
            times=1 / 0.8,
        ),
    ]


if __name__ == "__main__":
    print(table(measure()))
