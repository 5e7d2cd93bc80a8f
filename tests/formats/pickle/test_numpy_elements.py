"""Elements that torch has no dtype for, as numpy prints them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from viewer.formats.pickle.numpy_dtypes import UNITS, DtypeRecord
from viewer.formats.pickle.numpy_elements import (
    datetime_text,
    element_reader,
    extended_text,
    timedelta_text,
)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("multiple", ["", "25"])
def test_that_dates_are_written_as_numpy_writes_them(unit: str, multiple: str) -> None:
    rng = random.Random(unit)
    dtype = DtypeRecord(f"<M8[{multiple}{unit}]")
    assert dtype.text == f"datetime64[{multiple}{unit}]"
    counts = [0, 1, -1, 59, 60, 365, -719_528, *(rng.randint(-(2**bits), 2**bits) for bits in (9, 17, 31) * 40)]
    for count in counts:
        assert datetime_text(count, dtype) == str(np.datetime64(count, f"{multiple or 1}{unit}"))
    assert datetime_text(-(1 << 63), dtype) == "NaT"


@pytest.mark.parametrize("unit", ["", *UNITS])
def test_that_durations_are_written_as_numpy_writes_them(unit: str) -> None:
    dtype = DtypeRecord(f"<m8[{unit}]" if unit else "<m8")
    for count in (0, 1, -3, 10**15):
        expected = np.timedelta64(count, unit) if unit else np.timedelta64(count)
        assert timedelta_text(count, dtype) == str(expected)


@pytest.mark.filterwarnings("ignore:overflow encountered in conversion from string")
@pytest.mark.skipif(np.finfo(np.longdouble).nmant != 63, reason="long double is not x86's here")
def test_that_long_doubles_have_the_digits_that_numpy_gives_them() -> None:
    rng = random.Random(3)
    texts = [
        "0",
        "-0.0",
        "1",
        "0.1",
        "1e16",
        "9999999999999998",
        "0.0001",
        "0.00001",
        "1e-4940",
        "-1.5e4000",
        "4e-4951",
    ]
    numbers = [np.longdouble(text) for text in (*texts, "inf", "-inf", "nan")]
    numbers += [np.longdouble(rng.random()) * np.longdouble(7) ** rng.randint(-5000, 5000) for _ in range(200)]
    for number in numbers:
        assert extended_text(number.tobytes()) == str(number)


def test_that_a_long_double_of_another_machine_is_not_read_as_that_of_x86() -> None:
    quad = (0x3FFF8 << 108).to_bytes(16, "little")  # 1.5 in IEEE binary128: its leading bit is not stored
    assert element_reader(DtypeRecord("<f16"), quad) is None
    assert element_reader(DtypeRecord(">f16"), bytes(16)) is None


@pytest.mark.parametrize("code", ["O8", "M8", "M8[furlong]", "i3", "T16", ""])
def test_that_what_is_not_known_is_left_alone(code: str) -> None:
    assert element_reader(DtypeRecord(code), bytes(8)) is None
