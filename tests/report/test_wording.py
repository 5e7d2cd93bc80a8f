"""What a file puts into names and values stays on one line and does nothing to a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.report.wording import (
    display_width,
    padded,
    plural,
    printable,
    rounded_number,
    shape_text,
    shortened,
    size_text,
    value_text,
    whole_number,
)


@given(st.text(st.characters(codec=None)))
def test_that_every_text_becomes_printable(text: str) -> None:
    assert printable(text).isprintable()


def test_that_control_sequences_and_text_direction_marks_become_escapes() -> None:
    assert printable("a\x1b[2Jb\n\u202e\ud800") == r"a\x1b[2Jb\n\u202e\ud800"


@given(st.text(), st.integers(40, 100))
def test_that_value_text_of_strings_is_short_and_printable(text: str, length: int) -> None:
    shown = value_text(text, length)
    assert shown.isprintable()
    assert len(shown) <= length


def test_that_short_values_are_as_python_prints_them() -> None:
    for value in (None, True, 3, 0.1, float("nan"), 1 + 2j, "it's", b"\x00a", bytearray(b"x")):
        assert value_text(value) == repr(value)


def test_that_long_values_say_how_long_they_are() -> None:
    assert value_text("x" * 1000, 40).endswith("… (1,000 characters)")
    assert value_text(b"x" * 1000, 40).endswith("… (1,000 bytes)")
    assert value_text(1 << 20_000) == "an int of 20,001 bits"


@pytest.mark.parametrize(
    ("nbytes", "expected"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (1024, "1,024 bytes (1.0 KiB)"),
        (674_977, "674,977 bytes (659.2 KiB)"),
        (1024**2 - 1, "1,048,575 bytes (1.0 MiB)"),
        (5 * 1024**3, "5,368,709,120 bytes (5.0 GiB)"),
    ],
)
def test_that_sizes_are_exact_and_rounded_beside(nbytes: int, expected: str) -> None:
    assert size_text(nbytes) == expected


def test_that_claims_too_large_to_write_out_are_given_by_their_size() -> None:
    assert whole_number(1 << 5000) == "about 2^5001"
    assert size_text(1 << 5000) == "about 2^5001 bytes"
    assert shape_text((2, 1 << 5000)) == "2×about 2^5001"


def test_that_shapes_are_joined_and_a_scalar_is_called_so() -> None:
    assert shape_text((64, 64, 3, 3)) == "64×64×3×3"
    assert shape_text((0,)) == "0"
    assert shape_text(()) == "scalar"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.1234567, "0.123457"),
        (float("inf"), "inf"),
        (12_345, "12,345"),
        (2**63, "9,223,372,036,854,775,808"),
        (None, "-"),
    ],
)
def test_that_statistics_are_rounded_only_where_they_are_floats(value: object, expected: str) -> None:
    assert rounded_number(value) == expected


def test_that_plurals_follow_english() -> None:
    assert [plural(1, "entry"), plural(2, "entry"), plural(1000, "class"), plural(0, "tensor")] == [
        "1 entry",
        "2 entries",
        "1,000 classes",
        "0 tensors",
    ]


def test_that_wide_and_combining_characters_take_the_columns_that_a_terminal_gives_them() -> None:
    assert display_width("abc") == 3
    assert display_width("中文") == 4
    assert display_width("e\u0301") == 1
    assert padded("中", 4) == "中  "
    assert padded("too long", 3) == "too long"


def test_that_shortened_texts_end_in_an_ellipsis() -> None:
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abcde…"
