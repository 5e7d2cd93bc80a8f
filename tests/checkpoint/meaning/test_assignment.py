"""Assignments by order and shapes, against trying them all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checkpoint.meaning.training import possible_names
from viewer.checkpoint.meaning import assignment as module
from viewer.checkpoint.meaning.assignment import ANY, Assignment, Misfit, assign

N = 100_000


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    """Groups and places of few shapes: mostly a real selection of the places, sometimes shuffled."""
    places = draw(st.lists(st.integers(0, 2), min_size=1, max_size=6))
    groups: list[list[int]] = [[] for _ in range(draw(st.integers(1, 3)))]
    for shape in places:
        where = draw(st.integers(-1, len(groups) - 1))
        if where >= 0:
            groups[where].append(shape)
    return draw(st.permutations(groups)), draw(st.permutations(places)) if draw(st.booleans()) else places


def tried(groups: list[list[int]], places: list[int]) -> list[set[int]]:
    named = [(str(place), (shape,)) for place, shape in enumerate(places)]
    found = possible_names([[(shape,) for shape in group] for group in groups], named)
    return [{int(name) for name in names} for names in found]


@settings(max_examples=400, deadline=None)
@given(problems())
def test_that_the_places_are_those_of_all_assignments(problem: tuple[list[list[int]], list[int]]) -> None:
    groups, places = problem
    expected = tried(groups, places)
    found = assign(groups, places)
    if set() in expected:
        assert isinstance(found, Misfit)
    else:
        assert isinstance(found, Assignment)
        assert found.exact
        assert [set(choices) for choices in found.places] == expected
        assert found.counts == [len(choices) for choices in found.places]


@settings(max_examples=400, deadline=None)
@given(problems())
def test_that_narrowed_bounds_never_lose_a_place(problem: tuple[list[list[int]], list[int]]) -> None:
    groups, places = problem
    expected = tried(groups, places)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MAX_GROUPS_EXACT", 0)
        found = assign(groups, places)
    if set() not in expected:
        assert isinstance(found, Assignment)
        for choices, all_of_them in zip(found.places, expected, strict=True):
            assert set(choices) >= all_of_them
            assert len(choices) > 1 or set(choices) == all_of_them


def test_that_an_unknown_shape_takes_any_place() -> None:
    found = assign([[1, ANY, 3]], [1, 2, 2, 3])
    assert isinstance(found, Assignment)
    assert found.places == [(0,), (1, 2), (3,)]


def test_that_the_first_entry_without_a_place_is_told() -> None:
    assert assign([[1, 2, 5]], [1, 2, 3]) == Misfit(2)
    assert assign([[2, 1]], [1, 2]) == Misfit(1)
    assert assign([[1], [2, 2]], [1, 2]) == Misfit(2)


@pytest.mark.parametrize(
    ("groups", "certain"),
    [
        ([range(N)], N),
        ([[n for n in range(N) if n % 7 < 4], [n for n in range(N) if n % 7 >= 4]], N),
        ([range(N // 2)], 0),
        ([range(N // 2), range(N // 2, N)], 0),
        ([[n] for n in range(N)], 0),
        ([range(N // 24 * g, N // 24 * (g + 1)) for g in range(24)], 0),
    ],
    ids=["one group", "by shape", "half frozen", "two equal halves", "a group for each", "a group for each layer"],
)
def test_that_a_hundred_thousand_entries_are_named_as_far_as_is_certain(
    groups: list[list[int]], certain: int
) -> None:
    places = [n % 7 for n in range(N)]
    shapes = [[place % 7 for place in group] for group in groups]
    found = assign(shapes, places)
    assert isinstance(found, Assignment)
    assert sum(count == 1 for count in found.counts) == certain
