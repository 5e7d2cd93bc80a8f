"""Plain values as words."""

from __future__ import annotations

import ast
import math
from fractions import Fraction

import pytest

from viewer.gui.details.values import value_words


@pytest.mark.parametrize("value", [12, -(2**80), 0.1, 1e-300, -0.0, math.inf, True, None, 1 + 2j])
def test_that_the_copied_text_is_the_exact_value(value: object) -> None:
    copied = value_words(value).copied
    assert eval(copied, {"inf": math.inf}) == value
    assert not value_words(value).long


def test_that_text_is_copied_as_it_is_and_long_where_it_has_lines() -> None:
    assert value_words("adam").copied == "adam"
    assert not value_words("adam").long
    words = value_words("first\nsecond\n")
    assert words.long
    assert words.copied == "first\nsecond\n"
    assert ("lines", "2") in [(fact.label, fact.shown) for fact in words.facts]
    assert value_words("").shown == "(empty text)"


def test_that_text_with_characters_that_do_not_print_is_not_drawn_in_large_type() -> None:
    assert value_words("a\u202eb").long
    assert value_words("a\x00b").long


def test_that_bytes_are_shown_in_hexadecimal_and_copied_whole() -> None:
    value = bytes(range(256)) * 40
    words = value_words(value)
    assert words.shown.startswith("00000000  00 01 02")
    assert "more bytes" in words.shown
    assert ast.literal_eval(words.copied) == value


def test_that_a_giant_integer_is_shown_by_its_size_and_copied_exactly() -> None:
    words = value_words(3**20_000)
    assert words.shown.startswith("≥ 2^")
    assert int(words.copied, 16) == 3**20_000


def test_that_a_float_has_its_bits_on_show() -> None:
    facts = {fact.label: fact.shown for fact in value_words(1e-05).facts}
    assert float.fromhex(facts["hexadecimal"]) == 1e-05
    assert Fraction(facts["exact decimal"]) == Fraction(1e-05)
