"""Runs one attack in a process of its own, and holds it to the bounds that every file is held to."""

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
class Report:
    """What one attack came to."""

    outcome: str
    nodes: int
    seconds: float
    peak_nbytes: int
    events: list[str]


def open_hostile(data: bytes, folder: Path) -> Report:
    """Open a pickle in a fresh interpreter; fails when it dies, hangs, asks for too much or sets anything off."""
    path = folder / "data.pkl"
    path.write_bytes(data)
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("pickle_child.py")), str(path)],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    report = Report(**json.loads(done.stdout))
    assert report.events == []
    assert report.seconds < SECONDS
    assert report.peak_nbytes < NBYTES
    assert sorted(item.name for item in folder.iterdir()) == ["data.pkl"]
    return report
