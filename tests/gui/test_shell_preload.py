"""What is loaded ahead, and what is not."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys, threading
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from viewer.gui.preload import Preloader

app = QApplication([])
preloader = Preloader(app)
preloader.ready_details()
assert "viewer.gui.details.panel" not in sys.modules
assert threading.active_count() == 1
QTimer.singleShot(2000, app.quit)
app.exec()
assert "viewer.gui.details.panel" in sys.modules
preloader.ready_qt()
QTimer.singleShot(2000, app.quit)
app.exec()
assert "PySide6.QtSvg" in sys.modules
loaded = {"numpy", "pyqtgraph", "torch"} & set(sys.modules)
assert not loaded, loaded
preloader.ready_numbers()
preloader.ready_numbers()
assert threading.active_count() <= 2
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        thread.join()
assert "numpy" in sys.modules
assert "pyqtgraph" not in sys.modules  # that comes in this thread, in an event of its own
QTimer.singleShot(2000, app.quit)
app.exec()
assert "pyqtgraph" in sys.modules
assert "torch" not in sys.modules
print("done")
"""


def test_that_details_qt_numbers_and_plots_are_loaded_in_turn_and_torch_is_not() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "done\n", done.stderr


IMPORTS = """
import sys
import viewer.gui.window, viewer.gui.app
print(sorted({"numpy", "pyqtgraph", "torch", "viewer.gui.details.panel"} & set(sys.modules)))
"""


def test_that_the_empty_window_needs_neither_plots_nor_details() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
