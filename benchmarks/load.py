"""The real window under load: how long it takes, how much memory both processes take, and its longest gap.

    python -m benchmarks.load [NAME …]      dict, tensors, large, clicks, tabs, pair

Each runs in a process of its own, on a virtual screen where there is one. Files are sparse where nothing depends on
their bytes. `pair` compares two files of 20 GB and exports one, and needs 21 GB of disk.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.checkpoints import many_tensors, sparse_file
from benchmarks.measuring import ROOT, Figure, figure, scratch_folder, table
from tools.virtual_screen import has_xvfb, virtual_screen

if TYPE_CHECKING:
    from tools.window_driver import Condition
    from viewer.gui.window import MainWindow

CLICKS = 10_000
TABS = 500
_TICK_MS = 5
_PATIENCE_S = 900

_DICT = """
import pickle, sys
entries = {f"key {n}": n if n % 3 else [n, str(n)] for n in range(1_000_000)}
open(sys.argv[1], "wb").write(pickle.dumps(entries, 4))
"""


class Watch:
    """Looks at the window's own process: the longest time between two ticks of its event loop, and memory."""

    def __init__(self, window: MainWindow) -> None:
        from PySide6.QtCore import QTimer

        self.gap_ms = 0.0
        self._last = time.perf_counter()
        self._timer = QTimer(window, interval=_TICK_MS)
        self._timer.timeout.connect(self._tick)
        self._timer.start()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.gap_ms = max(self.gap_ms, (now - self._last) * 1e3)
        self._last = now

    def result(self, **seconds: float) -> dict[str, float]:
        """The figures so far: times, the longest gap, and the most memory that each process has had."""
        import psutil  # type: ignore[import-untyped]

        own = psutil.Process()
        children = own.children(recursive=True)
        engine = sum(_peak_mb(child.pid) for child in children)
        return {**seconds, "gap ms": self.gap_ms, "window MB": _peak_mb(own.pid), "engine MB": engine}


