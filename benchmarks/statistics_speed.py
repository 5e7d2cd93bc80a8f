"""Statistics and histogram of one large tensor: this program against what one would otherwise write.

Run it as `python -m benchmarks.statistics_speed --mib 1024`. Every figure is the median of three runs with the file
in the page cache. The numpy way is `min, max, mean, std, isnan().sum(), np.histogram` on a loaded array, and the
torch way is `min, max, mean, std, isnan().sum(), histc`. This program reads the file; so do they where a line says
"from the file" (into fresh memory, as torch.load does), and elsewhere they get their array for nothing (it is mapped
before the clock starts). For types that numpy lacks both convert to float32 first.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch

from viewer.checkpoint.document import Checkpoint, FileFacts
from viewer.checkpoint.dtypes import DTYPE_CODE
from viewer.checkpoint.nodes import NodeTable
from viewer.checkpoint.tensors import STORED
from viewer.task import run
from viewer.tensors.summary import summarise_task

RUNS = 3


def write_tensor(path: Path, dtype: torch.dtype, nbytes: int) -> Checkpoint:
    """A file of `nbytes` normally distributed elements, as a checkpoint of one tensor."""
    itemsize = dtype.itemsize
    generator = torch.Generator().manual_seed(0)
    step = 16 << 20
    with path.open("wb") as file:
        for start in range(0, nbytes, step):
            count = min(step, nbytes - start) // itemsize
            values = torch.randn(count, generator=generator) * 0.02
            if not dtype.is_floating_point:
                values = values * 2000
            file.write(values.to(dtype).view(torch.uint8).numpy().data)
    status = path.stat()
    name = str(dtype).removeprefix("torch.")
    checkpoint = Checkpoint(path, "raw", [], NodeTable())
    checkpoint.files.append(FileFacts(path, status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev))
    storages, tensors = checkpoint.storages, checkpoint.tensors
    storages.key.append("0")
    storages.dtype.append(DTYPE_CODE[name])
    storages.location.append("cpu")
    storages.encoding.append(STORED)
    storages.file.append(0)
    storages.offset.append(0)
    storages.big_endian.append(0)
    storages.nbytes.append(status.st_size)
    storages.length.append(status.st_size)
    tensors.dtype.append(DTYPE_CODE[name])
    tensors.shape.append((status.st_size // itemsize,))
    tensors.stride.append((1,))
    tensors.storage.append(0)
    tensors.storage_offset.append(0)
    tensors.flags.append(0)
    return checkpoint


def seconds(work: Callable[[], object], runs: int = RUNS) -> tuple[float, float]:
    """Median wall clock time, and median processor time of all threads: the latter hardly minds a busy machine."""
    walls, processor = [], []
    for _ in range(runs):
        start, start_processor = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - start)
        processor.append(time.process_time() - start_processor)
    return statistics.median(walls), statistics.median(processor)


def line(name: str, nbytes: int, times: tuple[float, float], rest: str = "") -> str:
    wall, processor = times
    return f"  {name:20} {wall:8.3f} s {nbytes / wall / 1e9:7.2f} GB/s   processor {processor:8.3f} s   {rest}"


def load(path: Path, dtype: torch.dtype) -> torch.Tensor:
    return torch.from_file(str(path), shared=False, size=path.stat().st_size // dtype.itemsize, dtype=dtype)


def from_file(path: Path, dtype: torch.dtype) -> torch.Tensor:
    """The tensor in memory of its own, as torch.load gives it."""
    return torch.from_numpy(np.fromfile(path, np.uint8)).view(dtype)


def naive_numpy(tensor: torch.Tensor) -> None:
    values = (tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor).numpy()
    values.min(), values.max(), values.mean(dtype=np.float64), values.std(dtype=np.float64)
    np.isnan(values).sum()
    np.histogram(values, 256)


def naive_torch(tensor: torch.Tensor) -> None:
    values = tensor.float() if tensor.dtype != torch.float64 else tensor
    values.min(), values.max(), values.mean(), values.std()
    values.isnan().sum()
    torch.histc(values, 256)


def _on_file(work: Callable[[torch.Tensor], None], path: Path, dtype: torch.dtype) -> None:
    work(from_file(path, dtype))


def read_whole(path: Path) -> None:
    """What `cat file > /dev/null` costs at least: every byte copied once."""
    buffer = bytearray(1 << 20)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=1024, help="size of the file (default 1024)")
    parser.add_argument("--dtype", default="float32", help="dtype of the tensor (default float32)")
    parser.add_argument("--no-naive", action="store_true", help="measure this program alone")
    parser.add_argument("--folder", type=Path, default=None, help="where to write the file")
    arguments = parser.parse_args()
    dtype = getattr(torch, arguments.dtype)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        path = Path(folder) / "tensor"
        checkpoint = write_tensor(path, dtype, arguments.mib << 20)
        nbytes = path.stat().st_size
        read_whole(path)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ours = seconds(lambda: run(summarise_task(checkpoint, 0)))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"{arguments.dtype}, {arguments.mib} MiB, {os.cpu_count()} cores")
        print(line("this program", nbytes, ours, f"peak memory +{peak // 1024} MiB"))
        print(line("reading alone", nbytes, seconds(lambda: read_whole(path))))
        if not arguments.no_naive:
            for name, work in (("numpy", naive_numpy), ("torch", naive_torch)):
                loaded = seconds(partial(_on_file, work, path, dtype))
                print(line(f"{name} from the file", nbytes, loaded, f"{loaded[0] / ours[0]:.1f} times as long"))
                mapped = seconds(partial(work, load(path, dtype)))
                print(line(f"{name}, mapped", nbytes, mapped, f"{mapped[0] / ours[0]:.1f} times as long"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
