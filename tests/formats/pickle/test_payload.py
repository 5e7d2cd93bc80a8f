from __future__ import annotations

import pytest

from viewer.errors import LimitExceeded
from viewer.formats.limits import LIMITS
from viewer.formats.pickle.payload import Payload
from viewer.formats.pickle.scan import scan_pickle

MIB = 1 << 20


@pytest.mark.parametrize(
    ("character", "width"), [("a", 1), ("\u00e9", 1), ("\u0101", 2), ("\u4e2d", 2), ("\U0001f600", 4)]
)
@pytest.mark.parametrize("before", [0, 3 * MIB])
def test_that_text_takes_as_much_memory_as_its_widest_character_asks_for(
    character: str, width: int, before: int
) -> None:
    data = b"a" * before + character.encode() + b"a" * 500
    payload = Payload(LIMITS, "data.pkl", b"X" + data)
    payload.add(ord("X"), 1, len(data))
    assert payload.text_memory == width * len(data)
    assert payload.nbytes == len(data)


def test_that_bytes_are_no_text() -> None:
    payload = Payload(LIMITS, "data.pkl", b"B" + b"\xff" * 500)
    payload.add(ord("B"), 1, 500)
    assert payload.text_memory == 0


def test_that_wide_text_ends_where_it_would_fill_the_memory() -> None:
    text = "\U0001f600".encode() + b"a" * (8 * MIB)
    payload = Payload(LIMITS, "data.pkl", memoryview(text))
    for _ in range(7):
        payload.add(ord("X"), 0, len(text))
    with pytest.raises(LimitExceeded, match="wide characters"):
        payload.add(ord("X"), 0, len(text))
    assert payload.nbytes < LIMITS.pickle_text_nbytes


def test_that_a_length_beyond_64_bits_is_too_much() -> None:
    data = b"\x80\x04\x8d" + (2**64 - 1).to_bytes(8, "little") + b"x."
    with pytest.raises(LimitExceeded, match="bytes of strings"):
        scan_pickle(data, 0, LIMITS, "data.pkl")
