"""Ticks of the plot's axes."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.gui.details.ticks import count_label, count_ticks, log_count_ticks, value_labels, value_ticks
from viewer.gui.format import MINUS

LARGEST = sys.float_info.max
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def read(label: str) -> float:
    return float(label.replace(MINUS, "-").replace(",", ""))


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (-0.41, 0.54, [f"{MINUS}0.4", f"{MINUS}0.2", "0", "0.2", "0.4"]),
        (0, 255, ["0", "50", "100", "150", "200", "250"]),
        (-3e38, 3e38, [f"{MINUS}3e38", f"{MINUS}2e38", f"{MINUS}1e38", "0", "1e38", "2e38", "3e38"]),
        (0.99999, 1.00001, ["0.999990", "0.999995", "1.000000", "1.000005", "1.000010"]),
        (1e-7, 3e-7, [f"{text}e{MINUS}7" for text in ("1", "1.5", "2", "2.5", "3")]),
    ],
)
def test_that_ticks_are_round_and_have_the_digits_they_need(low: float, high: float, labels: list[str]) -> None:
    step, ticks = value_ticks(low, high, 7)
    assert value_labels(ticks, step) == labels


@given(FINITE, FINITE, st.integers(2, 12))
def test_that_ticks_ascend_within_the_range_and_are_not_too_many(a: float, b: float, at_most: int) -> None:
    low, high = sorted((a, b))
    step, ticks = value_ticks(low, high, at_most)
    assert all(low <= tick <= high for tick in ticks)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 2 * at_most + 2
    assert len(value_labels(ticks, step)) == len(ticks)


@given(st.floats(-1e15, 1e15), st.floats(1e-6, 1e6), st.integers(2, 10))
def test_that_labels_read_back_to_their_ticks(low: float, width: float, at_most: int) -> None:
    if low + width == low:
        return
    step, ticks = value_ticks(low, low + width, at_most)
    for tick, label in zip(ticks, value_labels(ticks, step), strict=True):
        assert read(label) == pytest.approx(tick, rel=1e-12, abs=max(step * 1e-6, math.ulp(low)))


def test_that_the_ends_may_be_the_largest_numbers_there_are() -> None:
    _, ticks = value_ticks(-LARGEST, LARGEST, 6)
    assert 0.0 in ticks
    assert len(ticks) >= 3


def test_that_counts_have_ticks_at_whole_numbers() -> None:
    assert count_ticks(3.2, 8)[1] == [0, 1, 2, 3]
    assert count_ticks(1958, 5)[1] == [0, 500, 1000, 1500]


def test_that_log_counts_have_ticks_at_powers_of_ten_or_between_where_few() -> None:
    assert log_count_ticks(3.3, 5) == [1, 10, 100, 1000]
    assert log_count_ticks(8.1, 5) == [1, 100, 10**4, 10**6, 10**8]
    assert log_count_ticks(0.2, 5) == [1]
    assert log_count_ticks(0.9, 5) == [1, 2, 5]


def test_that_large_counts_are_written_in_millions() -> None:
    assert [count_label(count) for count in (0, 1500, 9_999_999, 2e7, 3.5e9)] == [
        "0",
        "1,500",
        "9,999,999",
        "20 M",
        "3.5 G",
    ]
