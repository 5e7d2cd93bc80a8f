"""Time and memory of a piece of Python in a fresh process, and figures made of medians."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]

# VmHWM and not ru_maxrss: the latter starts with the memory of the process that forked.
_FRAME = """
import gc, json, resource, sys, time
def peak():
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
{prepare}
started = time.perf_counter()
{measured}
seconds = time.perf_counter() - started
print(json.dumps([seconds, peak()]))
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the measured lines: their wall time, and the most memory that the whole process held."""

    seconds: float
    peak_nbytes: int

    @property
    def ms(self) -> float:
        return self.seconds * 1e3

    @property
    def peak_mb(self) -> float:
        return self.peak_nbytes / 1e6


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the result.

    Attributes
    ----------
    name
        What was measured.
    unit
        Of `ours` and `theirs`: "s", "ms" or "MB" (10^6 bytes).
    ours, theirs
        Medians. `theirs` is None where the figure is held against a fixed bound.
    against
        What `theirs` is.
    ratio
        theirs / ours: how many times as fast or as small; 0 where there is nothing to compare with.
    target
        What has to be kept, in words; "" where the figure is there to be known.
    met
        Whether it was kept.
    runs
        How many runs each median is made of.
    """

    name: str
    unit: str
    ours: float
    theirs: float | None
    against: str
    ratio: float
    target: str
    met: bool
    runs: int

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def fresh_run(prepare: str, measured: str, *arguments: str | Path, **environment: str) -> Run:
    """Run `prepare` and then, timed, `measured` in a Python of its own; both see `sys.argv[1:]`."""
    result = subprocess.run(
        [sys.executable, "-c", _FRAME.format(prepare=prepare, measured=measured), *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    seconds, peak_nbytes = json.loads(result.stdout.splitlines()[-1])
    return Run(seconds, peak_nbytes)


def alternate(runs: int, *sides: Callable[[], Run]) -> list[list[Run]]:
    """Each side `runs` times in turn, so that a slow minute of the machine meets all; first a warm-up each."""
    for side in sides:
        side()
    rows = [[side() for side in sides] for _ in range(runs)]
    return [list(column) for column in zip(*rows, strict=True)]


def figure(
    name: str,
    unit: str,
    ours: list[float],
    theirs: list[float] | None = None,
    against: str = "",
    *,
    times: float | None = None,
    bound: float | None = None,
) -> Figure:
    """The figure of several runs, all in `unit`.

    Parameters
    ----------
    times
        theirs / ours has to be at least this.
    bound
        ours has to be under this.
    """
    mine = median(ours)
    other = None if theirs is None else median(theirs)
    ratio = 0.0 if other is None else other / mine
    targets, met = [], True
    if times is not None:
        targets.append(f"ratio at least {times:g}")
        met &= ratio >= times
    if bound is not None:
        targets.append(f"under {bound:g} {unit}")
        met &= mine < bound
    return Figure(name, unit, mine, other, against, ratio, ", ".join(targets), met, len(ours))


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for large files, removed afterwards; CHECKPOINT_VIEWER_SCRATCH says where (8 GB may be needed)."""
    with tempfile.TemporaryDirectory(prefix="cv-bench-", dir=os.environ.get("CHECKPOINT_VIEWER_SCRATCH")) as folder:
        yield Path(folder)


def table(figures: list[Figure]) -> str:
    """The figures as a Markdown table."""
    lines = ["| what | Checkpoint Viewer | compared with | ratio | bound | kept |", "|---|--:|--:|--:|---|---|"]
    for one in figures:
        other = "" if one.theirs is None else f"{_number(one.theirs)} {one.unit} ({one.against})"
        ratio = "" if one.theirs is None else f"{one.ratio:.2f}"
        mark = "" if not one.target else "yes" if one.met else "**no**"
        lines.append(f"| {one.name} | {_number(one.ours)} {one.unit} | {other} | {ratio} | {one.target} | {mark} |")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
