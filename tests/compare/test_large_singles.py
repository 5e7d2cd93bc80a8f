"""Large float32 pairs that differ a little everywhere, as two checkpoints of a run do: they have a path of their own.

The expected numbers are computed in float64 and in integers, over all elements at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from tests.compare.measured import compare_objects

COUNT = 1_500_000
Floats = npt.NDArray[np.float64]


def moved(seed: int, share: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights, and the same after a step."""
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn(COUNT, generator=generator)
    return a, a * (1 + share * torch.randn(COUNT, generator=generator))


def crossing(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Some of them near to zero, where they change their sign, or by more than their own size; and zeros."""
    for at in (1_000, 400_000, 900_000, 1_400_000):
        a[at : at + 8] = torch.tensor([1e-6, -1e-6, 1e-7, 0.0, -0.0, 0.0, 3e-5, 1e-38])
        b[at : at + 8] = torch.tensor([-1e-6, 2e-6, 5e-7, -0.0, 0.0, 0.0, 1e-9, -2e-38])
    return a, b


def growing(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The further, the more they differ, so that every chunk has a larger maximum than those before it."""
    factor = torch.linspace(1, 300, COUNT)
    return a, a + (b - a) * factor


def shrinking(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Far smaller on the second side, where a sum of products of the differences would cancel."""
    return a, b * 1e-4


def places(values: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """The numbers of float32 in their order; both zeros are 0."""
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def expected(a: torch.Tensor, b: torch.Tensor) -> dict[str, Any]:
    one, other = a.numpy(), b.numpy()
    x, y = one.astype(np.float64), other.astype(np.float64)
    apart = np.abs(x - y)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = {
            "max_rel": np.max(np.where(apart > 0, apart / np.maximum(np.abs(x), np.abs(y)), 0)),
            "max_rel_to_a": np.max(np.where(x != 0, apart / np.abs(x), 0)),
            "max_rel_to_b": np.max(np.where(y != 0, apart / np.abs(y), 0)),
        }
    steps = np.abs(places(one) - places(other))
    return {
        "count": COUNT,
        "compared": COUNT,
        "differ": int(np.count_nonzero(x != y)),
        "differ_bits": int(np.count_nonzero(one.view(np.uint32) != other.view(np.uint32))),
        "zero_signs": int(np.count_nonzero((x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y)))),
        "sign_flips": int(np.count_nonzero(x * y < 0)),
        "max_abs": apart.max(),
        "max_abs_index": int(apart.argmax()),
        "max_ulp": int(steps.max()),
        "mean_abs": sum_of(apart) / COUNT,
        "rms": np.sqrt(sum_of(apart * apart) / COUNT),
        "norm_diff": np.sqrt(sum_of(apart * apart)),
        "norm_a": np.sqrt(sum_of(x * x)),
        "norm_b": np.sqrt(sum_of(y * y)),
        "cosine": sum_of(x * y) / np.sqrt(sum_of(x * x) * sum_of(y * y)),
        **relative,
    }


def sum_of(values: Floats) -> float:
    return float(np.sum(values.astype(np.longdouble)))


@pytest.mark.parametrize(
    ("share", "change"), [(1e-6, None), (1e-3, None), (1e-6, crossing), (1e-3, growing), (1e-3, shrinking)]
)
def test_that_every_measure_of_many_small_differences_is_right(share: float, change: Any, tmp_path: Path) -> None:
    a, b = moved(11, share)
    if change is not None:
        a, b = change(a, b)
    comparison = compare_objects(tmp_path, {"x": a}, {"x": b})  # steps are not counted: that has another path
    (row,) = comparison.counted_rows()
    measures = comparison.measures(row)
    for name, want in expected(a, b).items():
        got = getattr(measures, name)
        if isinstance(want, int) or name == "max_abs":
            assert got == want, name
        else:
            assert got == pytest.approx(want, rel=1e-12), name
