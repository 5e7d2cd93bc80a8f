"""Run all benchmarks and write what they found: benchmarks/results/latest.json and latest.md.

python -m benchmarks.run [NAME …]        structure_speed, startup_speed, statistics_speed, compare_speed, gui_gaps,
                                         export_speed, roundtrip_speed, values_speed, memory_cycles, growth

The loads of `benchmarks.load` are not among them: they take longer, and some 21 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from benchmarks import (
    compare_speed,
    export_speed,
    growth,
    gui_gaps,
    memory_cycles,
    roundtrip_speed,
    startup_speed,
    structure_speed,
    values_speed,
)
from benchmarks.measuring import Figure, figure, scratch_folder, table

RESULTS = Path(__file__).parent / "results"


def statistics_speed() -> list[Figure]:
    """Statistics and histogram of 1 GB float32 from the file, against numpy and torch from it and on mapped data."""
    import torch

    from benchmarks import statistics_speed as speed
    from viewer.task import run
    from viewer.tensors.summary import summarise_task

    with scratch_folder() as folder:
        path = folder / "tensor"
        checkpoint = speed.write_tensor(path, torch.float32, 1_000_000_000)
        mapped = speed.load(path, torch.float32)
        speed.read_whole(path)
        ways: list[Callable[[], object]] = [
            lambda: run(summarise_task(checkpoint, 0)),
            lambda: speed.naive_numpy(speed.from_file(path, torch.float32)),
            lambda: speed.naive_torch(speed.from_file(path, torch.float32)),
            lambda: speed.naive_numpy(mapped),
            lambda: speed.naive_torch(mapped),
        ]
        # In turn, so that a slow minute of the machine meets all of them.
        rows = [[speed.seconds(way, 1) for way in ways] for _ in range(speed.RUNS)]
    ours, *others = ([wall for wall, _ in column] for column in zip(*rows, strict=True))
    numpy_way = "min, max, mean, std, isnan, histogram in numpy"
    torch_way = "min, max, mean, std, isnan, histc in torch"
    names = (numpy_way, torch_way, f"{numpy_way}, mapped before", f"{torch_way}, mapped before")
    bounds = (8, None, None, None)
    title = "statistics and histogram of 1 GB of float32"
    return [
        figure(title, "s", ours, other, name, times=bound)
        for other, name, bound in zip(others, names, bounds, strict=True)
    ]


BENCHMARKS: dict[str, Callable[[], list[Figure]]] = {
    "structure_speed": structure_speed.measure,
    "startup_speed": startup_speed.measure,
    "statistics_speed": statistics_speed,
    "compare_speed": compare_speed.measure,
    "gui_gaps": gui_gaps.measure,
    "export_speed": export_speed.measure,
    "roundtrip_speed": roundtrip_speed.measure,
    "values_speed": values_speed.measure,
    "memory_cycles": memory_cycles.measure,
    "growth": growth.measure,
}


def machine() -> dict[str, str]:
    """What the figures depend on."""
    versions = {
        name: metadata.version(name) for name in ("checkpoint-viewer", "torch", "PySide6-Essentials", "numpy")
    }
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "system": platform.platform(),
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "python": platform.python_version(),
        **versions,
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def write(figures: list[Figure]) -> None:
    RESULTS.mkdir(exist_ok=True)
    about = machine()
    document = {"machine": about, "figures": [one.as_dict() for one in figures]}
    (RESULTS / "latest.json").write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    facts = ", ".join(f"{name} {value}" for name, value in about.items())
    (RESULTS / "latest.md").write_text(f"# Measured\n\n{facts}\n\n{table(figures)}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Measure speed and memory side by side with what one would use else."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one or more of {', '.join(BENCHMARKS)}; all by default"
    )
    names = parser.parse_args().names or list(BENCHMARKS)
    if unknown := set(names) - set(BENCHMARKS):
        parser.error(f"there is no benchmark called {', '.join(sorted(unknown))}")
    figures: list[Figure] = []
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        found = BENCHMARKS[name]()
        print(table(found), flush=True)
        figures += found
    if set(names) == set(BENCHMARKS):
        write(figures)
        print(f"written to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")
    return 0 if all(one.met for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
