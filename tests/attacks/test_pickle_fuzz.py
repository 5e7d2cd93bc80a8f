"""A short run of the fuzz program (`python -m tests.attacks.fuzz_pickle` runs long ones)."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.attacks.fuzz_pickle import mutate
from tests.formats.pickle.helpers import saved_by_torch
from viewer.errors import ViewerError
from viewer.formats.limits import LIMITS
from viewer.formats.pickle import scan

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("seed", [11, 12])
def test_that_mutated_pickles_end_in_a_tree_or_a_sentence(seed: int, tmp_path: Path) -> None:
    # In a process of its own: an audit hook cannot be taken away again.
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks.fuzz_pickle", "--count", "3000", "--seed", str(seed)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def large_pickle(protocol: int) -> bytes:
    items: dict[str, object] = {f"layer.{n}": torch.nn.Parameter(torch.ones(2, 3)) for n in range(40)}
    items |= {f"other.{n}": torch.ones(n % 4, 2, 1, 1) for n in range(30)}
    items["tuples"] = [(1, (2, "a")), ("x",)] * 3
    items["groups"] = [{"betas": (0.1, 0.2), "names": ["exp_avg", "exp_avg_sq"]} for _ in range(6)]
    items["floats"] = [n / 3 for n in range(60)]
    items["keys"] = {(n, str(n)): [n] for n in range(20)}
    return saved_by_torch(items, pickle_protocol=protocol)[0]


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_that_runs_never_hide_what_single_steps_would_see(protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = [large_pickle(protocol)]
    rng = random.Random(protocol)
    suspicious = 0
    for _ in range(250):
        data = mutate(rng, pool[0], pool)
        outcomes = []
        for run_from in (sys.maxsize, 10):  # never a run, and runs as soon as may be
            monkeypatch.setattr(scan, "_RUN_FROM", run_from)
            try:
                found = scan.scan_pickle(data, 0, LIMITS, "data.pkl")
                outcomes.append((found.end, found.suspicion))
            except ViewerError as error:
                outcomes.append((-1, str(error)))
        (end, suspicion), (end_of_runs, suspicion_of_runs) = outcomes
        if "asks for a memo" in suspicion:  # where the bound of a run is the rounder one
            continue
        assert end == end_of_runs
        if end >= 0 and suspicion:
            assert suspicion_of_runs
            suspicious += 1
    assert suspicious > 0
