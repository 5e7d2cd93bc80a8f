"""How numbers, sizes and shapes are written in the window."""

from __future__ import annotations

import ast
import math

import pytest

from viewer.gui.format import (
    MINUS,
    format_bytes,
    format_bytes_exact,
    format_count,
    format_exact,
    format_number,
    format_percent,
    format_shape,
)


@pytest.mark.parametrize(
    ("n", "shown"),
    [(0, "0"), (999, "999"), (11_699_132, "11,699,132"), (-1234, f"{MINUS}1,234"), (10**18, "1" + ",000" * 6)],
)
def test_that_counts_have_thousands_separators(n: int, shown: str) -> None:
    assert format_count(n) == shown


def test_that_a_count_of_more_digits_than_python_writes_is_given_by_its_size() -> None:
    assert format_count(2**60_000) == "≥ 2^60000"
    assert format_count(-(2**60_000)) == f"≤ {MINUS}2^60000"
    assert format_bytes(2**200) == "≥ 2^200 B"
    assert format_shape((2, 2**60_000)) == "2×≥ 2^60000"


@pytest.mark.parametrize(
    ("n", "shown"),
    [
        (0, "0 B"),
        (256, "256 B"),
        (1023, "1,023 B"),
        (1024, "1.0 KB"),
        (3993, "3.9 KB"),
        (147_456, "144 KB"),
        (102_348, "99.9 KB"),
        (102_400, "100 KB"),
        (1024**2 - 1, "1.0 MB"),
        (46_871_347, "44.7 MB"),
        (5 * 1024**3, "5.0 GB"),
        (3 * 1024**6, "3.0 EB"),
        (5000 * 1024**6, "5,000 EB"),
    ],
)
def test_that_sizes_have_two_or_three_digits_and_a_unit(n: int, shown: str) -> None:
    assert format_bytes(n) == shown


def test_that_a_size_to_the_byte_names_the_byte() -> None:
    assert format_bytes_exact(1) == "1 byte"
    assert format_bytes_exact(147_456) == "147,456 bytes"


def test_that_a_shape_is_written_with_crosses_and_a_scalar_with_a_dash() -> None:
    assert format_shape((64, 64, 3, 3)) == "64×64×3×3"
    assert format_shape((0, 3)) == "0×3"
    assert format_shape(()) == "–"


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (0.0, "0"),
        (-0.0, f"{MINUS}0"),
        (1.0, "1"),
        (-0.41827, f"{MINUS}0.41827"),
        (0.123456789, "0.123457"),
        (-1.207e-5, f"{MINUS}1.207e{MINUS}5"),
        (12345.678, "12,345.7"),
        (1234567.0, "1.23457e6"),
        (5e-324, f"4.94066e{MINUS}324"),
        (math.nan, "NaN"),
        (math.inf, "+inf"),
        (-math.inf, f"{MINUS}inf"),
        (True, "True"),
        (-(7**30), f"{MINUS}22,539,340,290,692,258,087,863,249"),
        (1 - 2j, f"1{MINUS}2j"),
        (1 + 2j, "1+2j"),
        (complex(0, math.inf), "0+infj"),
    ],
)
def test_that_numbers_have_six_digits_and_a_true_minus(x: complex, shown: str) -> None:
    assert format_number(x) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [
        (0, 7, "0 %"),
        (7, 7, "100 %"),
        (1604, 36864, "4.35 %"),
        (36863, 36864, "> 99.9 %"),
        (1, 10**9, "< 0.0001 %"),
        (1, 2, "50.0 %"),
        (0, 0, "– %"),
    ],
)
def test_that_a_share_is_0_or_100_only_where_it_is_exactly_that(part: int, whole: int, shown: str) -> None:
    assert format_percent(part, whole) == shown


@pytest.mark.parametrize("value", [0.1, -0.0, 1e300, 2**80, True, None, "a\nb", b"\x00", (1, 2), 1j])
def test_that_the_exact_text_reads_back_to_the_value(value: object) -> None:
    back = ast.literal_eval(format_exact(value))
    assert back == value
    assert math.copysign(1, back) == math.copysign(1, value) if isinstance(value, float) else True


def test_that_a_giant_integer_is_written_exactly_in_hexadecimal() -> None:
    assert int(format_exact(3**20_000), 16) == 3**20_000
