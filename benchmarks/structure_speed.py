"""How fast the structure of a file is read, against torch.load(weights_only=True, mmap=True).

Imports are not counted on either side: torch's take over a second and would hide what is measured. Both sides import
some modules only when they read their first file, so both read a small sample before.

    python -m benchmarks.structure_speed
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.checkpoints import many_tensors, sparse_file
from benchmarks.measuring import ROOT, Figure, Run, alternate, figure, fresh_run, scratch_folder, table

RUNS = 7
AGAINST = "torch.load(weights_only=True, mmap=True)"
SAMPLE = ROOT / "resources/samples/training-step-0200.pth"


def open_ours(path: Path) -> Run:
    prepare = f"import viewer; viewer.open_checkpoint({str(SAMPLE)!r})"
    return fresh_run(prepare, "checkpoint = viewer.open_checkpoint(sys.argv[1])", path)


def open_torch(path: Path) -> Run:
    prepare = f"import torch; torch.load({str(SAMPLE)!r}, weights_only=True, mmap=True)"
    return fresh_run(prepare, "loaded = torch.load(sys.argv[1], weights_only=True, mmap=True)", path)


def measure() -> list[Figure]:
    with scratch_folder() as folder:
        many = many_tensors(folder / "many.pth", 40_000)
        large = sparse_file(folder / "large.pth", 300, 4_000_000_000)
        ours, theirs = alternate(RUNS, lambda: open_ours(many), lambda: open_torch(many))
        large_ours, large_theirs = alternate(RUNS, lambda: open_ours(large), lambda: open_torch(large))
    many_ms, many_torch_ms = [run.ms for run in ours], [run.ms for run in theirs]
    many_mb, many_torch_mb = [run.peak_mb for run in ours], [run.peak_mb for run in theirs]
    large_ms, large_torch_ms = [run.ms for run in large_ours], [run.ms for run in large_theirs]
    large_mb, large_torch_mb = [run.peak_mb for run in large_ours], [run.peak_mb for run in large_theirs]
    return [
        figure("structure of 40,000 tensors", "ms", many_ms, many_torch_ms, AGAINST, times=10),
        figure("memory of the process that reads it", "MB", many_mb, many_torch_mb, AGAINST),
        figure("structure of 4 GB in 300 tensors", "ms", large_ms, large_torch_ms, AGAINST, bound=50),
        figure("memory of the process that reads it", "MB", large_mb, large_torch_mb, AGAINST, bound=100),
    ]


if __name__ == "__main__":
    print(table(measure()))
