"""The longest gap in the window's event loop while a 40,000-tensor file opens and while 2 GB are scanned.

A timer in the window's thread is due every 5 ms; the longest time between two of its ticks is the longest that a
click or a key would have waited.

    python -m benchmarks.gui_gaps

With CHECKPOINT_VIEWER_EXPLAIN=1 each gap over the bound prints where the window's thread was.
"""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.checkpoints import many_tensors, one_tensor
from benchmarks.measuring import ROOT, Figure, figure, scratch_folder, table
from tools.virtual_screen import has_xvfb, virtual_screen

if TYPE_CHECKING:
    from tools.window_driver import Condition
    from viewer.gui.window import MainWindow

RUNS = 5
BOUND_MS = 100
_TICK_MS = 5


def watch(many: Path, large: Path) -> dict[str, float]:
    """Open the one file, scan the tensor of the other, and give the longest gap of each in ms.

    Runs in a process that has a screen. The window is up, painted and idle before anything is measured.
    """
    from PySide6.QtCore import QTimer

    from tools.window_driver import document_is_shown, drive, histogram_is_shown

    gaps: dict[str, float] = {}
    phase = "start"
    last = time.perf_counter()

    explain = bool(os.environ.get("CHECKPOINT_VIEWER_EXPLAIN"))

    def tick() -> None:
        nonlocal last
        if explain:
            faulthandler.dump_traceback_later(BOUND_MS / 1e3)  # unless the next tick comes first
        now = time.perf_counter()
        gaps[phase] = max(gaps.get(phase, 0.0), (now - last) * 1e3)
        last = now

    def script(window: MainWindow) -> Generator[Condition, None, None]:
        nonlocal phase, last
        yield window.isVisible
        yield _after(0.5)
        timer = QTimer(window, interval=_TICK_MS)
        timer.timeout.connect(tick)
        last = time.perf_counter()
        timer.start()
        phase = "opening"
        window.documents.open_paths([many])
        yield lambda: document_is_shown(window)
        yield _after(0.5)
        phase = "between"
        window.documents.open_paths([large])
        yield lambda: document_is_shown(window)
        yield _after(0.5)
        phase = "scanning"
        page = window.documents.page
        assert page is not None
        assert page.tree is not None
        page.tree.go_to_path("weight")
        yield lambda: histogram_is_shown(window)
        timer.stop()
        faulthandler.cancel_dump_traceback_later()

    drive(script, patience_s=300)
    return gaps


def _after(seconds: float) -> Condition:
    end_s = time.monotonic() + seconds
    return lambda: time.monotonic() >= end_s


def measure() -> list[Figure]:
    with scratch_folder() as folder:
        many = many_tensors(folder / "many.pth", 40_000)
        large = one_tensor(folder / "large.pth", 2_000_000_000)
        if has_xvfb():
            with virtual_screen() as environment:
                runs = [_run(many, large, environment) for _ in range(RUNS)]
        else:
            runs = [_run(many, large, {"QT_QPA_PLATFORM": "offscreen"}) for _ in range(RUNS)]
    opening, scanning = [run["opening"] for run in runs], [run["scanning"] for run in runs]
    return [
        figure("longest gap while 40,000 tensors open", "ms", opening, bound=BOUND_MS),
        figure("longest gap while 2 GB are scanned", "ms", scanning, bound=BOUND_MS),
    ]


def _run(many: Path, large: Path, environment: Mapping[str, str]) -> dict[str, float]:
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.gui_gaps", str(many), str(large)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    gaps: dict[str, float] = json.loads(result.stdout)
    return gaps


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(watch(Path(sys.argv[1]), Path(sys.argv[2]))))
    else:
        print(table(measure()))
