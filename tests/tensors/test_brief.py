"""The few numbers of long lists, against torch on the same values."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.errors import ViewerError
from viewer.task import run
from viewer.tensors.brief import TensorBrief
from viewer.tensors.brief_task import brief_task
from viewer.tensors.update_scale import update_scale_task


def opened(content: object, folder: Path) -> Checkpoint:
    torch.save(content, folder / "brief.pth")
    return open_checkpoint(folder / "brief.pth")


def brief_of(tensor: torch.Tensor, folder: Path) -> TensorBrief:
    checkpoint = opened({"t": tensor}, folder)
    (brief,) = run(brief_task(checkpoint, range(len(checkpoint.tensors)))).values()
    return brief


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.complex64],
    ids=str,
)
def test_that_norms_and_counts_are_those_of_torch(dtype: torch.dtype, tmp_path: Path) -> None:
    values = torch.randn(300, 7, dtype=torch.complex64 if dtype.is_complex else torch.float32).to(dtype)
    values[::5] = 0
    brief = brief_of(values, tmp_path)
    wide = values.to(torch.complex128 if dtype.is_complex else torch.float64)
    assert brief.norm == pytest.approx(float(torch.linalg.vector_norm(wide)), rel=1e-12)
    assert brief.zeros == int((wide == 0).sum())
    assert (brief.count, brief.nan, brief.inf) == (2100, 0, 0)
    if not dtype.is_complex:
        assert (brief.negative, brief.min) == (int((wide < 0).sum()), float(wide.min()))


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool, torch.uint16, torch.uint64], ids=str)
def test_that_integers_have_counts_and_no_norm(dtype: torch.dtype, tmp_path: Path) -> None:
    brief = brief_of(torch.tensor([0, 3, 1, 0]).to(dtype), tmp_path)
    assert (brief.norm, brief.zeros, brief.negative, brief.min) == (None, 2, 0, 0)


def test_that_non_finite_values_are_counted_and_there_is_no_norm(tmp_path: Path) -> None:
    brief = brief_of(torch.tensor([math.nan, math.inf, -math.inf, -2.0, 0.0]), tmp_path)
    assert (brief.nan, brief.inf, brief.zeros, brief.negative, brief.min, brief.norm) == (1, 2, 1, 1, -2.0, None)


def test_that_a_complex_number_with_two_nans_counts_once(tmp_path: Path) -> None:
    brief = brief_of(torch.tensor([complex(math.nan, math.nan), complex(math.inf, math.nan), 1j]), tmp_path)
    assert (brief.nan, brief.inf) == (2, 0)


def test_that_squares_beyond_float64_still_give_a_norm(tmp_path: Path) -> None:
    brief = brief_of(torch.full((400_000,), 1e300, dtype=torch.float64), tmp_path)
    assert brief.norm == pytest.approx(1e300 * math.sqrt(400_000), rel=1e-12)


def test_that_a_scalar_has_its_value_and_an_empty_tensor_zeros(tmp_path: Path) -> None:
    assert brief_of(torch.tensor(2.5), tmp_path).value == 2.5
    assert brief_of(torch.tensor([7]), tmp_path).value == 7
    empty = brief_of(torch.empty(0, 3), tmp_path)
    assert (empty.count, empty.norm, empty.min, empty.value) == (0, 0.0, None, None)


def test_that_what_cannot_be_read_has_a_problem_and_the_rest_is_there(tmp_path: Path) -> None:
    path = tmp_path / "cut.safetensors"
    save_file({"a": torch.ones(4), "b": torch.ones(50_000)}, path)  # in this order
    path.write_bytes(path.read_bytes()[:-1000])
    briefs = run(brief_task(open_checkpoint(path), [0, 1]))
    assert briefs[0].norm == 2.0
    assert briefs[1].problem is not None


@pytest.mark.parametrize("steps", [1, 5])
def test_that_the_scale_of_an_update_is_the_step_that_adam_makes(steps: int, tmp_path: Path) -> None:
    """With a gradient equal to m̂ and a variance that stays, Adam's formula is the one computed."""
    model = nn.Linear(30, 20).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02, betas=(0.8, 0.95), eps=1e-6)
    for _ in range(steps):
        before = model.weight.detach().clone()
        optimizer.zero_grad()
        model(torch.randn(4, 30, dtype=torch.float64)).square().sum().backward()
        optimizer.step()
    moved = model.weight.detach() - before  # what the last step did follows from the moments that it left
    checkpoint = opened(optimizer.state_dict(), tmp_path)
    numbers = [checkpoint.tensor_of_node(checkpoint.find(f"state[0]/{name}")) for name in ("exp_avg", "exp_avg_sq")]
    assert numbers[0] is not None
    assert numbers[1] is not None
    scale = run(
        update_scale_task(
            checkpoint,
            (numbers[0].number, numbers[1].number),
            lr=0.02,
            betas=(0.8, 0.95),
            eps=1e-6,
            step=float(steps),
        )
    )
    assert scale.rms == pytest.approx(float(moved.square().mean().sqrt()), rel=1e-9)
    assert scale.largest == pytest.approx(float(moved.abs().max()), rel=1e-9)
    assert scale.count == 600
    assert "lr 0.02" in scale.formula


def test_that_moments_of_two_shapes_have_no_scale(tmp_path: Path) -> None:
    checkpoint = opened({"a": torch.zeros(2), "b": torch.zeros(3)}, tmp_path)
    with pytest.raises(ViewerError, match="different shapes"):
        run(update_scale_task(checkpoint, (0, 1), lr=0.1, betas=(0.9, 0.9), eps=0.0, step=1.0))
