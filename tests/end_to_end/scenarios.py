"""What a person does with the window, as scripts. Each runs in a process of its own: `python -m … NAME [FILE …]`.

A scenario prints what it saw as one line of JSON, for the test to judge.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import psutil
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from tools.window_driver import Condition, document_is_shown, drive, histogram_is_shown
from viewer.gui.document_page import DocumentPage
from viewer.gui.window import MainWindow

Steps = Generator[Condition, None, None]

seen: dict[str, object] = {}


def page_of(window: MainWindow) -> DocumentPage:
    page = window.documents.page
    assert page is not None
    return page


def click(window: MainWindow, path: str) -> None:
    """Click the row of a node with the mouse, after its parents were opened."""
    page = page_of(window)
    assert page.tree is not None
    assert page.checkpoint is not None
    view, table = page.tree.view, page.tree.model.table
    row = table.row_of_node[page.checkpoint.find(path)]
    for above in reversed(list(table.ancestors(row))):
        view.setExpanded(page.tree.model.index_of(above), True)
    index = page.tree.model.index_of(row)
    view.scrollTo(index)
    middle = view.visualRect(index).center()
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(middle))


def engine() -> psutil.Process:
    """The engine's process."""
    (found,) = [child for child in psutil.Process().children() if "viewer.engine" in " ".join(child.cmdline())]
    return found


def loaded() -> list[str]:
    return sorted({name.partition(".")[0] for name in sys.modules} & {"torch", "numpy", "pyqtgraph"})


def statistics(window: MainWindow) -> dict[str, object]:
    details = page_of(window).details
    assert details is not None
    summary = details.distribution._summary
    assert summary is not None
    found = summary.statistics
    return {
        "count": found.count,
        "min": found.min,
        "max": found.max,
        "mean": found.mean,
        "counts": sum(summary.histogram.counts),
    }


def is_scanning(window: MainWindow) -> bool:
    """The engine has begun with a tensor and is not done."""
    return any(job.progress is not None and 0 < job.progress.done < job.progress.total for job in window._bridge.jobs)


def look_at_a_tensor(window: MainWindow) -> Steps:
    """Open a file, click a tensor, look at its histogram."""
    yield lambda: document_is_shown(window)
    seen["loaded before the click"] = loaded()
    click(window, "model/stages.2.conv.weight")
    yield lambda: histogram_is_shown(window)
    seen["loaded after the click"] = loaded()
    seen["statistics"] = statistics(window)
    seen["title"] = window.windowTitle()
    seen["verdict"] = window.status.verdict.text()


def filter_and_walk(window: MainWindow) -> Steps:
    """Find a tensor with the keyboard alone."""
    yield lambda: document_is_shown(window)
    page = page_of(window)
    assert page.tree is not None
    window.activateWindow()  # there is no window manager to do it
    yield window.isActiveWindow
    QTest.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    yield page.tree.filter_edit.hasFocus
    QTest.keyClicks(page.tree.filter_edit, "head.weight")
    yield lambda: page.tree is not None and page.tree.model.shape.n_matches is not None
    shape = page.tree.model.shape
    seen["matches"] = shape.n_matches
    QTest.keyClick(page.tree.filter_edit, Qt.Key.Key_Down)
    yield page.tree.view.hasFocus
    for _ in range(20):
        node = page.tree.current_node
        if page.checkpoint is not None and node is not None and page.checkpoint.tensor_of_node(node) is not None:
            break
        QTest.keyClick(page.tree.view, Qt.Key.Key_Down)
    yield lambda: histogram_is_shown(window)
    assert page.checkpoint is not None
    assert page.tree.current_node is not None
    seen["path"] = page.checkpoint.path_of(page.tree.current_node)
    seen["statistics"] = statistics(window)


def lose_the_engine(window: MainWindow) -> Steps:
    """Kill the engine while it scans a large tensor, and go on."""
    yield lambda: document_is_shown(window)
    page = page_of(window)
    first = engine()
    seen["first engine"] = first.pid
    click(window, "large")
    yield lambda: is_scanning(window)
    os.kill(first.pid, signal.SIGKILL)
    yield window.messages.isVisible
    seen["messages"] = [message.text for message in window.messages.messages]
    click(window, "small")
    yield lambda: histogram_is_shown(window)
    seen["statistics"] = statistics(window)
    seen["second engine"] = engine().pid
    seen["document is the same"] = page_of(window) is page


def meet_bad_files(window: MainWindow) -> Steps:
    """Open a file that is no checkpoint beside one that is, and use the latter."""
    yield lambda: not any(page.is_opening for page in window.documents.pages)
    yield window.messages.isVisible
    seen["messages"] = [message.text for message in window.messages.messages]
    seen["tabs"] = [page.path.name for page in window.documents.pages]
    click(window, "model/head.bias")
    yield lambda: histogram_is_shown(window)
    seen["statistics"] = statistics(window)


def close_while_scanning(window: MainWindow) -> Steps:
    """Close the window while the engine is busy."""
    yield lambda: document_is_shown(window)
    seen["engine"] = engine().pid
    click(window, "large")
    yield lambda: is_scanning(window)


SCENARIOS = {
    function.__name__: function
    for function in (look_at_a_tensor, filter_and_walk, lose_the_engine, meet_bad_files, close_while_scanning)
}


def main() -> None:
    drive(SCENARIOS[sys.argv[1]], [Path(name) for name in sys.argv[2:]], patience_s=40)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
