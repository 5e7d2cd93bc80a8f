"""A short run of the program that mutates whole files (`python -m tests.attacks.fuzz_files` runs long ones)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("seed", [1, 2])
def test_that_mutated_files_of_every_container_end_in_a_checkpoint_or_a_sentence(seed: int, tmp_path: Path) -> None:
    # In a process of its own: an audit hook cannot be taken away again.
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.fuzz_files", "--count", "1500", "--seed", str(seed)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1,500 inputs" in done.stdout
    assert list(tmp_path.iterdir()) == []
