"""Opens one hostile file in a process of its own, and holds it to the bounds that every file is held to."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 20.0
"""Of processor time. The bound on a quiet machine is 5 s (the fuzz programs hold it); neighbours can quadruple it."""
NBYTES = 500_000_000


@dataclass(frozen=True)
class FileReport:
    """What one attack came to.

    Attributes
    ----------
    outcome
        "opened", or the error with its message.
    problems
        What problem rows, tensors and storages that cannot be read say.
    events
        Audit events that are no part of reading any file.
    """

    outcome: str
    nodes: int
    tensors: int
    warnings: list[str]
    problems: list[str]
    seconds: float
    peak_nbytes: int
    events: list[str]


def open_hostile_file(path: Path) -> FileReport:
    """Open a file in a fresh interpreter; fails when it dies, hangs, asks for too much or sets anything off."""
    before = sorted(path.parent.iterdir())
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("file_child.py")), str(path)],
        cwd=path.parent,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    report = FileReport(**json.loads(done.stdout))
    assert report.events == []
    assert report.seconds < SECONDS
    assert report.peak_nbytes < NBYTES
    assert sorted(path.parent.iterdir()) == before
    return report
