"""The checks in conftest.py: each must fail the test that it is made for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

CARELESS = """
import logging, os, subprocess, sys, tempfile, threading, warnings
import pytest

never = threading.Event()

def test_process():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

def test_thread():
    threading.Thread(target=never.wait, name="straggler", daemon=True).start()

def test_file():
    tempfile.mkdtemp(prefix="forgotten-")

def test_log():
    logging.getLogger("viewer").warning("odd")

def test_expected_log(caplog):
    logging.getLogger("viewer").warning("odd")
    assert caplog.messages == ["odd"]

def test_ended_process():
    subprocess.run([sys.executable, "-c", ""], check=True)

def test_settings_are_elsewhere():
    from PySide6.QtCore import QSettings
    assert QSettings("some", "program").fileName().startswith(os.environ["XDG_CONFIG_HOME"])
    assert "cv-" in os.environ["XDG_CONFIG_HOME"]

def test_screen():
    assert os.environ["QT_QPA_PLATFORM"] == "offscreen"
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest prints about the careless tests."""
    folder = tmp_path_factory.mktemp("guards")
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    # A process that is left over gets 5 s to end; here it is known that it won't.
    conftest = folder / "conftest.py"
    conftest.write_text(conftest.read_text(encoding="utf-8").replace("_GRACE_S = 5.0", "_GRACE_S = 0.2"), "utf-8")
    (folder / "test_careless.py").write_text(CARELESS, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "-p", "no:randomly", str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return result.stdout


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("test_process", "leaves behind: process "),
        ("test_thread", "leaves behind: thread straggler"),
        ("test_file", "leaves behind: file "),
        ("test_log", "unexpected log: WARNING viewer: odd"),
    ],
)
def test_that_what_is_left_behind_fails_the_test(outcome: str, test: str, message: str) -> None:
    assert f"ERROR test_careless.py::{test} " in outcome
    assert message in outcome


@pytest.mark.parametrize(
    "test", ["test_expected_log", "test_ended_process", "test_settings_are_elsewhere", "test_screen"]
)
def test_that_a_careful_test_passes(outcome: str, test: str) -> None:
    assert f"PASSED test_careless.py::{test}" in outcome
    assert f"ERROR test_careless.py::{test}" not in outcome
