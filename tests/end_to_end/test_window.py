"""The program as a person meets it: a process with a window on a screen, a mouse, a keyboard, and real files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.window, pytest.mark.xdist_group("window")]


def play(scenario: str, *paths: Path, screen: dict[str, str]) -> dict[str, Any]:
    """What a scenario saw; it must end by itself, cleanly and without a word on standard error."""
    result = subprocess.run(
        [sys.executable, "-m", "tests.end_to_end.scenarios", scenario, *map(str, paths)],
        cwd=ROOT,
        env=screen,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    seen: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return seen


def assert_describes(statistics: dict[str, Any], tensor: torch.Tensor) -> None:
    """The statistics on screen are torch's, of all elements."""
    exact = tensor.double()
    assert statistics["count"] == statistics["counts"] == tensor.numel()
    assert statistics["min"] == exact.min().item()
    assert statistics["max"] == exact.max().item()
    assert statistics["mean"] == pytest.approx(exact.mean().item(), rel=1e-12)


@pytest.fixture
def large_file(tmp_path: Path) -> Path:
    """A large tensor, all holes on disk, that takes a while to scan, and a small one."""
    path = tmp_path / "large.pth"
    with torch.serialization.skip_data():
        torch.save({"large": torch.empty(1_500_000_000), "small": torch.empty(16)}, path)
    return path


def test_that_a_click_on_a_tensor_shows_what_torch_says_of_it_and_the_window_never_imports_torch(
    sample_path: Path, screen: dict[str, str]
) -> None:
    seen = play("look_at_a_tensor", sample_path, screen=screen)
    assert seen["loaded before the click"] == []
    assert "torch" not in seen["loaded after the click"]
    assert "pyqtgraph" in seen["loaded after the click"]
    assert_describes(seen["statistics"], torch.load(sample_path)["model"]["stages.2.conv.weight"])
    assert sample_path.name in seen["title"]
    assert "nothing was executed" in seen["verdict"]


def test_that_a_tensor_is_found_and_shown_with_the_keyboard_alone(sample_path: Path, screen: dict[str, str]) -> None:
    seen = play("filter_and_walk", sample_path, screen=screen)
    assert seen["path"] == "model/head.weight"
    assert_describes(seen["statistics"], torch.load(sample_path)["model"]["head.weight"])


def test_that_the_window_goes_on_when_the_engine_is_killed_in_the_middle_of_a_scan(
    large_file: Path, screen: dict[str, str]
) -> None:
    seen = play("lose_the_engine", large_file, screen=screen)
    assert len(seen["messages"]) == 1
    assert "engine" in seen["messages"][0]
    assert seen["second engine"] != seen["first engine"]
    assert seen["document is the same"]
    assert_describes(seen["statistics"], torch.zeros(16))
    assert not psutil.pid_exists(seen["second engine"])


def test_that_a_file_that_is_no_checkpoint_is_a_message_and_the_others_stay(
    sample_path: Path, tmp_path: Path, screen: dict[str, str]
) -> None:
    notes = tmp_path / "notes.pth"
    notes.write_text("import site\n", encoding="utf-8")
    seen = play("meet_bad_files", sample_path, notes, screen=screen)
    assert seen["tabs"] == [sample_path.name]
    assert len(seen["messages"]) == 1
    assert seen["messages"][0].startswith("notes.pth: ")
    assert_describes(seen["statistics"], torch.load(sample_path)["model"]["head.bias"])


def test_that_closing_the_window_ends_the_engine_in_the_middle_of_its_work(
    large_file: Path, screen: dict[str, str]
) -> None:
    seen = play("close_while_scanning", large_file, screen=screen)
    assert not psutil.pid_exists(seen["engine"])


@pytest.mark.skipif(shutil.which("xdotool") is None, reason="xdotool is not installed")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_that_the_command_shows_a_window_that_ctrl_q_closes(
    theme: str, sample_path: Path, screen: dict[str, str]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "viewer", "--fresh", "--new-window", "--theme", theme, str(sample_path)],
        cwd=ROOT,
        env=screen,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            # The class is what the desktop entry's StartupWMClass says.
            xdotool("search", "--sync", "--onlyvisible", "--class", "^checkpoint-viewer$", screen=screen)
            window = xdotool("search", "--sync", "--onlyvisible", "--name", sample_path.stem, screen=screen)
            engines = [child.pid for child in psutil.Process(program.pid).children()]
            assert len(engines) == 1
            xdotool("windowfocus", "--sync", window.split()[-1], screen=screen)
            xdotool("key", "ctrl+q", screen=screen)
            output, errors = program.communicate(timeout=30)
        finally:
            program.kill()
    assert (program.returncode, output, errors) == (0, "", "")
    assert not psutil.pid_exists(engines[0])


def xdotool(*arguments: str, screen: dict[str, str]) -> str:
    """Do something to the screen as a person would; gives what xdotool prints."""
    done = subprocess.run(
        ["xdotool", *arguments], env=screen, capture_output=True, text=True, timeout=40, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
