"""Single values and keys in JSON: valid everywhere, and nothing lost."""

from __future__ import annotations

import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.checkpoint.nodes import OtherKey
from viewer.report.json_values import json_key, json_value


def strict(text: str) -> object:
    """Parse as a strict parser does: no NaN and Infinity, which Python's own parser lets pass."""
    return json.loads(text, parse_constant=pytest.fail)


@given(st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False))
def test_that_what_json_can_hold_comes_back_equal_and_of_the_same_type(value: object) -> None:
    back = strict(json_value(value))
    assert type(back) is type(value)
    assert back == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_that_floats_keep_every_bit(value: float) -> None:
    back = strict(json_value(value))
    assert isinstance(back, float)
    assert struct.pack("d", back) == struct.pack("d", value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"), (b"a\x00", r"b'a\x00'"), (1 + 2j, "(1+2j)")],
)
def test_that_what_json_cannot_hold_is_a_string_as_python_prints_it(value: object, expected: str) -> None:
    assert strict(json_value(value)) == expected


def test_that_ints_keep_all_their_digits_as_long_as_parsers_take_them() -> None:
    value = 10**4299 + 7
    assert strict(json_value(value)) == value
    assert strict(json_value(-value)) == -value


def test_that_longer_ints_are_hexadecimal_strings() -> None:
    value = 1 << 20_000
    text = strict(json_value(value))
    assert isinstance(text, str)
    assert int(text, 16) == value


@pytest.mark.parametrize("text", ["\ud800", "\x1b[31m", "中文", '"\\', "\u2028"])
def test_that_text_is_ascii_and_comes_back(text: str) -> None:
    written = json_value(text)
    assert written.isascii()
    assert strict(written) == text


def test_that_containers_nest() -> None:
    value = {"scale": 0.5, "axes": (0, 1), "none": None, "inner": {"nan": math.nan}}
    assert strict(json_value(value)) == {"scale": 0.5, "axes": [0, 1], "none": None, "inner": {"nan": "nan"}}


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("0", "0"),
        (0, 0),
        (-(2**70), -(2**70)),
        (OtherKey("(1, 2)"), {"key": "(1, 2)"}),
        (OtherKey("nan", 2), {"key": "nan", "nth": 2}),
    ],
)
def test_that_keys_are_strings_numbers_or_objects(key: str | int | OtherKey, expected: object) -> None:
    assert strict(json_key(key)) == expected
