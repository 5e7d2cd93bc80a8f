"""A short, unguided run over all that reads bytes of others (`fuzz_guided` runs long ones, led by coverage)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
IN_MEMORY = ("zip", "safetensors", "paths", "rules", "messages", "engine", "settings")
"""The other targets have short runs of their own."""


@pytest.mark.parametrize("target", IN_MEMORY)
def test_that_what_reads_bytes_of_others_ends_in_a_value_or_a_sentence(target: str, tmp_path: Path) -> None:
    # In a process of its own: an audit hook cannot be taken away again.
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.fuzz_guided", target, "--count", "400", "--unguided"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "400 inputs" in done.stdout
    assert "0 faults" in done.stdout
    assert list(tmp_path.iterdir()) == []
