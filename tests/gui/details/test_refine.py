"""When a histogram is asked for anew, and with which edges."""

from __future__ import annotations

import math

import numpy as np

from viewer.gui.details.bins import Bins, constant_bins
from viewer.gui.details.refine import aligned_question, refined_question
from viewer.tensors.results import Statistics


def even(low: float, high: float, n: int, *, integral: bool = False) -> Bins:
    return Bins(np.linspace(low, high, n + 1).tolist(), [1] * n, n, integral=integral)


def test_that_zooming_into_a_few_bins_asks_for_finer_ones_with_room_to_shift() -> None:
    drawn = even(0, 100, 256)
    question = refined_question(drawn, (10.0, 20.0), (0.0, 100.0), 256)
    assert question is not None
    assert question.value_range == (5.0, 25.0)
    assert question.bins == 512


def test_that_bins_which_are_fine_enough_are_kept() -> None:
    drawn = even(0, 100, 256)
    assert refined_question(drawn, (10.0, 70.0), (0.0, 100.0), 256) is None
    assert refined_question(even(5, 25, 512), (10.0, 20.0), (0.0, 100.0), 256) is None


def test_that_a_range_beyond_the_fine_bins_is_asked_for() -> None:
    assert refined_question(even(5, 25, 512), (24.0, 34.0), (0.0, 100.0), 256) is not None


def test_that_nothing_is_asked_outside_the_full_range() -> None:
    assert refined_question(even(0, 100, 256), (-2.0, -1.0), (0.0, 100.0), 256) is None
    question = refined_question(even(0, 100, 256), (-1.0, 5.0), (0.0, 100.0), 256)
    assert question is not None
    assert question.value_range[0] == 0.0


def test_that_whole_numbers_never_get_bins_narrower_than_one() -> None:
    drawn = even(-0.5, 999.5, 250, integral=True)
    question = refined_question(drawn, (100.2, 110.7), (-0.5, 999.5), 250)
    assert question is not None
    low, high = question.value_range
    assert (high - low) / question.bins == 1
    assert low % 1 == 0.5
    assert refined_question(even(94.5, 116.5, 22, integral=True), (100.0, 110.0), (-0.5, 999.5), 250) is None


def test_that_bins_are_not_asked_for_below_what_float64_tells_apart() -> None:
    drawn = even(1.0, 2.0, 256)
    narrow = 64 * math.ulp(1.5)
    question = refined_question(drawn, (1.5, 1.5 + narrow), (1.0, 2.0), 256)
    assert question is not None
    low, high = question.value_range
    edges = np.linspace(low, high, question.bins + 1)
    assert (np.diff(edges) > 0).all()


def test_that_whole_numbers_are_binned_evenly() -> None:
    statistics = Statistics(count=10, finite=10, min=-5000, max=89_999)
    question = aligned_question(even(-5000, 89_999, 100, integral=True), statistics, 100)
    assert question is not None
    low, high = question.value_range
    assert low == -5000.5
    assert (high - low) / question.bins == 950
    assert high >= 89_999


def test_that_few_whole_numbers_get_one_bar_each() -> None:
    statistics = Statistics(count=10, finite=10, min=3, max=12)
    question = aligned_question(even(3, 12, 64, integral=True), statistics, 64)
    assert question is not None
    assert question.value_range == (2.5, 12.5)
    assert question.bins == 10


def test_that_even_bins_one_value_and_numbers_beyond_float64_are_left_alone() -> None:
    statistics = Statistics(count=10, finite=10, min=3, max=12)
    assert aligned_question(even(2.5, 12.5, 10, integral=True), statistics, 64) is None
    constant, _ = constant_bins(3, 5, 5, integral=True)
    assert aligned_question(constant, Statistics(count=5, finite=5, min=3, max=3), 64) is None
    huge = Statistics(count=2, finite=2, min=0, max=2**60)
    assert aligned_question(even(0, 2.0**60, 64, integral=True), huge, 64) is None
