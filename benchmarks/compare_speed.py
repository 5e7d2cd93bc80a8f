"""Comparing two checkpoints: identical ones against `cmp`, different ones against a loop of torch calls.

Run it as `python -m benchmarks.compare_speed --mib 2048`. Files lie in the page cache, every run is a process of its
own, and both sides of a figure take turns. `cmp` stops at the first difference, so it is given two copies of a file.
The torch way opens both files with `torch.load(mmap=True)` and computes, for each tensor, `equal`,
`(a - b).abs().max()`, the mean of that, the norms of a, b and a - b, and the cosine, the latter in float64.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.checkpoints import many_tensors
from benchmarks.measuring import Figure, Run, alternate, figure, fresh_run, scratch_folder, table

RUNS = 3

_MAKE = """
import sys, torch
generator = torch.Generator().manual_seed(0)
count = int(sys.argv[3]) // (16 << 20)
a = {f"layers.{n}.weight": torch.randn(2048, 2048, generator=generator) for n in range(count)}
torch.save(a, sys.argv[1])
for value in a.values():
    value += 1e-3 * torch.randn(value.shape, generator=generator)
torch.save(a, sys.argv[2])
"""

_OPEN = """
from viewer import open_checkpoint
from viewer.compare.results import CompareOptions
from viewer.compare.task import compare_structure, run_compare
from viewer.task import run
import numpy
"""

# The processes that help count too, each as if it were as large as the largest.
_WITH_HELPERS = """
import os
alone = peak
def peak():
    return alone() + os.cpu_count() * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
"""

_OURS = "run(run_compare(open_checkpoint(sys.argv[1]), open_checkpoint(sys.argv[2])))"

_TORCH = """
a, b = (torch.load(path, mmap=True) for path in sys.argv[1:3])
for name in a:
    x, y = a[name], b[name]
    torch.equal(x, y)
    distance = (x - y).abs()
    distance.max().item(), distance.mean(dtype=torch.float64).item()
    x, y = x.double().reshape(-1), y.double().reshape(-1)
    x.norm().item(), y.norm().item(), (x - y).norm().item()
    torch.nn.functional.cosine_similarity(x, y, 0).item()
"""


def measure(nbytes: int = 2 << 30, runs: int = RUNS) -> list[Figure]:
    """All figures, with files of `nbytes` bytes."""
    size = f"{nbytes / (1 << 30):g} GiB"
    with scratch_folder() as folder:
        a, b, copy = folder / "a.pt", folder / "b.pt", folder / "copy.pt"
        subprocess.run([sys.executable, "-c", _MAKE, str(a), str(b), str(nbytes)], check=True)
        shutil.copyfile(a, copy)
        ours, theirs = alternate(runs, lambda: fresh_run(_OPEN, _OURS, a, copy), lambda: _cmp(a, copy))
        different, torch_way = alternate(
            runs,
            lambda: fresh_run(_OPEN + _WITH_HELPERS, _OURS, a, b),
            lambda: fresh_run("import torch", _TORCH, a, b),
        )
        many, other = folder / "many.pt", folder / "other.pt"
        many_tensors(many, 40_000)
        shutil.copyfile(many, other)
        prepare = _OPEN + "a, b = (open_checkpoint(path) for path in sys.argv[1:3])"
        structure = [
            fresh_run(prepare, "compare_structure(a, b, CompareOptions())", many, other) for _ in range(runs + 1)
        ][1:]
    return [
        figure(f"two identical files of {size}", "s", _seconds(ours), _seconds(theirs), "cmp", times=0.6),
        figure(
            f"two files of {size} that differ everywhere",
            "s",
            _seconds(different),
            _seconds(torch_way),
            "a loop of torch calls",
            times=5,
        ),
        figure("memory while they are compared", "MB", [one.peak_mb for one in different], bound=700),
        figure("structure of two files of 40,000 tensors", "s", _seconds(structure), bound=1.5),
    ]


def _seconds(runs: list[Run]) -> list[float]:
    return [one.seconds for one in runs]


def _cmp(a: Path, b: Path) -> Run:
    started = time.perf_counter()
    subprocess.run(["cmp", str(a), str(b)], check=True)
    return Run(time.perf_counter() - started, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=2048, help="size of each file (default 2048)")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of each side (default {RUNS})")
    arguments = parser.parse_args()
    figures = measure(arguments.mib << 20, arguments.runs)
    sys.stdout.write(table(figures))
    return 0 if all(one.met for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
