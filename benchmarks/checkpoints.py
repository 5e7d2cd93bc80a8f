"""Checkpoints to measure with, made by torch.save in a process of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_MANY = """
import sys, torch
generator = torch.Generator().manual_seed(0)
torch.save({f"layers.{n // 10}.part{n % 10}.weight": torch.randn(4, 4, generator=generator)
            for n in range(int(sys.argv[2]))}, sys.argv[1])
"""

# Memory that nobody has written takes no room, and skip_data leaves holes in the file in its place: the file has its
# full size and costs some 2 MB of disk.
_SPARSE = """
import sys, torch
numel = int(sys.argv[3]) // 4 // int(sys.argv[2])
with torch.serialization.skip_data():
    torch.save({f"layers.{n}.weight": torch.empty(numel) for n in range(int(sys.argv[2]))}, sys.argv[1])
"""

_DENSE = """
import sys, torch
tile = torch.randn(1 << 22, generator=torch.Generator().manual_seed(0))
numel = int(sys.argv[2]) // 4
torch.save({"weight": tile.repeat(numel // tile.numel() + 1)[:numel].clone()}, sys.argv[1])
"""


def _make(program: str, path: Path, *numbers: int) -> Path:
    subprocess.run([sys.executable, "-c", program, str(path), *map(str, numbers)], check=True)
    return path


def many_tensors(path: Path, count: int) -> Path:
    """A state_dict of `count` tensors of 16 elements, each with its own storage."""
    return _make(_MANY, path, count)


def sparse_file(path: Path, count: int, nbytes: int) -> Path:
    """A file of `nbytes` bytes in `count` float32 tensors, all holes."""
    return _make(_SPARSE, path, count, nbytes)


def one_tensor(path: Path, nbytes: int) -> Path:
    """A file with one float32 tensor of normally distributed values."""
    return _make(_DENSE, path, nbytes)
