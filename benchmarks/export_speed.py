"""The canonical export: against `cp` with one read for verification, and against torch.load with torch.save.

Both files lie in the page cache, and the target's folder is that of the source. `cp` and the read are timed one after
the other. torch loads with weights_only and writes to a file of another name. All targets are new files: writing over
one that is there needs no fresh memory for the page cache, which costs as much as the copy.

An export does more than `cp`: it computes a SHA-256 and the CRC-32 of every record, has the file on the disk before
it gives it its name (fsync, which `cp` and torch.save leave out), and compares it with the source. These pieces are
listed, each by itself in one thread; the export works in three, and waits for the disk while it compares. So it takes
no less than the SHA-256, and on two cores no less than half of their sum (the reading counted three times).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import zlib
from collections.abc import Callable
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


def _new_target(path: Path, suffix: str) -> Path:
    """A name beside the source at which nothing is, with nothing left to be written: our fsync would wait for it."""
    target = path.with_suffix(suffix)
    target.unlink(missing_ok=True)
    os.sync()
    return target


def _ours(path: Path) -> Run:
    return fresh_run("", _EXPORT, path, _new_target(path, ".pth"))


def _torch(path: Path) -> Run:
    return fresh_run("import torch", _TORCH, path, _new_target(path, ".bin"))


def _copy_and_read(path: Path) -> Run:
    target = _new_target(path, ".copy")
    return Run(_seconds(lambda: shutil.copyfile(path, target)) + _seconds(lambda: _read(target)), 0)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _read(path: Path, take: Callable[[memoryview], object] | None = None) -> None:
    buffer = bytearray(1 << 20)
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            if take is not None:
                take(memoryview(buffer)[:count])


def _synced_copy(path: Path) -> float:
    """Seconds of the fsync of a fresh copy."""
    target = _new_target(path, ".copy")
    shutil.copyfile(path, target)
    with target.open("rb") as file:
        return _seconds(lambda: os.fsync(file.fileno()))


def _pieces(path: Path) -> list[Figure]:
    pieces: dict[str, Callable[[], float]] = {
        "reading it": lambda: _seconds(lambda: _read(path)),
        "its SHA-256": lambda: _seconds(lambda: _read(path, hashlib.sha256().update)),
        "its CRC-32": lambda: _seconds(lambda: _read(path, zlib.crc32)),
        "fsync of a copy": lambda: _synced_copy(path),
    }
    size = f"{NBYTES / 1e9:.1f} GB"
    return [figure(f"{what}, {size}", "s", [run() for _ in range(RUNS)]) for what, run in pieces.items()]


def _large(path: Path) -> list[Figure]:
    ours, copies, torchs = alternate(RUNS, lambda: _ours(path), lambda: _copy_and_read(path), lambda: _torch(path))
    name = f"canonical export of {NBYTES / 1e9:.1f} GB"
    seconds = [run.seconds for run in ours]
    return [
        figure(name, "s", seconds, [run.seconds for run in copies], "cp and one read", times=0.6),
        figure(name, "s", seconds, [run.seconds for run in torchs], "torch.load and torch.save", times=1.0),
        figure("memory of it", "MB", [run.peak_mb for run in ours], bound=500),
        *_pieces(path),
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
