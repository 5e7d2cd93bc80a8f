"""Every dtype × special values × sizes × strides, against exact arithmetic and numpy.histogram."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.tensors.made import checkpoint_of
from tests.tensors.oracle import check_histogram, check_statistics
from viewer.task import run
from viewer.tensors.reading import iter_chunks, read_values
from viewer.tensors.summary import summarise_task

FLOATS = ["float64", "float32", "float16", "bfloat16"]
FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
SMALLEST_NORMAL = {name: torch.finfo(getattr(torch, name)).smallest_normal for name in FLOATS + FLOAT8[:-1]}

CHUNK_NBYTES = 256
"""Small, so that a few hundred elements are several chunks."""


def sample(name: str, count: int, seed: int = 0) -> torch.Tensor:
    """`count` elements with every special value among them that fits."""
    dtype = getattr(torch, name)
    rng = np.random.default_rng(seed)
    if name in FLOATS:
        info = torch.finfo(dtype)
        special = [math.nan, math.inf, -math.inf, -0.0, 0.0, info.max, info.min, info.smallest_normal, info.tiny / 4]
        plain = torch.from_numpy(rng.standard_normal(count)).to(dtype)
        plain[: min(count, len(special))] = torch.tensor(special, dtype=torch.float64).to(dtype)[:count]
        return plain[torch.from_numpy(rng.permutation(count))]
    if name in FLOAT8:
        return torch.from_numpy(rng.integers(0, 256, count, dtype=np.uint8)).view(dtype)
    if name == "bool":
        return torch.from_numpy(rng.integers(0, 2, count).astype(bool))
    info = np.iinfo(name)
    numbers = rng.integers(info.min, info.max, count, dtype=name, endpoint=True)
    special_ints = [info.min, info.max, 0, 1]
    numbers[: min(count, 4)] = special_ints[:count]
    return torch.from_numpy(rng.permutation(numbers))


def numbers_of(tensor: torch.Tensor) -> list[int | float]:
    """The elements in logical order as exact Python numbers, by torch's own conversion."""
    if tensor.dtype == torch.bool:
        return [int(value) for value in tensor.flatten().tolist()]
    if tensor.dtype in (torch.uint16, torch.uint32, torch.uint64):
        return tensor.clone(memory_format=torch.contiguous_format).numpy().ravel().tolist()
    if "float8" in str(tensor.dtype):
        return tensor.to(torch.float32).flatten().tolist()
    return tensor.flatten().tolist()


STRIDES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "contiguous": torch.Tensor.contiguous,
    "transposed": torch.t,
    "permuted": lambda tensor: tensor.reshape(3, -1, 7).permute(2, 0, 1),
    "expanded": lambda tensor: tensor[:, :1].expand(-1, 5),
    "slice": lambda tensor: tensor[1:, 2:],
    "every third": lambda tensor: tensor[::2, ::3],
    "channels_last": lambda tensor: tensor.reshape(3, 7, -1, 1).to(memory_format=torch.channels_last),
    "window": lambda tensor: tensor.as_strided((11, 5), (2, 1), 3),
    "scalar": lambda tensor: tensor[1, 2],
}


@pytest.mark.parametrize("name", FLOATS + FLOAT8 + INTS)
@pytest.mark.parametrize("count", [0, 1, 2, 7, 64, 65, 1001])
def test_that_statistics_and_histogram_are_exact_at_every_size(name: str, count: int, tmp_path: Path) -> None:
    tensor = sample(name, count)
    summary = run(summarise_task(checkpoint_of(tmp_path, tensor), 0, bins=10, chunk_nbytes=CHUNK_NBYTES))
    values = numbers_of(tensor)
    exact = name not in ("float32", "float64", "int64", "uint64", "int32", "uint32")
    check_statistics(summary.statistics, values, smallest_normal=SMALLEST_NORMAL.get(name, 0.0), exact=exact)
    if name == "bool" and count:
        assert list(summary.histogram.edges) == [-0.5, 0.5, 1.5]
        assert list(summary.histogram.counts) == [values.count(0), values.count(1)]
    elif name != "float64" or count < 7:  # ±1.8e308 together are more than numpy.histogram can do
        check_histogram(summary.histogram, values, 10)
    assert summary.histogram.total == summary.statistics.finite


@pytest.mark.parametrize("name", FLOATS + FLOAT8 + INTS)
@pytest.mark.parametrize("strides", STRIDES)
def test_that_strides_change_nothing(name: str, strides: str, tmp_path: Path) -> None:
    if strides == "channels_last" and name in FLOAT8:
        tensor = sample(name, 21 * 18).view(torch.uint8).reshape(21, 18)
        tensor = STRIDES[strides](tensor).view(getattr(torch, name))
    else:
        tensor = STRIDES[strides](sample(name, 21 * 18).reshape(21, 18))
    checkpoint = checkpoint_of(tmp_path, tensor)
    summary = run(summarise_task(checkpoint, 0, bins=10, chunk_nbytes=CHUNK_NBYTES))
    values = numbers_of(tensor)
    exact = name not in ("float32", "float64", "int64", "uint64", "int32", "uint32")
    check_statistics(summary.statistics, values, smallest_normal=SMALLEST_NORMAL.get(name, 0.0), exact=exact)
    if name not in ("bool", "float64"):
        check_histogram(summary.histogram, values, 10)
    assert same(read_values(checkpoint, 0), tensor)
    chunks = [chunk.clone() for chunk in iter_chunks(checkpoint, 0, chunk_nbytes=64)]
    assert same(torch.cat([chunk.view(torch.uint8) for chunk in chunks]).view(tensor.dtype), tensor)


def same(flat: torch.Tensor, tensor: torch.Tensor) -> bool:
    """Whether all bits are equal, in logical order."""
    assert flat.dtype == tensor.dtype
    wanted = tensor.contiguous().flatten()
    return torch.equal(flat.view(torch.uint8), wanted.view(torch.uint8)) and flat.numel() == wanted.numel()


@pytest.mark.parametrize("name", [*FLOATS, "int16", "int32", "uint64", "complex64", "complex128"])
def test_that_byte_order_and_inline_storages_change_nothing(name: str, tmp_path: Path) -> None:
    if "complex" in name:
        tensor = torch.randn(301, dtype=torch.complex128).to(getattr(torch, name))
    else:
        tensor = sample(name, 301)
    for number, options in enumerate(({"big_endian": True}, {"inline": True}, {"big_endian": True, "inline": True})):
        folder = tmp_path / str(number)
        folder.mkdir()
        checkpoint = checkpoint_of(folder, tensor, **options)
        assert same(read_values(checkpoint, 0), tensor)
        assert torch.equal(
            read_values(checkpoint, 0, start=7, count=50).view(torch.uint8), tensor[7:57].view(torch.uint8)
        )
        swapped = run(summarise_task(checkpoint, 0, bins=10))
        plain_folder = tmp_path / f"plain{number}"
        plain_folder.mkdir()
        plain = run(summarise_task(checkpoint_of(plain_folder, tensor), 0, bins=10))
        assert swapped == plain
