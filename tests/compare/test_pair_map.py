"""Images of a pair against numpy on the whole tensors; mean and deviation against extended precision."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from viewer.checkpoint.document import Checkpoint
from viewer.compare.details import pair_details_task
from viewer.compare.pair_details import PairMaps, grid_of
from viewer.compare.pair_map import pair_map_task
from viewer.formats.opening import open_task
from viewer.task import run


def opened(tmp_path: Path, name: str, value: torch.Tensor) -> Checkpoint:
    torch.save({"w": value}, tmp_path / name)
    return run(open_task(tmp_path / name))


def sides(tmp_path: Path, a: torch.Tensor, b: torch.Tensor) -> tuple[Checkpoint, int, Checkpoint, int]:
    left, right = opened(tmp_path, "a.pth", a), opened(tmp_path, "b.pth", b)
    return left, left.find("w"), right, right.find("w")


def pixels(maps: PairMaps) -> list[np.ndarray]:
    return [np.frombuffer(part, "<f8").reshape(maps.height, maps.width) for part in (maps.a, maps.b, maps.difference)]


def blocks(values: np.ndarray, height: int, width: int) -> list[list[np.ndarray]]:
    """The elements that each pixel shows: element r of m rows is in pixel r·height // m."""
    rows = np.arange(values.shape[0]) * height // values.shape[0]
    columns = np.arange(values.shape[1]) * width // values.shape[1]
    return [[values[np.ix_(rows == y, columns == x)] for x in range(width)] for y in range(height)]


def farthest(block: np.ndarray) -> float:
    return float(block.flat[np.abs(block).argmax()])


@pytest.mark.parametrize(
    ("shape", "part"),
    [((37, 53), None), ((5, 6, 7, 8), None), ((1000,), None), ((64, 300), ((10, 40), (17, 211)))],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_that_each_pixel_is_the_farthest_of_its_block(
    tmp_path: Path,
    shape: tuple[int, ...],
    part: tuple[tuple[int, int], tuple[int, int]] | None,
    dtype: torch.dtype,
) -> None:
    generator = torch.Generator().manual_seed(1)
    a, b = ((torch.randn(shape, generator=generator) * 40).to(dtype) for _ in range(2))
    rows, columns = part or (None, None)
    maps = run(pair_map_task(*sides(tmp_path, a, b), height=12, width=16, row_range=rows, column_range=columns))
    flat_a, flat_b = (side.double().numpy().reshape(grid_of(shape)) for side in (a, b))
    assert (maps.rows, maps.columns) == flat_a.shape
    if part is not None:
        flat_a, flat_b = (side[slice(*part[0]), slice(*part[1])] for side in (flat_a, flat_b))
    high, wide = maps.height, maps.width
    found_a, found_b, difference = pixels(maps)
    grids = [blocks(values, high, wide) for values in (flat_a, flat_b, np.abs(flat_b - flat_a))]
    for y in range(high):
        for x in range(wide):
            assert abs(found_a[y, x]) == abs(farthest(grids[0][y][x]))
            assert found_a[y, x] in grids[0][y][x]
            assert found_b[y, x] in grids[1][y][x]
            assert difference[y, x] == grids[2][y][x].max()
    assert maps.largest_difference == np.abs(flat_b - flat_a).max()


def test_that_a_block_with_something_not_finite_is_nan(tmp_path: Path) -> None:
    a = torch.zeros(4, 4)
    b = a.clone()
    b[0, 0], b[3, 3] = math.nan, math.inf
    maps = run(pair_map_task(*sides(tmp_path, a, b), height=2, width=2))
    found_a, found_b, difference = pixels(maps)
    assert not np.isnan(found_a).any()
    for found in (found_b, difference):
        assert np.isnan(found).tolist() == [[True, False], [False, True]]


def test_that_a_transposed_side_is_drawn_in_logical_order(tmp_path: Path) -> None:
    a = torch.arange(12.0).reshape(4, 3).t()
    maps = run(pair_map_task(*sides(tmp_path, a, a.contiguous()), height=99, width=99))
    assert maps.is_exact
    found_a, found_b, difference = pixels(maps)
    assert found_a.tolist() == a.tolist() == found_b.tolist()
    assert not difference.any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64, torch.int32])
def test_that_mean_and_deviation_of_both_sides_are_exact_to_14_digits(tmp_path: Path, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(2)
    a, b = ((torch.randn(700_001, generator=generator) * 3 + 50).to(dtype) for _ in range(2))
    if dtype.is_floating_point:
        b[7] = math.nan
    details = run(pair_details_task(*sides(tmp_path, a, b)))
    for figures, side in ((details.figures_a, a), (details.figures_b, b)):
        values = side.double()[side.double().isfinite()]
        exact = values.numpy().astype(np.longdouble)  # torch's own deviation is right to 12 digits
        assert figures.finite == len(values)
        assert figures.mean == pytest.approx(float(exact.mean()), rel=1e-14)
        assert figures.std == pytest.approx(float(exact.std()), rel=1e-14)
        assert (figures.min, figures.max) == (float(values.min()), float(values.max()))


def test_that_what_overflows_has_no_mean(tmp_path: Path) -> None:
    a = torch.tensor([1.7e308, 1.7e308, 0.0], dtype=torch.float64)
    details = run(pair_details_task(*sides(tmp_path, a, a)))
    assert details.figures_a.mean is None
    assert details.figures_a.std is None
    assert details.figures_a.max == 1.7e308
