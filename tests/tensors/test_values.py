"""Single elements as exact Python scalars."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from tests.tensors.made import checkpoint_of
from viewer.errors import LimitExceeded, MalformedFile
from viewer.task import Progress, run
from viewer.tensors.values import MAX_VALUES, values_task


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("float64", [0.1, -0.0, 5e-324, math.inf]),
        ("float32", [0.1, 1e-45, -math.inf]),
        ("float16", [65504.0, 6e-8, -0.0]),
        ("bfloat16", [1.0, 3e38, 0.1]),
        ("int64", [2**63 - 1, -(2**63)]),
        ("uint64", [2**64 - 1, 0]),
        ("uint16", [65535]),
        ("bool", [True, False]),
        ("complex64", [1 + 2j, -0.5j]),
    ],
)
def test_that_values_are_the_scalars_that_torch_gives(name: str, numbers: list[float], tmp_path: Path) -> None:
    tensor = torch.tensor(numbers, dtype=getattr(torch, name))
    found = run(values_task(checkpoint_of(tmp_path, tensor), 0, 100))
    assert list(found.values) == tensor.tolist()
    assert [type(value) for value in found.values] == [type(value) for value in tensor.tolist()]
    assert (found.dtype, found.start, found.count, found.stored) == (name, 0, len(numbers), None)


@pytest.mark.parametrize(
    "name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]
)
def test_that_every_float8_pattern_has_its_value(name: str, tmp_path: Path) -> None:
    tensor = torch.arange(256, dtype=torch.uint8).view(getattr(torch, name))
    found = run(values_task(checkpoint_of(tmp_path, tensor), 0, 256)).values
    wanted = tensor.to(torch.float32).tolist()
    assert list(map(repr, found)) == list(map(repr, wanted))


def test_that_a_part_is_read_in_logical_order(tmp_path: Path) -> None:
    tensor = torch.arange(12).reshape(3, 4).t()
    checkpoint = checkpoint_of(tmp_path, tensor)
    assert run(values_task(checkpoint, 0, 5, start=2)).values == (8, 1, 5, 9, 2)
    assert run(values_task(checkpoint, 0, 5, start=10)).values == (7, 11)
    assert run(values_task(checkpoint, 0, 5, start=99)).values == ()
    assert run(values_task(checkpoint, 0, 0)).values == ()


def test_that_many_values_come_in_steps(tmp_path: Path) -> None:
    steps: list[Progress] = []
    checkpoint = checkpoint_of(tmp_path, torch.arange(200_000))
    assert run(values_task(checkpoint, 0, 150_000), steps.append).values == tuple(range(150_000))
    assert len(steps) == 3
    assert (steps[-1].done, steps[-1].total, steps[-1].unit) == (150_000, 150_000, "values")


def test_that_too_many_values_are_refused(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.zeros(1).expand(MAX_VALUES + 1))
    with pytest.raises(LimitExceeded, match="values at once"):
        run(values_task(checkpoint, 0, MAX_VALUES + 1))


def test_that_a_broken_tensor_is_said_even_when_nothing_is_asked_for(tmp_path: Path) -> None:
    checkpoint = checkpoint_of(tmp_path, torch.zeros(4))
    checkpoint.tensors.problem[0] = "it reaches outside its storage"
    with pytest.raises(MalformedFile, match="outside its storage"):
        run(values_task(checkpoint, 0, 0))
