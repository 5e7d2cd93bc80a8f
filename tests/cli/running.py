"""Run the command line in this process or in one of its own, and look at what it left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from viewer.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ran:
    """Exit code and output of a run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The output as a strict parser reads it; the run must have gone well and silently."""
        assert (self.code, self.err) == (0, "")
        parsed: dict[str, Any] = json.loads(self.out, parse_constant=pytest.fail)
        return parsed

    @property
    def entries(self) -> dict[str, dict[str, Any]]:
        """The entries by their path; no path comes twice."""
        entries = {entry["path"]: entry for entry in self.json["entries"]}
        assert len(entries) == len(self.json["entries"])
        return entries


def run_main(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Ran:
    """`checkpoint-viewer ARGUMENTS…` in this process."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return Ran(code, out, err)


def run_process(*arguments: str | Path, code: str | None = None, encoding: str = "utf-8") -> Ran:
    """`python -m viewer ARGUMENTS…`, or `python -c CODE ARGUMENTS…`, in a process of its own."""
    start = ["-m", "viewer"] if code is None else ["-c", code]
    done = subprocess.run(
        [sys.executable, *start, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        encoding=encoding,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