def _peak_mb(pid: int) -> float:
    """The most memory that a process has had; of Linux."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM"))


Steps = Generator["Condition", None, dict[str, float]]


def _opened(window: MainWindow, path: Path) -> Generator[Condition, None, float]:
    """Open a file; the seconds until its rows are there."""
    from tools.window_driver import document_is_shown

    started = time.perf_counter()
    window.documents.open_paths([path])
    yield lambda: document_is_shown(window)
    return time.perf_counter() - started


def open_one(window: MainWindow, path: Path) -> Steps:
    """Open a file and look through its tree."""
    watch = Watch(window)
    seconds = yield from _opened(window, path)
    yield _after(2)
    return watch.result(open=seconds)


def look_at_one(window: MainWindow, path: Path) -> Steps:
    """Open a file with one tensor and wait for its statistics and histogram."""
    from tools.window_driver import histogram_is_shown

    watch = Watch(window)
    opened = yield from _opened(window, path)
    started = time.perf_counter()
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    page.tree.go_to_path(next(iter(page.tree.model.table.label[1:])))
    yield lambda: histogram_is_shown(window)
    return watch.result(open=opened, statistics=time.perf_counter() - started)


def click_during_a_scan(window: MainWindow, path: Path) -> Steps:
    """Click on random tensors, as fast as the window takes it, while a scan of all runs."""
    watch = Watch(window)
    yield from _opened(window, path)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    assert page.checkpoint is not None
    nodes = [node for node in page.checkpoint.nodes.tree_order() if page.checkpoint.tensor_of_node(node) is not None]
    paths = [page.checkpoint.path_of(node) for node in nodes]
    rng = random.Random(0)
    started = time.perf_counter()
    page.scan_values()
    for number in range(CLICKS):
        page.tree.go_to_path(rng.choice(paths))
        yield _always
        if not page.scan.is_running and number % 1000 == 999:
            page.scan_values()
    clicked = time.perf_counter() - started
    yield lambda: not page.scan.is_running
    return watch.result(clicks=clicked, scan=time.perf_counter() - started)


def open_many_tabs(window: MainWindow, path: Path) -> Steps:
    """Open the same number of copies in tabs of their own, then close all."""
    from tools.window_driver import document_is_shown

    copies = [path.with_name(f"{number}.pth") for number in range(TABS)]
    for copy in copies:
        shutil.copyfile(path, copy)
    watch = Watch(window)
    started = time.perf_counter()
    window.documents.open_paths(copies)
    yield lambda: window.documents.count() == TABS and document_is_shown(window)
    yield lambda: all(page.checkpoint is not None for page in window.documents.pages)
    found = watch.result(open=time.perf_counter() - started)
    started = time.perf_counter()
    window.documents.close_all()
    yield lambda: window.documents.count() == 0
    return {**found, "close": time.perf_counter() - started}  # as the window does when it is closed


def compare_two(window: MainWindow, path: Path) -> Steps:
    """Compare a file with one beside it, to the last value, and export it."""
    from viewer.engine.export_requests import Export
    from viewer.export.options import ExportOptions

    watch = Watch(window)
    started = time.perf_counter()
    window.documents.compare_paths(path, path.with_name("other.pth"))
    yield lambda: window.documents.comparison is not None
    page = window.documents.comparison
    assert page is not None
    yield lambda: page.comparison is not None and not page.is_running
    compared = time.perf_counter() - started
    yield from _opened(window, path)
    opened = window.documents.page
    assert opened is not None
    done: list[object] = []
    started = time.perf_counter()
    # As the dialog does when it is accepted; nothing public leads past it.
    assert opened._document is not None
    window._bridge.submit(
        Export(opened._document, path.with_name("out.pth"), ExportOptions()),
        owner=window,
        on_result=done.append,
        on_failure=done.append,
    )
    yield lambda: bool(done)
    if isinstance(done[0], Exception):
        raise done[0]
    return watch.result(compare=compared, export=time.perf_counter() - started)


def _after(seconds: float) -> Condition:
    end_s = time.monotonic() + seconds
    return lambda: time.monotonic() >= end_s


def _always() -> bool:
    return True


LOADS: dict[str, tuple[str, Callable[[Path], Path], Callable[[Any, Path], Steps]]] = {
    "dict": ("a dict of 1,000,000 entries", lambda folder: _made(_DICT, folder / "dict.pkl"), open_one),
    "tensors": ("100,000 tensors", lambda folder: many_tensors(folder / "many.pth", 100_000), open_one),
    "large": ("a tensor of 8 GB", lambda folder: sparse_file(folder / "one.pth", 1, 8 << 30), look_at_one),
    "clicks": (
        f"{CLICKS:,} clicks while 1,000 tensors are scanned",
        lambda folder: sparse_file(folder / "m.pth", 1000, 4 << 30),
        click_during_a_scan,
    ),
    "tabs": (f"{TABS} tabs", lambda folder: many_tensors(folder / "m.pth", 10), open_many_tabs),
    "pair": ("a pair of 20 GB", lambda folder: _pair(folder), compare_two),
}


def _made(program: str, path: Path) -> Path:
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    return path


def _pair(folder: Path) -> Path:
    path = sparse_file(folder / "m.pth", 100, 20_000_000_000)
    sparse_file(folder / "other.pth", 100, 20_000_000_000)
    return path


def run_here(name: str, path: Path) -> dict[str, float]:
    """Run one load in this process, which has a screen."""
    from tools.window_driver import drive

    _, _, steps = LOADS[name]
    found: dict[str, float] = {}

    def script(window: MainWindow) -> Generator[Condition, None, None]:
        yield window.isVisible
        yield _after(3)
        found.update((yield from steps(window, path)))

    drive(script, patience_s=_PATIENCE_S)
    return found


@contextmanager
def _screen() -> Iterator[Mapping[str, str]]:
    if has_xvfb():
        with virtual_screen() as environment:
            yield environment
    else:
        yield {"QT_QPA_PLATFORM": "offscreen"}


def measure(names: list[str] | None = None) -> list[Figure]:
    """The figures of some loads, or of all."""
    figures = []
    for name in names or list(LOADS):
        title, make, _ = LOADS[name]
        print(f"{title} …", file=sys.stderr, flush=True)
        with scratch_folder() as folder, _screen() as environment:
            path = make(folder)
            result = subprocess.run(
                [sys.executable, "-m", "benchmarks.load", "--here", name, str(path)],
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
        for what, value in json.loads(result.stdout.splitlines()[-1]).items():
            unit = what.rpartition(" ")[2] if what.endswith((" ms", " MB")) else "s"
            figures.append(figure(f"{title}: {_WORDS[what]}", unit, [value]))
    return figures


_WORDS = {
    "open": "until the tree is there",
    "statistics": "statistics and histogram",
    "clicks": "all clicks",
    "scan": "until the scan is done",
    "close": "closing all",
    "compare": "compared",
    "export": "exported, verified and on the disk",
    "gap ms": "longest gap of the window",
    "window MB": "most memory of the window",
    "engine MB": "most memory of the engine and its helpers",
}


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--here":
        print(json.dumps(run_here(sys.argv[2], Path(sys.argv[3]))))
    else:
        print(table(measure(sys.argv[1:])))
