"""No fonts, no display or one that goes away, no home, other languages: words, or a window that works."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import psutil
import pytest

from tests.faults.places import can_mount, small_disk
from tools.virtual_screen import has_xvfb, virtual_screen
from viewer.desktop.state import crashes
from viewer.resources import resource_path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="displays, homes and fonts of Linux")

ROOT: Final = Path(__file__).parents[2]
LONG_S: Final = 60
HOMES: Final = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")


def window(path: Path, **environment: str) -> dict[str, object]:
    """What a window shows on a file in these surroundings; {} where there is none. Its words are under "stderr"."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.surroundings", str(path)],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=LONG_S, check=False,
    )  # fmt: skip
    found = json.loads(done.stdout) if done.stdout else {}
    return {**found, "stderr": done.stderr, "code": done.returncode}


def program(path: Path, **environment: str) -> subprocess.Popen[str]:
    left_out = ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return subprocess.Popen(
        [sys.executable, "-m", "viewer", "--new-window", str(path)],
        cwd=ROOT, env={**kept, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


# Homes


@pytest.mark.parametrize("home", ["missing", "read-only"])
def test_that_a_window_without_a_home_that_can_be_written_works_and_says_so_where_it_is_asked(
    home: str, sample_path: Path, tmp_path: Path
) -> None:
    if home == "read-only" and not can_mount():
        pytest.skip("needs the right to mount")
    with ExitStack() as stack:
        at = Path("/proc/nowhere")
        if home == "read-only":
            at = stack.enter_context(small_disk(tmp_path / "home", 1 << 20, read_only=True))
        seen = window(sample_path, **dict.fromkeys(HOMES, str(at)))
    assert seen["code"] == 0, seen
    assert seen["messages"] == []
    assert "Cannot be stored in" in str(seen["settings"])


# Languages


@pytest.fixture(scope="module")
def usual() -> dict[str, object]:
    return window(resource_path("samples/training-step-0200.pth"), LC_ALL="C.UTF-8")


@pytest.mark.parametrize("locale", ["C", "tr_TR.UTF-8", "ar_EG.UTF-8"])
def test_that_numbers_and_names_are_the_same_in_every_language(
    usual: dict[str, object], sample_path: Path, locale: str
) -> None:
    seen = window(sample_path, LC_ALL=locale)
    assert seen["code"] == 0, seen
    for what in ("name", "rows", "messages", "painted"):
        assert seen[what] == usual[what]
    assert seen["locale"] == locale.partition(".")[0] or locale == "C"


@pytest.mark.parametrize("locale", ["C", "tr_TR.UTF-8", "ar_EG.UTF-8"])
def test_that_the_command_line_prints_the_same_bytes_in_every_language(sample_path: Path, locale: str) -> None:
    printed = []
    for language in ("C.UTF-8", locale):
        done = subprocess.run(
            [sys.executable, "-m", "viewer", "show", str(sample_path), "--json"],
            cwd=ROOT, env={**os.environ, "LC_ALL": language}, capture_output=True, timeout=LONG_S, check=True,
        )  # fmt: skip
        printed.append(done.stdout)
    assert printed[0] == printed[1]


# Fonts and displays


def test_that_a_machine_without_fonts_is_told(tmp_path: Path, sample_path: Path) -> None:
    (tmp_path / "fonts.conf").write_text("<fontconfig></fontconfig>")
    seen = window(sample_path, FONTCONFIG_FILE=str(tmp_path / "fonts.conf"))
    assert "there is no font to show text with" in str(seen["stderr"])


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "there is no display to show a window on"),
        ({"DISPLAY": ":5977"}, "the display :5977 (of the variable DISPLAY) does not answer"),
        ({"DISPLAY": ":98765"}, "the display :98765 (of the variable DISPLAY) does not answer"),
    ],
)
def test_that_a_program_without_a_display_ends_with_a_line_of_advice(
    sample_path: Path, environment: dict[str, str], words: str
) -> None:
    process = program(sample_path, **environment)
    printed, said = process.communicate(timeout=LONG_S)
    assert process.returncode == 2
    assert printed == ""
    (line,) = said.splitlines()
    assert words in line
    assert "checkpoint-viewer show FILE" in line


@pytest.mark.skipif(not has_xvfb(), reason="Xvfb is not installed")
def test_that_a_display_that_is_lost_ends_program_and_engine_and_the_next_start_offers_what_was_open(
    sample_path: Path,
) -> None:
    with virtual_screen() as screen:
        process = program(sample_path, **screen)
        notes = Path(os.environ["XDG_STATE_HOME"]) / "checkpoint-viewer"
        end_s = time.monotonic() + LONG_S
        while not (note := notes / f"run-{process.pid}.json").exists() or str(sample_path) not in note.read_text():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end_s
            time.sleep(0.02)
        engines = psutil.Process(process.pid).children()
        assert engines
    _, said = process.communicate(timeout=LONG_S)
    assert process.returncode == 1
    assert "The X11 connection broke" in said
    psutil.wait_procs(engines, timeout=LONG_S)
    assert not [engine for engine in engines if engine.is_running() and engine.status() != psutil.STATUS_ZOMBIE]
    (crash,) = crashes()
    assert [line for line in crash.session if str(sample_path) in line]


def test_that_a_signal_of_the_session_ends_program_and_engine(sample_path: Path) -> None:
    """What a desktop sends when a person logs out."""
    process = program(sample_path, QT_QPA_PLATFORM="offscreen")
    notes = Path(os.environ["XDG_STATE_HOME"]) / "checkpoint-viewer"
    end_s = time.monotonic() + LONG_S
    while not (notes / f"run-{process.pid}.json").exists():
        assert time.monotonic() < end_s
        time.sleep(0.02)
    engines = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=LONG_S)
    psutil.wait_procs(engines, timeout=LONG_S)
    assert not [engine for engine in engines if engine.is_running() and engine.status() != psutil.STATUS_ZOMBIE]
