"""`make screenshots`: draw the pictures in docs/screenshots/ again, with the real window on a virtual screen."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tools.virtual_screen import virtual_screen
from viewer.gui.format import NO_VALUE
from viewer.gui.scan import ScanState
from viewer.resources import resource_path

if TYPE_CHECKING:
    from tools.window_driver import Condition
    from viewer.gui.details.map_page import MapPage
    from viewer.gui.details.overlay import OverlayPage
    from viewer.gui.details.panel import DetailsPanel
    from viewer.gui.details.values_page import ValuesPage
    from viewer.gui.meaning.optimizer_page import OptimizerPage
    from viewer.gui.roundtrip.page import RoundTripPage
    from viewer.gui.window import MainWindow

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "screenshots"
SAMPLES = [resource_path(f"samples/training-step-{step}.pth") for step in ("0200", "0400")]
SIZE = (1280, 800)
NAMES = (
    "start",
    "checkpoint-light",
    "checkpoint-dark",
    "compare-light",
    "compare-dark",
    "overview-light",
    "overview-dark",
    "scan-light",
    "scan-dark",
    "values-light",
    "values-dark",
    "map-light",
    "map-dark",
    "optimizer-light",
    "optimizer-dark",
    "export-light",
    "export-dark",
    "roundtrip-light",
    "roundtrip-dark",
    "error",
)


def draw(name: str) -> None:
    """Draw one picture; runs in a process that has a screen."""
    from tools.window_driver import drive

    theme = "dark" if name.endswith("dark") else "light"
    if name == "start":
        drive(_start, theme=theme)
    elif name == "error":
        with tempfile.TemporaryDirectory() as folder:
            broken = Path(folder) / "training-step-0600.pth"
            broken.write_bytes(SAMPLES[1].read_bytes()[:150_000])  # as a copy that was cut off
            notes = Path(folder) / "notes.pth"
            notes.write_text("import site\n", encoding="utf-8")
            drive(_error, [SAMPLES[0], broken, notes], theme=theme)
    elif name.startswith("compare"):
        drive(_compare, theme=theme)
    elif name.startswith("overview"):
        drive(_overview, [SAMPLES[1]], theme=theme)
    elif name.startswith("scan"):
        drive(_scan, [SAMPLES[1]], theme=theme)
    elif name.startswith("values"):
        drive(_values, [SAMPLES[1]], theme=theme)
    elif name.startswith("map"):
        drive(_map, [SAMPLES[1]], theme=theme)
    elif name.startswith("optimizer"):
        drive(_optimizer, [SAMPLES[1]], theme=theme)
    elif name.startswith("roundtrip"):
        drive(_roundtrip, [SAMPLES[0]], theme=theme)
    elif name.startswith("export"):
        drive(_export, [SAMPLES[0]], theme=theme)
    else:
        drive(_checkpoint, SAMPLES, theme=theme)


def _save(window: MainWindow, name: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.png"
    if not window.grab().save(str(path)):
        raise OSError(f"cannot write {path}")


def _start(window: MainWindow) -> Generator[Condition, None, None]:
    window.resize(*SIZE)
    yield lambda: window.start.isVisible()
    yield _devices_are_known(window)
    _save(window, "start")


def _checkpoint(window: MainWindow) -> Generator[Condition, None, None]:
    from tools.window_driver import document_is_shown, histogram_is_shown

    window.resize(*SIZE)
    yield lambda: all(page.tree is not None for page in window.documents.pages)
    window.documents.setCurrentIndex(0)
    yield lambda: document_is_shown(window)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    page.tree.go_to_path("model/stages.2.conv.weight")
    yield lambda: histogram_is_shown(window)
    yield _devices_are_known(window)
    _save(window, "checkpoint-dark" if _is_dark(window) else "checkpoint-light")


def _compare(window: MainWindow) -> Generator[Condition, None, None]:
    window.resize(*SIZE)
    window.documents.compare_paths(*SAMPLES)
    page = window.documents.comparison
    assert page is not None
    yield lambda: page.comparison is not None and page.comparison.overview is not None and page.tree.table is not None
    comparison = page.comparison
    assert comparison is not None
    wanted = "model/stages.2.conv.weight"
    page.tree.go_to_row(next(row for row in range(len(comparison.rows)) if comparison.path_a(row) == wanted))
    yield lambda: page.details.shows_pair
    yield _devices_are_known(window)
    _save(window, "compare-dark" if _is_dark(window) else "compare-light")


def _overview(window: MainWindow) -> Generator[Condition, None, None]:
    from tools.window_driver import document_is_shown

    window.resize(1440, 1000)
    yield lambda: document_is_shown(window)
    page = window.documents.page
    assert page is not None
    yield lambda: page.recognition.recognition is not None
    page.scan_values()
    yield lambda: page.scan.state is ScanState.DONE
    yield _devices_are_known(window)
    _save(window, "overview-dark" if _is_dark(window) else "overview-light")


def _scan(window: MainWindow) -> Generator[Condition, None, None]:
    from PySide6.QtCore import QItemSelectionModel

    from tools.window_driver import document_is_shown

    window.resize(1440, 880)
    yield lambda: document_is_shown(window)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    assert page.details is not None
    yield lambda: page.recognition.recognition is not None
    page.tree.filter_edit.setText("model conv")
    yield lambda: page.tree is not None and page.tree.model.shape.n_matches is not None
    page.scan_values()
    yield lambda: page.scan.state is ScanState.DONE
    model = page.tree.model
    flags = QItemSelectionModel.SelectionFlag
    for stage in range(3):
        row = model.table.row_of_node[model.table.checkpoint.find(f"model/stages.{stage}.conv.weight")]
        page.tree.view.selectionModel().select(model.index_of(row), flags.Select | flags.Rows)
    shown: OverlayPage | None = None
    while shown is None:
        yield lambda: True
        shown = cast("OverlayPage | None", page.details.page("Together"))
    yield lambda: len(shown.plot.curves) == 3
    yield _devices_are_known(window)
    _save(window, "scan-dark" if _is_dark(window) else "scan-light")


def _values(window: MainWindow) -> Generator[Condition, None, None]:
    details = yield from _tab_of(window, "model/stages.2.conv.weight", "Values")
    values = cast("ValuesPage", details.page("Values"))
    yield lambda: values.blocks.value(0, 0) is not None
    values.go_to.setText(":, :, 1, 1")  # the middle of each kernel
    values.go_to.returnPressed.emit()
    values.go_to.clear()
    values.options.shading.setChecked(True)
    yield lambda: values.blocks.value(20, 6) is not None and "bits" in values.about.text()
    _save(window, "values-dark" if _is_dark(window) else "values-light")


def _map(window: MainWindow) -> Generator[Condition, None, None]:
    details = yield from _tab_of(window, "model/stages.2.conv.weight", "Map")
    page = cast("MapPage", details.page("Map"))
    yield lambda: page.canvas.picture_at(0, 0) is not None
    page.kernels.setChecked(True)
    yield lambda: "kernel" in page.info.text()
    _save(window, "map-dark" if _is_dark(window) else "map-light")


def _tab_of(window: MainWindow, path: str, title: str) -> Generator[Condition, None, DetailsPanel]:
    """Show a tab of a tensor."""
    from tools.window_driver import document_is_shown

    window.resize(*SIZE)
    yield lambda: document_is_shown(window)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    assert page.details is not None
    details = page.details
    yield lambda: page.recognition.recognition is not None
    page.tree.go_to_path(path)
    yield lambda: details.tab == "Distribution"
    details.choose_tab(title)
    yield _devices_are_known(window)
    return details


def _optimizer(window: MainWindow) -> Generator[Condition, None, None]:
    from tools.window_driver import document_is_shown

    window.resize(1440, 880)
    yield lambda: document_is_shown(window)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    assert page.details is not None
    yield lambda: page.recognition.recognition is not None
    page.tree.go_to_path("optimizer/state[2]")
    shown: OptimizerPage | None = None
    while shown is None:
        yield lambda: True
        shown = cast("OptimizerPage | None", page.details.page("Optimizer"))
    yield lambda: shown.view.entries.rows is not None and len(shown.norms.briefs) > 0
    yield lambda: shown.details.facts.texts()[-1][1] != NO_VALUE
    yield _devices_are_known(window)
    _save(window, "optimizer-dark" if _is_dark(window) else "optimizer-light")


def _export(window: MainWindow) -> Generator[Condition, None, None]:
    from tools.window_driver import document_is_shown
    from viewer.gui.export.dialog import ExportDialog

    yield lambda: document_is_shown(window)
    page = window.documents.page
    assert page is not None
    yield lambda: page.recognition.recognition is not None
    window.actions_by_id["export"].trigger()
    dialog = page.findChild(ExportDialog)
    assert dialog is not None
    dialog.form.flavour.setCurrentIndex(1)
    dialog.form.what.setCurrentIndex(1)
    dialog.form.cast.setCurrentIndex(dialog.form.cast.findData("bfloat16"))
    dialog.target.setText("/data/runs/training-step-0200-weights.safetensors")
    yield lambda: dialog.plan is not None
    name = f"export-{'dark' if _is_dark(window) else 'light'}"
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not dialog.grab().save(str(FOLDER / f"{name}.png")):
        raise OSError(f"cannot write {name}")
    dialog.close()


def _roundtrip(window: MainWindow) -> Generator[Condition, None, None]:
    from tools.window_driver import document_is_shown

    yield lambda: document_is_shown(window)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    assert page.details is not None
    details = page.details
    page.tree.go_to_path("model/stages.2.conv.weight")
    yield lambda: details.tab == "Distribution"
    details.choose_tab("Round trip")
    tab = cast("RoundTripPage", details.page("Round trip"))
    tab.start()
    yield lambda: tab.again.isVisible() and len(tab.model.results) > 1
    tab.table.selectRow(1)
    yield lambda: "address" in tab.words.text()
    _save(window, f"roundtrip-{'dark' if _is_dark(window) else 'light'}")


def _error(window: MainWindow) -> Generator[Condition, None, None]:
    from tools.window_driver import document_is_shown

    window.resize(*SIZE)
    yield lambda: not any(page.is_opening for page in window.documents.pages)
    yield window.messages.isVisible
    yield lambda: document_is_shown(window)
    page = window.documents.page
    assert page is not None
    assert page.tree is not None
    page.tree.go_to_path("rng_state")  # its bytes lay behind the cut
    yield lambda: page.details is not None and page.details.tab == "Distribution"
    _save(window, "error")


def _devices_are_known(window: MainWindow) -> Condition:
    return lambda: window.status.device_box.isVisible()


def _is_dark(window: MainWindow) -> bool:
    return window.palette().window().color().lightness() < 128


def main() -> int:
    if len(sys.argv) > 1:
        draw(sys.argv[1])
        return 0
    with virtual_screen("1440x1000x24") as environment:
        for name in NAMES:
            command = [sys.executable, "-m", "tools.screenshots", name]
            subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=True)
            print(f"docs/screenshots/{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
