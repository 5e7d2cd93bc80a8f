"""Counting by the first bits of floats, against numpy.histogram."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tensors.made import checkpoint_of
from viewer.task import run
from viewer.tensors import edge_counts
from viewer.tensors.edge_counts import binner_of, edge_counts_task
from viewer.tensors.prefix_bins import PrefixBinner
from viewer.tensors.scratch import Scratch
from viewer.tensors.signed_log import signed_log_edges


def edges_and_values(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Uneven edges, and finite values: on them, beside them, anywhere, zeros of both signs, ends of the type."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-30, 30)
    edges = np.unique(np.concatenate((rng.standard_normal(60) * scale, rng.standard_normal(5) * scale / 1e9)))
    if seed % 3 == 0:
        edges = np.unique(np.concatenate((edges, [0.0], edges[:5] + np.spacing(edges[:5]))))
    if seed % 3 == 1:
        edges, _, _ = signed_log_edges(-scale, scale * rng.random(), 200)
    kind = np.dtype(name)
    near = edges.astype(kind)
    info = np.finfo(kind)
    special = [
        0.0,
        -0.0,
        info.max,
        info.min,
        info.tiny,
        -info.tiny,
        info.smallest_subnormal,
        -info.smallest_subnormal,
    ]
    parts = [
        near,
        np.nextafter(near, kind.type(math.inf)),
        np.nextafter(near, kind.type(-math.inf)),
        np.array(special, kind),
    ]
    parts += [
        (rng.standard_normal(2000) * scale).astype(kind),
        (rng.standard_normal(500) * scale * 1e-9).astype(kind),
    ]
    return edges, rng.permutation(np.concatenate(parts))


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(20))
def test_that_the_first_bits_find_the_bin_that_numpy_finds(name: str, seed: int) -> None:
    edges, values = edges_and_values(name, seed)
    counts = PrefixBinner(edges, name).count(values, Scratch())  # type: ignore[arg-type]
    floats = values.astype(np.float64)
    wanted, _ = np.histogram(floats, edges)
    assert counts.tolist() == [(floats < edges[0]).sum(), *wanted, (floats > edges[-1]).sum()]


@pytest.mark.parametrize("name", ["float32", "float64", "complex64"])
def test_that_large_tensors_are_counted_so(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = torch.randn(70_000, dtype=getattr(torch, name))
    edges, _, _ = signed_log_edges(-1.0, 3.0, 100)
    ways = 3 if name == "complex64" else 1
    plain = run(edge_counts_task(checkpoint_of(tmp_path, tensor), 0, [edges] * ways))
    monkeypatch.setattr(edge_counts, "_MANY", 1)
    assert isinstance(binner_of(edges, "float32", 5), PrefixBinner)
    fast = run(edge_counts_task(checkpoint_of(tmp_path, tensor), 0, [edges] * ways))
    for left, right in zip(plain, fast, strict=True):
        assert left is not None
        assert right is not None
        assert left.tolist() == right.tolist()
