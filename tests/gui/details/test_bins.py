"""What the bins of a histogram say, and the ranges that they are drawn over."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from viewer.gui.details.bins import LOG_FLOOR, Bins, constant_bins, log_count
from viewer.gui.details.scale import Scale

LARGEST = sys.float_info.max


def bins_of(values: np.ndarray, n: int, *, integral: bool = False) -> Bins:
    counts, edges = np.histogram(values, n)
    return Bins(edges.tolist(), counts.tolist(), values.size, integral=integral)


def test_that_every_value_is_found_in_the_bin_that_numpy_counts_it_in() -> None:
    values = np.random.default_rng(1).normal(size=2000)
    bins = bins_of(values, 37)
    found = [bins.index_at(value) for value in values.tolist()]
    assert np.bincount(np.array(found), minlength=37).tolist() == list(bins.counts)


def test_that_nothing_is_found_outside_the_edges() -> None:
    bins = Bins((0.0, 1.0, 2.0), (3, 4), 7)
    assert [bins.index_at(x) for x in (-0.1, 0.0, 0.99, 1.0, 2.0, 2.1)] == [None, 0, 0, 1, 1, None]


def test_that_a_bin_names_its_edges_and_the_last_one_holds_both() -> None:
    bins = Bins((0.0349123, 0.0386512, 0.0423901), (1604, 20), 36_864)
    assert bins.interval(0) == "[0.03491, 0.03865)"
    assert bins.interval(1) == "[0.03865, 0.04239]"
    assert bins.share(0) == "1,604 of 36,864 · 4.35 %"


def test_that_neighbouring_edges_are_always_written_differently() -> None:
    for low, high in ((1e17, 1e17 + 512), (0.999999, 1.000001), (-1e-300, 1e-300), (-3e38, 3e38)):
        edges = np.linspace(low, high, 17).tolist()
        bins = Bins(edges, [0] * 16, 0)
        written = [bins.write(edge) for edge in edges]
        assert len(set(written)) == 17, written


def test_that_bins_of_whole_numbers_name_the_numbers_in_them() -> None:
    bins = Bins((-0.5, 0.5, 1.5, 4.5), (5, 6, 7), 18, integral=True)
    assert [bins.interval(index) for index in range(3)] == ["= 0", "= 1", "2 … 4"]
    uneven = Bins((0.0, 0.4, 1.0), (1, 1), 2, integral=True)
    assert uneven.interval(0) == "= 0"
    assert uneven.interval(1) == "= 1"


def test_that_the_tallest_bin_is_sought_among_the_visible_ones() -> None:
    bins = Bins((0.0, 1.0, 2.0, 3.0), (9, 1, 4), 14)
    assert bins.tallest(-5, 5) == 9
    assert bins.tallest(1.2, 1.4) == 1
    assert bins.tallest(1.5, 2.5) == 4
    assert bins.tallest(7, 8) == 0


@pytest.mark.parametrize("value", [0.0, 0.5, -7.25, 1e17, -1e17, 5e-324, LARGEST, -LARGEST, 3, 2**62, -(2**63)])
def test_that_one_bar_stands_about_the_one_value(value: float) -> None:
    bins, full = constant_bins(value, 64, 65, integral=isinstance(value, int))
    assert full[0] < full[1]
    assert full[0] <= bins.low < bins.high <= full[1]
    assert bins.index_at(float(value)) == 0
    assert bins.interval(0).startswith("= ")
    assert bins.share(0).startswith("64 of 65")


def test_that_an_empty_bin_lies_on_the_floor_of_log_counts_and_one_element_above_it() -> None:
    assert log_count(0) == LOG_FLOOR
    assert log_count(1) - LOG_FLOOR == pytest.approx(math.log10(2))


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (-LARGEST, LARGEST), (1e17, 1e17 + 64), (-1e-310, 1e-310), (-3e38, 5.0)]
)
def test_that_units_of_a_range_come_back_as_values(low: float, high: float) -> None:
    scale = Scale(low, high)
    assert scale.to_unit(low) == 0
    assert scale.to_unit(high) == 1
    assert scale.to_value(0) == low
    assert scale.to_value(1) == high
    middle = scale.to_value(0.5)
    assert low < middle < high
    assert scale.to_unit(middle) == pytest.approx(0.5)
    assert math.isfinite(scale.to_value(-0.01))
    assert math.isfinite(scale.to_value(1.01))
