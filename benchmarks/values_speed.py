"""Statistics and histogram of a file of one tensor, side by side with the loops that one would write.

Run it as `python -m benchmarks.values_speed --mib 4096`. Every figure is the median of three runs, all sides in turn,
with the file in the page cache. The loops read 256 MiB at a time into memory of their own, so that they need no more
than they have to: `min, max, mean, std, isnan().sum(), histogram` in numpy, `min, max, mean, std, isnan().sum(),
histc` in torch. bfloat16 and float16 are converted to float32 first, as numpy and `torch.histc` demand. Peak memory
is that of a fresh process that opens the file, computes, and draws a map.

Where the time goes: float32 is read twice, since the bins need the range, and each pass is bound by copying from the
page cache and by some ten passes of arithmetic over what lies in the processor's cache; types of 16 bits are read
once, and counting their patterns is all there is to do.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measuring import Figure, figure, fresh_run, scratch_folder, table
from benchmarks.statistics_speed import RUNS, naive_numpy, naive_torch, seconds

if TYPE_CHECKING:
    import torch

MIB = 4096
"""Size of a file that a model of a billion parameters has."""

_AT_ONCE = 256 << 20

_SAFETENSORS = {"float32": "F32", "bfloat16": "BF16", "float16": "F16"}

_PREPARE = """
from viewer.formats.opening import open_task
from viewer.task import run
"""

_MEASURED = """
from viewer.tensors.slice_map import map_task
from viewer.tensors.slice_results import SliceAxes
from viewer.tensors.summary import summarise_task
checkpoint = run(open_task(sys.argv[1]))
run(summarise_task(checkpoint, 0))
run(map_task(checkpoint, 0, SliceAxes(0, 1), height=800, width=1000))
"""


def write_file(path: Path, name: str, nbytes: int) -> Path:
    """A safetensors file with one tensor of normally distributed elements, of 4,096 columns."""
    import torch

    columns, dtype = 4096, getattr(torch, name)
    rows = nbytes // dtype.itemsize // columns
    size = rows * columns * dtype.itemsize
    entry = {"dtype": _SAFETENSORS[name], "shape": [rows, columns], "data_offsets": [0, size]}
    header = json.dumps({"weight": entry}).encode()
    header += b" " * (-len(header) % 8)
    generator = torch.Generator().manual_seed(0)
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for start in range(0, rows, 1024):
            values = torch.randn(min(1024, rows - start), columns, generator=generator) * 0.02
            file.write(values.to(dtype).view(torch.uint8).numpy().data)
    return path


def loop(work: Callable[[torch.Tensor], None], path: Path, name: str) -> None:
    """Give a file to one of the naive ways, part by part."""
    import numpy as np
    import torch

    dtype = getattr(torch, name)
    with path.open("rb") as file:
        file.seek(8 + int.from_bytes(file.read(8), "little"))
        while (data := np.fromfile(file, np.uint8, _AT_ONCE)).size:
            work(torch.from_numpy(data).view(dtype))


def cat(path: Path) -> None:
    with Path("/dev/null").open("wb") as nothing:
        subprocess.run(["cat", str(path)], stdout=nothing, check=True)


def summarise(checkpoint: Any) -> None:
    from viewer.task import run
    from viewer.tensors.summary import summarise_task

    run(summarise_task(checkpoint, 0))


def draw(checkpoint: Any) -> None:
    """A map of 4,096 rows and columns."""
    from viewer.task import run
    from viewer.tensors.slice_map import map_task
    from viewer.tensors.slice_results import SliceAxes

    run(map_task(checkpoint, 0, SliceAxes(0, 1), height=800, width=1000, row_range=(0, 4096)))


def in_turn(ways: list[Callable[[], object]]) -> list[list[float]]:
    """The times of each way, one run of all after the other, so that a slow minute meets all of them."""
    rows = [[seconds(way, 1)[0] for way in ways] for _ in range(RUNS + 1)][1:]
    return [list(column) for column in zip(*rows, strict=True)]


def measure(mib: int = MIB) -> list[Figure]:
    """All figures for files of `mib` MiB."""
    from viewer.formats.opening import open_task
    from viewer.task import run

    with scratch_folder() as folder:
        figures: list[Figure] = []
        path = write_file(folder / "float32.safetensors", "float32", mib << 20)
        checkpoint = run(open_task(path))
        title = f"statistics and histogram of {mib:,} MiB of float32"
        ours, by_numpy, by_torch, by_cat, maps = in_turn(
            [
                partial(summarise, checkpoint),
                partial(loop, naive_numpy, path, "float32"),
                partial(loop, naive_torch, path, "float32"),
                partial(cat, path),
                partial(draw, checkpoint),
            ]
        )
        figures += [
            figure(title, "s", ours, by_numpy, "a loop in numpy", times=10),
            figure(title, "s", ours, by_torch, "a loop in torch", times=6),
            figure(title, "s", ours, by_cat, "cat FILE > /dev/null", times=0.25),
            figure("map of a slice of 4,096 × 4,096", "ms", [wall * 1e3 for wall in maps], bound=50),
        ]
        peaks = [fresh_run(_PREPARE, _MEASURED, path).peak_mb for _ in range(RUNS)]
        figures.append(figure(f"peak memory with {mib:,} MiB of float32", "MB", peaks, bound=700))
        path.unlink()
        for name in ("bfloat16", "float16"):
            path = write_file(folder / f"{name}.safetensors", name, mib << 20)
            ours, by_numpy = in_turn(
                [partial(summarise, run(open_task(path))), partial(loop, naive_numpy, path, name)]
            )
            title = f"statistics and histogram of {mib:,} MiB of {name}"
            figures.append(figure(title, "s", ours, by_numpy, "a loop in numpy over float32", times=8))
            path.unlink()
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=MIB, help=f"size of each file (default {MIB})")
    figures = measure(parser.parse_args().mib)
    print(table(figures))
    return 0 if all(one.met for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
