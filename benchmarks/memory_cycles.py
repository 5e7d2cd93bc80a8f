"""Does the program keep what it opened? 500 times a document is opened, a tensor of it looked at, and closed.

Measured are the memory of the window's process and of the engine after half of the cycles and after the last,
and beside it what an open window costs: memory with a file of 40,000 tensors, and processor time while nobody does
anything.

    python -m benchmarks.memory_cycles [CYCLES]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.checkpoints import many_tensors
from benchmarks.measuring import ROOT, Figure, figure, scratch_folder, table
from tools.virtual_screen import has_xvfb, virtual_screen
from viewer.resources import resource_path

if TYPE_CHECKING:
    from tools.window_driver import Condition
    from viewer.gui.window import MainWindow

CYCLES = 500
WARM = 250
"""Cycles after which everything that is imported, cached or pooled once is there."""

MOST_GROWTH_MB = 10
MOST_WINDOW_MB = 200
MOST_IDLE_PERCENT = 1
_SETTLE_S = 20
_IDLE_S = 15


def cycle(path: Path, cycles: int) -> list[tuple[int, float, float]]:
    """Open and close `path`; gives (cycle, MB of the window's process, MB of the engine) now and then.

    Runs in a process that has a screen.
    """
    import psutil  # type: ignore[import-untyped]

    from tools.window_driver import drive, histogram_is_shown

    seen: list[tuple[int, float, float]] = []
    own = psutil.Process()

    def look(number: int) -> None:
        (engine,) = own.children()
        seen.append((number, *(process.memory_info().rss / 1e6 for process in (own, engine))))

    def script(window: MainWindow) -> Generator[Condition, None, None]:
        yield window.isVisible
        for number in range(1, cycles + 1):
            window.documents.open_paths([path])
            yield lambda: histogram_can_come(window)
            page = window.documents.page
            assert page is not None
            assert page.tree is not None
            page.tree.go_to_path("model/head.weight")
            yield lambda: histogram_is_shown(window)
            window.documents.close_tab(0)
            yield lambda: window.documents.count() == 0
            if number % 50 == 0:
                look(number)

    drive(script, patience_s=120)
    return seen


def histogram_can_come(window: MainWindow) -> bool:
    """The document is there with its details."""
    from tools.window_driver import document_is_shown

    page = window.documents.page
    return document_is_shown(window) and page is not None and page.details is not None and page.details.isVisible()


def idle(path: Path, environment: Mapping[str, str]) -> tuple[float, float, float]:
    """MB of the window's process with `path` open, and percent of a processor that it and the engine take at rest."""
    import psutil

    program = subprocess.Popen(
        [sys.executable, "-m", "viewer", "--fresh", "--new-window", str(path)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
    )
    try:
        time.sleep(_SETTLE_S)
        window = psutil.Process(program.pid)
        processes = [window, *window.children()]
        before = [_cpu_s(process) for process in processes]
        time.sleep(_IDLE_S)
        used = [_cpu_s(process) - then for process, then in zip(processes, before, strict=True)]
        return window.memory_info().rss / 1e6, used[0] / _IDLE_S * 100, sum(used[1:]) / _IDLE_S * 100
    finally:
        program.terminate()
        program.wait()


def _cpu_s(process: Any) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def measure(cycles: int = CYCLES) -> list[Figure]:
    sample = resource_path("samples/training-step-0200.pth")
    with scratch_folder() as folder:
        many = many_tensors(folder / "many.pth", 40_000)
        if has_xvfb():
            with virtual_screen() as environment:
                return _figures(sample, many, environment, cycles)
        return _figures(sample, many, {"QT_QPA_PLATFORM": "offscreen"}, cycles)


def _figures(sample: Path, many: Path, environment: Mapping[str, str], cycles: int) -> list[Figure]:
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory_cycles", str(sample), str(cycles)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seen = json.loads(result.stdout)
    print("cycle, window MB, engine MB:", seen, file=sys.stderr)
    first = next(row for row in seen if row[0] >= min(WARM, cycles))
    last = seen[-1]
    rss, window_idle, engine_idle = idle(many, environment)
    name = f"from cycle {first[0]} to {last[0]} of opening and closing"
    return [
        figure(f"memory that the window gains {name}", "MB", [last[1] - first[1]], bound=MOST_GROWTH_MB),
        figure(f"memory that the engine gains {name}", "MB", [last[2] - first[2]], bound=MOST_GROWTH_MB),
        figure("memory of the window with 40,000 tensors open", "MB", [rss], bound=MOST_WINDOW_MB),
        figure("processor time of the idle window", "%", [window_idle], bound=MOST_IDLE_PERCENT),
        figure("processor time of the idle engine", "%", [engine_idle], bound=MOST_IDLE_PERCENT),
    ]


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(cycle(Path(sys.argv[1]), int(sys.argv[2]))))
    else:
        print(table(measure(int(sys.argv[1]) if len(sys.argv) == 2 else CYCLES)))
