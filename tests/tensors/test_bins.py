"""Edges as numpy has them, and every value in the bin whose edges hold it, whichever way it is found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viewer.errors import ViewerError
from viewer.tensors.bins import MAX_BINS, Binner, make_edges
from viewer.tensors.scratch import Scratch

RANGES = [
    (0.0, 1.0),
    (-1.0, 1.0),
    (-0.75, 0.5),
    (0.1, 0.7),
    (-3e38, 3e38),
    (-1.7e308, 1.7e308),
    (5e-324, 1e-320),
    (1e-45, 3e-38),
    (1000.0, 1000.001),
    (1e17, 1e17 + 16384),
    (-5.0, 2**31 - 1.0),
    (0.0, 1.8e19),
]


def exact_counts(values: np.ndarray, edges: np.ndarray) -> list[int]:
    """Below, in each bin, above: by comparing with every edge."""
    inside = (values >= edges[0]) & (values <= edges[-1])
    found = np.searchsorted(edges, values[inside], side="right") - 1
    found[found == len(edges) - 1] -= 1
    counts = np.bincount(found, minlength=len(edges) - 1)
    return [int((values < edges[0]).sum()), *counts.tolist(), int((values > edges[-1]).sum())]


def around(edges: np.ndarray, dtype: type[np.floating]) -> np.ndarray:
    """Each edge in a float type, and its two neighbours there."""
    with np.errstate(over="ignore"):
        near = edges.astype(dtype)
        all_of_them = np.concatenate((near, np.nextafter(near, dtype(-np.inf)), np.nextafter(near, dtype(np.inf))))
    return all_of_them[np.isfinite(all_of_them)]


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("bins", [1, 3, 10, 254, 255, 256, 257, 1000])
@pytest.mark.parametrize("domain", ["float32", "float64"])
def test_that_every_value_is_in_the_bin_whose_edges_hold_it(low: float, high: float, bins: int, domain: str) -> None:
    dtype = np.float32 if domain == "float32" else np.float64
    edges, _ = make_edges(low, high, bins)
    rng = np.random.default_rng(0)
    spread = low / 2 + (high / 2 - low / 2) * rng.random(3000) + low / 2
    with np.errstate(over="ignore"):
        values = np.concatenate((spread.astype(dtype), around(edges, dtype), np.zeros(3, dtype)))
    values = rng.permutation(values[np.isfinite(values)])
    assert Binner(edges, domain).count(values, Scratch()).tolist() == exact_counts(values.astype(np.float64), edges)
    inside = values[(values >= edges[0]) & (values <= edges[-1])]
    counts = Binner(edges, domain, inside=True).count(inside, Scratch()).tolist()
    assert counts == exact_counts(inside.astype(np.float64), edges)


@pytest.mark.parametrize(
    ("low", "high"), [(-5, 5), (0, 255), (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1), (3, 10**6)]
)
@pytest.mark.parametrize("bins", [1, 10, 256, 300])
def test_that_integers_are_counted_as_numpy_counts_them(low: int, high: int, bins: int) -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(low, high, 5000, dtype=np.int64, endpoint=True)
    values[:2] = low, high
    counts, edges = np.histogram(values, bins)
    ours, _ = make_edges(float(low), float(high), bins)
    assert ours.tolist() == edges.tolist()
    assert Binner(ours, "int", inside=True).count(values, Scratch())[1:-1].tolist() == counts.tolist()
    assert Binner(ours, "int").count(values, Scratch())[1:-1].tolist() == counts.tolist()


def test_that_each_rule_is_used_where_it_belongs() -> None:
    def rule(low: float, high: float, domain: str) -> str:
        return Binner(make_edges(low, high, 256)[0], domain, inside=True).rule

    assert rule(-0.0913, 0.0887, "float32") == "line"
    assert rule(-1.0, 1.0, "float32") == "line"  # around the edge at 0 the values are compared
    assert rule(-0.0913, 0.0887, "float64") == "checked line"
    assert rule(-1.7e308, 1.7e308, "float64") == "search"
    assert rule(0.0, 1e6, "int") == "line"


def test_that_values_around_zero_are_compared_with_an_edge_there() -> None:
    edges, _ = make_edges(-0.75, 0.5, 250)  # the edge at "0" is 1e-16 or so beside it
    tiny = np.array([0.0, -0.0, 1e-45, -1e-45, 1e-20, -1e-20, 1e-17, -1e-17, 3e-16, -3e-16], np.float32)
    values = np.tile(tiny, 100)
    for inside in (True, False):
        counts = Binner(edges, "float32", inside=inside).count(values, Scratch()).tolist()
        assert counts == exact_counts(values.astype(np.float64), edges)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=50),
    st.integers(1, 300),
)
def test_that_any_float32_values_are_counted_as_numpy_counts_them(numbers: list[float], bins: int) -> None:
    values = np.array(numbers, np.float32)
    exact = values.astype(np.float64)
    low, high = float(exact.min()), float(exact.max())
    edges, note = make_edges(low, high, bins)
    try:
        counts, wanted = np.histogram(exact, bins)
    except ValueError:  # numpy: too many bins for data range
        assert note
    else:
        assert edges.tolist() == wanted.tolist()
        ours = Binner(edges, "float32", inside=low < high).count(values, Scratch())
        assert ours[1:-1].tolist() == counts.tolist()
        assert Binner(edges, "float64").count(exact, Scratch())[1:-1].tolist() == counts.tolist()
    assert Binner(edges, "float32").count(values, Scratch()).sum() == len(numbers)


@pytest.mark.parametrize(
    "value", [0.0, 1.0, -2.5, 1e15, 1e17, -1e17, 3.4e38, 1.7976931348623157e308, -1.7e308, 5e-324]
)
@pytest.mark.parametrize("bins", [1, 2, 256])
def test_that_one_value_alone_has_strictly_rising_edges_around_it(value: float, bins: int) -> None:
    edges, note = make_edges(value, value, bins)
    assert len(edges) == bins + 1
    assert np.isfinite(edges).all()
    assert (np.diff(edges) > 0).all()
    assert edges[0] <= value <= edges[-1]
    assert repr(value) in note
    counts = Binner(edges, "float64", inside=True).count(np.full(5, value), Scratch())
    assert counts[1:-1].sum() == 5


def test_that_bins_become_fewer_where_float64_has_no_numbers_for_them() -> None:
    edges, note = make_edges(1e17, 1e17 + 64, 256)
    assert edges.tolist() == [1e17, 1e17 + 16, 1e17 + 32, 1e17 + 48, 1e17 + 64]
    assert note.startswith("4 bins")
    values = np.array([1e17, 1e17 + 16, 1e17 + 64, 1e17 + 64])
    assert Binner(edges, "float64", inside=True).count(values, Scratch()).tolist() == [0, 1, 1, 0, 2, 0]


@pytest.mark.parametrize(
    ("low", "high", "bins"),
    [(0.0, 1.0, 0), (0.0, 1.0, MAX_BINS + 1), (1.0, 0.0, 5), (0.0, math.inf, 5), (math.nan, 1.0, 5)],
)
def test_that_an_impossible_histogram_is_refused_in_words(low: float, high: float, bins: int) -> None:
    with pytest.raises(ViewerError, match="histogram"):
        make_edges(low, high, bins)
