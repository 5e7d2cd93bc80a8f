"""Our reader and statistics against torch's own, over generated checkpoints. A long run by hand:

python -m tests.oracles.reader --examples 50000 [--seed 1]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from hypothesis import strategies as st

from tests.oracles.made import FLOAT8, FLOATS, Made, checkpoints, plain
from tests.oracles.running import main
from tests.tensors.oracle import check_statistics
from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorFlag
from viewer.task import run
from viewer.tensors.reading import read_values
from viewer.tensors.summary import summarise_task

NORMAL = {name: torch.finfo(getattr(torch, name)).smallest_normal for name in (*FLOATS, *FLOAT8[:-1])}
ROUNDED = {"float32", "float64", "int32", "int64", "uint32", "uint64"}
"""Of these a mean may be a unit in the last place beside the exact one."""


def check(made: Made, folder: Path) -> None:
    """Every tensor of a file has the facts, bits and statistics that torch gives it."""
    path = folder / ("m.safetensors" if made.container == "safetensors" else "m.pth")
    path.write_bytes(made.data)
    checkpoint = open_checkpoint(path)
    assert not checkpoint.warnings, checkpoint.warnings
    found = {
        tuple(checkpoint.nodes.keys_to(node)): checkpoint.tensor_of_node(node)
        for node in checkpoint.nodes.tree_order()
        if checkpoint.tensor_of_node(node) is not None
    }
    assert found.keys() == made.tensors.keys()
    for keys, wanted in made.tensors.items():
        tensor = found[keys]
        assert tensor is not None
        assert tensor.problem is None
        assert f"torch.{tensor.dtype.name}" == str(wanted.dtype)
        assert tensor.shape == tuple(wanted.shape)
        if made.container != "safetensors":
            assert tensor.stride == wanted.stride()
            assert bool(tensor.flags & TensorFlag.REQUIRES_GRAD) == wanted.requires_grad
        values = read_values(checkpoint, tensor)
        dense = plain(wanted).flatten()
        assert values.dtype == dense.dtype
        assert torch.equal(values.view(torch.uint8), dense.view(torch.uint8))
        if not wanted.is_complex():
            _check_summary(checkpoint, tensor.number, tensor.dtype.name, dense)


def _check_summary(checkpoint: Checkpoint, number: int, name: str, dense: torch.Tensor) -> None:
    summary = run(summarise_task(checkpoint, number, bins=7))
    numbers = _numbers(dense)
    exact = name not in ROUNDED
    check_statistics(summary.statistics, numbers, smallest_normal=NORMAL.get(name, 0.0), exact=exact)
    finite = [value for value in numbers if np.isfinite(float(value))]
    assert summary.histogram.total == len(finite)
    edges = np.asarray(summary.histogram.edges)
    if finite and len(edges):
        # The rule that is documented: a value lies in the bin whose edges hold it, the last edge included.
        at = np.clip(np.searchsorted(edges, np.asarray(finite, np.float64), side="right") - 1, 0, len(edges) - 2)
        assert np.bincount(at, minlength=len(edges) - 1).tolist() == list(summary.histogram.counts)


def _numbers(dense: torch.Tensor) -> list[int | float]:
    if dense.dtype == torch.bool:
        return [int(value) for value in dense.tolist()]
    if dense.dtype in (torch.uint16, torch.uint32, torch.uint64):
        numbers: list[int | float] = dense.numpy().tolist()
        return numbers
    if "float8" in str(dense.dtype):
        dense = dense.float()
    return list(dense.tolist())


EXAMPLES: st.SearchStrategy[Made] = checkpoints()

if __name__ == "__main__":
    raise SystemExit(main("reader and statistics against torch", EXAMPLES, check))
