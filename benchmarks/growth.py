"""How time grows with size, beside what the machine itself can do.

    python -m benchmarks.growth

Structure with the number of tensors; statistics, comparison and export with bytes. Each is set against ten times the
time of a tenth of its size: a ratio of 1 is time in proportion, more is better than that. Files lie in the page
cache; imports are not counted; each time is the better of two runs. The files of 10 GB are sparse, and their
statistics are not measured: those of zeros are another computation.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.checkpoints import many_tensors, one_tensor, sparse_file
from benchmarks.measuring import Figure, figure, fresh_run, scratch_folder, table
from benchmarks.structure_speed import open_ours

TENSORS = (100, 1_000, 10_000, 100_000, 1_000_000)
NBYTES = (10**7, 10**8, 10**9, 10**10)
_SPARSE_FROM = 10**10

_OPEN = "import viewer; from viewer.task import run; c = viewer.open_checkpoint(sys.argv[1])\n"
_STATISTICS = (
    _OPEN + "import torch, numpy\nfrom viewer.tensors.summary import summarise_task",
    "run(summarise_task(c, 0))",
)
_COMPARE = (
    _OPEN + "from viewer.compare.task import run_compare\nimport numpy\nd = viewer.open_checkpoint(sys.argv[2])",
    "run(run_compare(c, d))",
)
_EXPORT = (_OPEN + "from viewer import export_canonical", "export_canonical(sys.argv[1], sys.argv[2], force=True)")


def _best(run: Callable[..., float], *arguments: object) -> float:
    return min(run(*arguments), run(*arguments))


def _fresh(prepare: str, measured: str, *paths: Path) -> float:
    return fresh_run(prepare, measured, *paths).seconds


def _opening(path: Path) -> float:
    return open_ours(path).seconds


def structure() -> list[Figure]:
    """Opening files of 100 to a million tensors."""
    figures = []
    before = 0.0
    with scratch_folder() as folder:
        for count in TENSORS:
            path = many_tensors(folder / "many.pth", count)
            seconds = _best(_opening, path)
            figures.append(_grown(f"structure of {count:,} tensors", seconds, before))
            before = seconds
    return figures


def bytes_of_values() -> list[Figure]:
    """Statistics, comparison and export of 10 MB to 10 GB."""
    figures = []
    before: dict[str, float] = {}
    with scratch_folder() as folder:
        for nbytes in NBYTES:
            path, copy, target = folder / "a.pth", folder / "b.pth", folder / "out.pth"
            ways = {"statistics": (_STATISTICS, copy), "comparison": (_COMPARE, copy), "export": (_EXPORT, target)}
            for each in (path, copy):
                if nbytes < _SPARSE_FROM:
                    one_tensor(each, nbytes)
                else:
                    sparse_file(each, 10, nbytes)
                    ways.pop("statistics", None)
            for what, ((prepare, measured), other) in ways.items():
                seconds = _best(_fresh, prepare, measured, path, other)
                figures.append(_grown(f"{what} of {nbytes / 1e6:,.0f} MB", seconds, before.get(what, 0.0)))
                before[what] = seconds
            target.unlink()
    return figures


def _grown(name: str, seconds: float, before: float) -> Figure:
    """A point of a curve, beside ten times the time of a tenth of the size."""
    return (
        figure(name, "s", [seconds], [10 * before], "10 times the one before")
        if before
        else figure(name, "s", [seconds])
    )


def limits() -> list[Figure]:
    """What the machine can do, for each GB."""
    nbytes = 10**9
    with scratch_folder() as folder:
        path = one_tensor(folder / "a.pth", nbytes)
        data = path.read_bytes()
        works: list[tuple[str, Callable[[], object]]] = [
            ("a copy within memory, 1 GB", lambda: len(bytearray(data))),
            ("reading 1 GB from the page cache", lambda: _read(path)),
            ("SHA-256 of 1 GB", lambda: hashlib.sha256(data).digest()),
        ]
        return [figure(name, "s", [_best(_seconds, work)]) for name, work in works]


def _read(path: Path) -> None:
    buffer = bytearray(1 << 20)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure() -> list[Figure]:
    """All curves."""
    return [*structure(), *bytes_of_values(), *limits()]


if __name__ == "__main__":
    print(table(measure()))
