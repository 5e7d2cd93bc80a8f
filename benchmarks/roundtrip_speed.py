"""A tensor of 512 MB through every lossless way: this program against the same calls made by hand.

By hand is the bare call (save and load, or copy) on a tensor in memory. This program reads the tensor from its
file once, makes each call, and then compares every element and all that surrounds it.

    python -m benchmarks.roundtrip_speed [MIB]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import torch

from benchmarks.checkpoints import one_tensor
from benchmarks.measuring import Figure, figure, scratch_folder, table
from viewer import open_checkpoint
from viewer.roundtrip.task import roundtrip_task
from viewer.roundtrip.ways import all_ways
from viewer.task import run

RUNS = 3
BOUND = 2.0


def _by_hand(x: torch.Tensor, folder: Path) -> float:
    start = time.perf_counter()
    for way in all_ways():
        if way.facts.lossless and way.facts.name != "state_dict":
            own = folder / way.facts.name
            own.mkdir()
            way.copy(x, own)
            for file in own.iterdir():
                file.unlink()
            own.rmdir()
    return time.perf_counter() - start


def _ours(file: Path, names: list[str]) -> float:
    start = time.perf_counter()
    checkpoint = open_checkpoint(file)
    found = run(roundtrip_task(checkpoint, checkpoint.find("weight"), ways=names, check_bytes=False))
    assert all(result.ok for result in found.ways), [result.error for result in found.ways]
    return time.perf_counter() - start


def measure(nbytes: int = 512_000_000) -> list[Figure]:
    names = [way.facts.name for way in all_ways() if way.facts.lossless and way.facts.name != "state_dict"]
    with warnings.catch_warnings(), scratch_folder() as folder:
        warnings.simplefilter("ignore")
        file = one_tensor(folder / "x.pth", nbytes)
        x = torch.load(file, weights_only=True)["weight"]
        rows = [(_ours(file, names), _by_hand(x, folder)) for _ in range(RUNS)]
    ours, by_hand = (list(column) for column in zip(*rows, strict=True))
    return [
        figure(
            f"{nbytes / 1e6:.0f} MB through {len(names)} lossless ways, compared",
            "s",
            ours,
            by_hand,
            "the same calls by hand, nothing compared",
            times=1 / BOUND,
        )
    ]


if __name__ == "__main__":
    print(table(measure(int(sys.argv[1]) << 20 if len(sys.argv) > 1 else 512_000_000)))
