"""The virtual screen that the demo, the benchmarks and the window tests use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tools.virtual_screen import display_answers, has_xvfb, virtual_screen

SIZE = """
from PySide6.QtGui import QGuiApplication
app = QGuiApplication([])
print(app.platformName(), app.primaryScreen().size().toTuple())
"""


@pytest.mark.window
@pytest.mark.xdist_group("window")
@pytest.mark.skipif(not has_xvfb(), reason="Xvfb is not installed")
def test_that_qt_shows_its_windows_on_a_virtual_screen_of_the_size_that_was_asked_for() -> None:
    with virtual_screen("1024x600x24") as environment:
        shown = subprocess.run(
            [sys.executable, "-c", SIZE],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (shown.returncode, shown.stdout) == (0, "xcb (1024, 600)\n"), shown.stderr


def test_that_a_display_that_is_gone_is_no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QT_QPA_PLATFORM")
    monkeypatch.setenv("DISPLAY", ":65000")
    assert not display_answers()
    monkeypatch.delenv("DISPLAY")
    assert not display_answers()
