"""Blocks and pieces of strided views against numpy's own strided views."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.checkpoint.tensors import contiguous_stride
from viewer.tensors.layout import Block, blocks, merged, pieces, storage_order
from viewer.tensors.positions import first_index


@st.composite
def views(draw: st.DrawFn) -> Block:
    """Views with gaps, overlaps, repeats and permuted dimensions."""
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    if draw(st.booleans()):
        order = draw(st.permutations(range(len(shape))))
        dense = contiguous_stride(tuple(shape[axis] * draw(st.integers(1, 2)) for axis in order))
        stride = tuple(dense[order.index(axis)] for axis in range(len(shape)))
    else:
        stride = tuple(draw(st.integers(0, 9)) for _ in shape)
    return Block(0, draw(st.integers(0, 5)), shape, stride)


def elements(block: Block) -> list[int]:
    """The storage offsets of a block's elements, in its order."""
    offsets = np.full(block.shape, block.offset)
    for places, step in zip(np.indices(block.shape), block.stride, strict=True):
        offsets += places * step
    return offsets.ravel().tolist()


@settings(deadline=None, max_examples=300)
@given(views(), st.integers(1, 20), st.integers(0, 30), st.integers(0, 40))
def test_that_blocks_follow_each_other_in_order(view: Block, limit: int, start: int, count: int) -> None:
    found: list[int] = []
    for block in blocks(view, limit, start, count):
        assert block.start == start + len(found)
        assert 0 < block.numel <= limit
        found += elements(block)
    assert found == elements(view)[start : start + count]


@settings(deadline=None, max_examples=300)
@given(views())
def test_that_joining_dimensions_changes_no_element(view: Block) -> None:
    assert elements(merged(view)) == elements(view)


@settings(deadline=None, max_examples=300)
@given(views())
def test_that_the_order_of_the_storage_visits_each_element_once(view: Block) -> None:
    order = storage_order(view)
    logical = elements(view)
    if order is None:
        return
    if not logical:
        assert order.copies * order.block.numel == 0
        return
    walked = elements(order.block)
    assert sorted(walked * order.copies) == sorted(logical)
    assert walked == sorted(set(logical))
    for place, offset in enumerate(walked):
        mask = np.zeros(len(walked), bool)
        mask[place] = True
        assert first_index(mask, 0, order) == logical.index(offset)


def test_that_a_window_that_slides_over_elements_has_no_order_of_its_own() -> None:
    assert storage_order(Block(0, 0, (10, 5), (1, 1))) is None
    assert storage_order(Block(0, 0, (10, 5), (4, 1))) is None


@settings(deadline=None, max_examples=300)
@given(views(), st.integers(0, 10), st.integers(1, 50))
def test_that_pieces_cover_a_block(view: Block, gap: int, longest: int) -> None:
    if 0 in view.shape:
        return
    covered = np.full(
        tuple(1 if step == 0 else extent for extent, step in zip(view.shape, view.stride, strict=True)), -1
    )
    for where, piece in pieces(view, gap, longest):
        assert piece.span <= max(longest, 1)
        covered[where] = np.reshape(elements(piece), piece.shape)
    assert np.broadcast_to(covered, view.shape).ravel().tolist() == elements(view)


@pytest.mark.parametrize(("gap", "expected"), [(0, 6), (3, 2), (100, 1)])
def test_that_wide_gaps_are_not_read(gap: int, expected: int) -> None:
    view = Block(0, 0, (2, 3, 2), (100, 5, 1))
    assert len(list(pieces(view, gap, 1000))) == expected
