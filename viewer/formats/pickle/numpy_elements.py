"""Elements of numpy dtypes that torch lacks, as texts: dates, durations, extended precision.

Texts are those that numpy prints. Calendars follow numpy/_core/src/multiarray/datetime.c (proleptic Gregorian, no
leap seconds), and the 80-bit format is that of x86 (Intel SDM volume 1, section 4.2.2).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from viewer.formats.pickle.numpy_dtypes import DtypeRecord
from viewer.formats.pickle.standins import ScalarStandIn

_NAT: Final = -(1 << 63)
_WORDS: Final = {
    "": "generic time units", "Y": "years", "M": "months", "W": "weeks", "D": "days", "h": "hours", "m": "minutes",
    "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds", "ps": "picoseconds",
    "fs": "femtoseconds", "as": "attoseconds",
}  # fmt: skip
_PER_DAY: Final = {"h": 24, "m": 1_440, "s": 86_400}
_DIGITS: Final = {"ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15, "as": 18}
"""Decimals of a second."""

_BIAS: Final = 16_383
_MANTISSA_BITS: Final = 64
_EXTENDED_NBYTES: Final = 10
_MOST_DIGITS: Final = 21
"""Significant decimal digits that tell any two numbers of a 64-bit mantissa apart."""

TextOf = Callable[[bytes], object]


def element_reader(dtype: DtypeRecord, raw: bytes) -> TextOf | None:
    """What makes a value of the bytes of one element; None where it is not known how.

    Parameters
    ----------
    raw
        All elements. A longdouble is 80 bits of x86 or 128 of another machine, and only the bits themselves tell.
    """
    code = dtype.code
    if dtype.fields or dtype.base is not None:
        return None
    if code[:1] == "U":
        return dtype.decode
    if code[:1] == "S":
        return _stripped
    if code[:1] == "V":
        return bytes
    if code == "M8" and dtype.unit:
        return lambda piece: ScalarStandIn("numpy.datetime64", datetime_text(_int64(dtype, piece), dtype))
    if code == "m8":
        return lambda piece: ScalarStandIn("numpy.timedelta64", timedelta_text(_int64(dtype, piece), dtype))
    width = {"f12": 12, "f16": 16, "c24": 12, "c32": 16}.get(code, 0)
    if width and not dtype.big_endian and all(_is_extended(raw[at : at + width]) for at in range(0, len(raw), width)):
        if code[0] == "f":
            return lambda piece: ScalarStandIn("numpy.longdouble", extended_text(piece))
        return lambda piece: ScalarStandIn(
            "numpy.clongdouble", _complex_text(extended_text(piece[:width]), extended_text(piece[width:]))
        )
    return None


def _stripped(piece: bytes) -> bytes:
    return piece.rstrip(b"\0")


def _int64(dtype: DtypeRecord, piece: bytes) -> int:
    return int.from_bytes(piece, "big" if dtype.big_endian else "little", signed=True)


def datetime_text(count: int, dtype: DtypeRecord) -> str:
    """A date as numpy prints it: as exact as its unit, in ISO form."""
    if count == _NAT:
        return "NaT"
    count, unit = count * dtype.multiple, dtype.unit
    if unit == "Y":
        return f"{1970 + count:04}"
    if unit == "M":
        return f"{1970 + count // 12:04}-{count % 12 + 1:02}"
    if unit in ("W", "D"):
        return _date(count * (7 if unit == "W" else 1))
    if unit in _PER_DAY:
        day, within = divmod(count, _PER_DAY[unit])
        seconds, decimals = within * (86_400 // _PER_DAY[unit]), ""
    else:
        digits = _DIGITS[unit]
        second, part = divmod(count, 10**digits)
        day, seconds = divmod(second, 86_400)
        decimals = f".{part:0{digits}}"
    hour, minute, second = seconds // 3_600, seconds // 60 % 60, seconds % 60
    time = f"{hour:02}"
    if unit != "h":
        time += f":{minute:02}"
    if unit not in ("h", "m"):
        time += f":{second:02}{decimals}"
    return f"{_date(day)}T{time}"


def _date(days: int) -> str:
    """Days since 1970-01-01. An era is 400 years, 146,097 days, and a year is taken to begin with March."""
    days += 719_468
    era, day = divmod(days, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month += 3 if month < 10 else -9
    return f"{year + era * 400 + (month <= 2):04}-{month:02}-{day + 1:02}"


def timedelta_text(count: int, dtype: DtypeRecord) -> str:
    """A duration as numpy prints it."""
    return "NaT" if count == _NAT else f"{count * dtype.multiple} {_WORDS[dtype.unit]}"


def _is_extended(piece: bytes) -> bool:
    """Whether bytes are a number of x86's 80-bit format: its leading bit is written out and must fit the exponent."""
    if len(piece) < _EXTENDED_NBYTES:
        return False
    exponent = (piece[8] | piece[9] << 8) & 0x7FFF
    if not exponent and not any(piece[:8]) and any(piece[14:16]):
        return False  # a zero; but a number of IEEE's 128 bits with few digits, which has its exponent there
    return bool(piece[7] & 0x80) == bool(exponent)


def extended_text(piece: bytes) -> str:
    """A number of x86's 80-bit format in as few digits as tell it from its neighbours."""
    mantissa = int.from_bytes(piece[:8], "little")
    head = piece[8] | piece[9] << 8
    sign, exponent = "-" if head & 0x8000 else "", head & 0x7FFF
    if exponent == 0x7FFF:
        return "nan" if mantissa << 1 & ((1 << 64) - 1) else f"{sign}inf"
    if mantissa == 0:
        return f"{sign}0.0"
    power = max(exponent, 1) - _BIAS - _MANTISSA_BITS + 1
    exact = mantissa * Fraction(2) ** power
    half_step = Fraction(2) ** (power - 1)
    shortest = Decimal(0)
    for digits in range(1, _MOST_DIGITS + 1):
        context = Context(prec=digits, Emin=-10_000, Emax=10_000)
        shortest = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
        if abs(Fraction(shortest) - exact) < half_step:
            break
    return sign + _plain_text(shortest)


def _plain_text(number: Decimal) -> str:
    """As numpy writes it: in full from 1e-4 up to 1e16, else with an exponent."""
    places = number.adjusted()
    if -4 <= places < 16:
        text = format(number, "f")
        return text if "." in text else f"{text}.0"
    head, _, tail = format(number.normalize(Context(prec=30, Emin=-10_000, Emax=10_000)), "e").partition("e")
    return f"{head}e{int(tail):+03}"


def _complex_text(real: str, imaginary: str) -> str:
    joint = "" if imaginary.startswith(("-", "+")) else "+"
    return f"({real}{joint}{imaginary}j)"
