"""A person's day on a virtual screen, under both themes: dialog, drop, histogram, comparison, export, and the session
that comes back the next morning."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.end_to_end.test_window import assert_describes

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.window, pytest.mark.xdist_group("window")]


def live(story: str, theme: str, folder: Path, screen: dict[str, str]) -> dict[str, Any]:
    """What a story saw; it must end by itself, cleanly and without a word on standard error."""
    result = subprocess.run(
        [sys.executable, "-m", "tests.end_to_end.everyday", story, theme, str(folder)],
        cwd=ROOT,
        env={**screen, "XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    code, seen = json.loads(result.stdout.splitlines()[-1])
    assert code == 0
    return dict(seen)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_that_a_day_ends_with_the_session_that_the_next_morning_begins_with(
    theme: str, sample_paths: tuple[Path, Path], screen: dict[str, str], tmp_path: Path
) -> None:
    for path, name in zip(sample_paths, ("a.pth", "b.pth"), strict=True):
        shutil.copy(path, tmp_path / name)
    seen = live("day", theme, tmp_path, screen)
    assert seen["start page"]
    assert_describes(seen["statistics"], torch.load(tmp_path / "b.pth", weights_only=True)["model"]["head.weight"])
    assert "69 tensors" in seen["compared"]
    assert seen["exported"]
    assert seen["reopens"]
    assert seen["theme"] == theme
    assert seen["troubles"] == []
    original, written = (
        torch.load(tmp_path / name, weights_only=True)["model"] for name in ("a.pth", "canonical.pth")
    )
    assert all(torch.equal(original[name], written[name]) for name in original)
    again = live("morning", theme, tmp_path, screen)
    assert again["tabs"] == seen["tabs"]
    assert again["front"] == seen["front"] == 0
    assert again["troubles"] == []
    assert [path.name for path in (tmp_path / "state" / "checkpoint-viewer").iterdir()] == []
