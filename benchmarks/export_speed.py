"""The canonical export: against `cp` with one read for verification, and against torch.load with torch.save.

Both files lie in the page cache, and the target's folder is that of the source. `cp` and the read are timed one after
the other. torch loads with weights_only and writes to a file of another name.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from benchmarks.measuring import Figure, Run, alternate, figure, fresh_run, scratch_folder

RUNS = 3
NBYTES = 2 << 30
MANY = 40_000


def measure() -> list[Figure]:
    """One file of a few large tensors, and one of many small ones."""
    with scratch_folder() as folder:
        large, many = folder / "large.pt", folder / "many.pt"
        fresh_run("import torch", _write_large(), large)
        fresh_run("import torch", _write_many(), many)
        return [*_large(large), *_many(many)]


def _write_large() -> str:
    count, numel = 16, NBYTES // 16 // 4
    return f"""
torch.manual_seed(0)
torch.save({{f"layer.{{n}}": torch.rand({numel}) for n in range({count})}}, sys.argv[1])
"""


def _write_many() -> str:
    return f"""
torch.save({{f"layers.{{n}}.weight": torch.full((8, 8), float(n)) for n in range({MANY})}}, sys.argv[1])
"""


_EXPORT = """
from viewer import export_canonical
export_canonical(sys.argv[1], sys.argv[2], force=True)
"""
_TORCH = """
torch.save(torch.load(sys.argv[1], weights_only=True), sys.argv[2])
"""


def _ours(path: Path) -> Run:
    os.sync()  # what the others left to be written would be waited for by our fsync
    return fresh_run("", _EXPORT, path, path.with_suffix(".pth"))


def _torch(path: Path) -> Run:
    return fresh_run("import torch", _TORCH, path, path.with_suffix(".bin"))


def _copy_and_read(path: Path) -> Run:
    started = time.perf_counter()
    target = path.with_suffix(".copy")
    shutil.copyfile(path, target)
    buffer = bytearray(1 << 20)
    with target.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return Run(time.perf_counter() - started, 0)


def _large(path: Path) -> list[Figure]:
    ours, copies, torchs = alternate(RUNS, lambda: _ours(path), lambda: _copy_and_read(path), lambda: _torch(path))
    name = f"canonical export of {NBYTES / 1e9:.1f} GB"
    seconds = [run.seconds for run in ours]
    return [
        figure(name, "s", seconds, [run.seconds for run in copies], "cp and one read", times=0.6),
        figure(name, "s", seconds, [run.seconds for run in torchs], "torch.load and torch.save", times=1.0),
        figure("memory of it", "MB", [run.peak_mb for run in ours], bound=500),
    ]


def _many(path: Path) -> list[Figure]:
    ours, torchs = alternate(RUNS, lambda: _ours(path), lambda: _torch(path))
    name = f"canonical export of {MANY:,} tensors"
    return [
        figure(
            name,
            "s",
            [run.seconds for run in ours],
            [run.seconds for run in torchs],
            "torch.load and torch.save",
            times=1.0,
        ),
        figure(f"memory of it, {MANY:,} tensors", "MB", [run.peak_mb for run in ours], bound=500),
    ]


if __name__ == "__main__":
    from benchmarks.measuring import table

    print(table(measure()))
