"""Boxes of a tensor: whether they make the whole, and where their elements lie in it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.checkpoint.tensors import Piece, contiguous_stride
from viewer.formats.pieces import Box, layout_problem, runs_of, tiling_problem


@st.composite
def boxes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """A shape, and the start and shape of a box in it that is not empty."""
    whole = tuple(draw(st.lists(st.integers(1, 5), max_size=4)))
    start = tuple(draw(st.integers(0, extent - 1)) for extent in whole)
    shape = tuple(draw(st.integers(1, extent - at)) for at, extent in zip(start, whole, strict=True))
    return whole, start, shape


@given(boxes())
def test_that_runs_are_the_elements_of_the_box_in_order(
    given: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]],
) -> None:
    whole, start, shape = given
    index = np.arange(int(np.prod(whole, dtype=int))).reshape(whole)
    expected = index[tuple(slice(at, at + extent) for at, extent in zip(start, shape, strict=True))].ravel()
    runs = runs_of(whole, start, shape)
    found = [runs[nth] + at for nth in range(len(runs)) for at in range(runs.length)]
    assert found == expected.tolist()


def grid(whole: tuple[int, ...], *cuts: int) -> list[Box]:
    edges = [list(itertools.pairwise(np.linspace(0, n, c + 1).astype(int))) for n, c in zip(whole, cuts, strict=True)]
    return [
        (tuple(int(low) for low, _ in cell), tuple(int(high - low) for low, high in cell))
        for cell in itertools.product(*edges)
    ]


@pytest.mark.parametrize("cuts", [(1, 1), (3, 1), (1, 4), (5, 3)])
def test_that_a_grid_is_a_tiling_in_any_order(cuts: tuple[int, int]) -> None:
    boxes = grid((10, 12), *cuts)
    assert tiling_problem((10, 12), boxes) == ""
    assert tiling_problem((10, 12), boxes[::-1]) == ""


@pytest.mark.parametrize(
    ("whole", "boxes", "said"),
    [
        ((4, 3), [((0, 0), (2, 3))], "hold 6 of its 12"),
        ((4, 3), [((0, 0), (4, 3)), ((0, 0), (1, 1))], "overlap"),
        ((4, 3), [((0, 0), (2, 3)), ((1, 0), (2, 3))], r"at \(0, 0\) and \(1, 0\) overlap"),
        ((4, 4), [((0, 0), (2, 4)), ((2, 0), (2, 2)), ((2, 1), (2, 2))], "overlap"),
        ((4, 3), [((3, 0), (2, 3))], "reaches outside"),
        ((4, 3), [((-1, 0), (2, 3))], "reaches outside"),
        ((4, 3), [((0,), (4,))], "1 dimensions, the tensor 2"),
        ((4,), [], "hold 0 of its 4"),
    ],
)
def test_that_what_is_no_tiling_is_said(whole: tuple[int, ...], boxes: list[Box], said: str) -> None:
    import re

    assert re.search(said, tiling_problem(whole, boxes))


def test_that_empty_tensors_and_scalars_are_tiled() -> None:
    assert tiling_problem((), [((), ())]) == ""
    assert tiling_problem((0, 3), []) == ""
    assert tiling_problem((0, 3), [((0, 0), (0, 3))]) == ""
    assert "overlap" in tiling_problem((), [((), ()), ((), ())])


def test_that_too_many_pieces_to_compare_are_refused() -> None:
    count = 3_000
    boxes: list[Box] = [((0, at), (1, 1)) for at in range(count)]
    assert "too many to check" in tiling_problem((1, count), boxes)
    assert tiling_problem((count, 1), [((at, 0), (1, 1)) for at in range(count)]) == ""


def test_that_large_pieces_must_be_dense() -> None:
    extent = 6_000
    dense = Piece(0, 0, contiguous_stride((extent, extent)), (0, 0), (extent, extent))
    turned = Piece(0, 0, (1, extent), (0, 0), (extent, extent))
    small = Piece(0, 0, (1, 8), (0, 0), (8, 8))
    assert layout_problem(dense, 4) == ""
    assert layout_problem(small, 4) == ""
    assert "is not dense" in layout_problem(turned, 4)
