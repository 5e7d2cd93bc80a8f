"""`make demo` on a machine without a display."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.window, pytest.mark.xdist_group("window")]


def test_that_the_demo_without_a_display_saves_a_picture_and_prints_the_tree(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    result = subprocess.run(
        [sys.executable, "-m", "tools.demo", "--output", str(tmp_path)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    picture = tmp_path / "checkpoint-viewer.png"
    assert f"Saved a picture of it: {picture}\n" in result.stdout
    assert re.search(r"stages\.2\.conv\.weight +float32 +40×32×3×3", result.stdout)
    image = QImage(str(picture))
    assert (image.width(), image.height()) == (1280, 800)
    # The filled histogram: a blue that neither the palette's texts nor its selection have, in the right half.
    blues = sum(_is_fill(image.pixelColor(x, y).getRgb()) for x in range(640, 1260, 4) for y in range(240, 600, 4))
    assert blues > 1_000


def _is_fill(rgba: tuple[int, int, int, int]) -> bool:
    red, green, blue, _ = rgba
    return blue > 235 and 150 < red < 200 and 180 < green < 215
