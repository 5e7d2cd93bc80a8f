"""How names, values and sizes are written in the text reports: one line each, whatever a file puts into them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from typing import Final

_UNITS: Final = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_MAX_DECIMAL_BITS: Final = 14_284  # 4,300 digits, the longest int that Python turns into decimals


def printable(text: str) -> str:
    """The text with every character that does not print written as an escape.

    A file chooses its names; line feeds, terminal control sequences and text-direction marks in them would otherwise
    act on the terminal of the person who only wants to look.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shortened(text: str, length: int) -> str:
    """The text cut to `length` characters, the last an ellipsis where something was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


def plural(count: int, noun: str) -> str:
    """1 tensor, 2 tensors, 1,000 tensors; "entry" becomes "entries", "class" "classes"."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        noun = noun[:-1] + "ie"
    elif noun.endswith("s"):
        noun += "e"
    return f"{whole_number(count)} {noun}s"


def whole_number(value: int) -> str:
    """With thousands separators; a claim too long to write out is given by its size."""
    if value.bit_length() > 200:  # a shape in a hostile file may claim any extent
        return f"about 2^{value.bit_length()}"
    return f"{value:,}"


def size_text(nbytes: int) -> str:
    """A size to the byte, and rounded in units of 1,024 where that helps: 674,977 bytes (659.2 KiB)."""
    exact = plural(nbytes, "byte")
    if nbytes < 1024 or nbytes.bit_length() > 200:
        return exact
    size = float(nbytes)
    for unit in _UNITS:
        size /= 1024
        if size < 1023.95 or unit == _UNITS[-1]:
            break
    return f"{exact} ({size:.1f} {unit})"


def shape_text(shape: Iterable[int]) -> str:
    """64×64×3×3; "scalar" for the shape ()."""
    return (
        "×".join(str(extent) if extent.bit_length() < 200 else whole_number(extent) for extent in shape) or "scalar"
    )


def rounded_number(value: object, digits: int = 6) -> str:
    """A statistic in a column: ints in full, floats to `digits` significant digits, complex by its parts."""
    if isinstance(value, float):
        return f"{value:.{digits}g}" if math.isfinite(value) else repr(value)
    if isinstance(value, complex):
        return f"{value:.{digits}g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return whole_number(value)
    return "-" if value is None else str(value)


def value_text(value: object, length: int = 80) -> str:
    """A plain value as Python prints it, on one line, at most `length` characters."""
    if isinstance(value, (str, bytes, bytearray)):
        # Cut before repr: a value may be hundreds of MB.
        return shortened(printable(repr(value[:length])), length) if len(value) <= length else _head(value, length)
    if isinstance(value, int) and value.bit_length() > _MAX_DECIMAL_BITS:
        return f"an int of {plural(value.bit_length(), 'bit')}"
    return shortened(printable(repr(value)), length)


def _head(value: str | bytes | bytearray, length: int) -> str:
    noun = "character" if isinstance(value, str) else "byte"
    note = f" ({plural(len(value), noun)})"
    return shortened(printable(repr(value[:length])), length - len(note)) + note


def text_values(a: str, b: str, length: int) -> tuple[str, str]:
    """Two texts that differ, as `value_text` writes them; where that would hide in what, from there on."""
    shown = value_text(a, length), value_text(b, length)
    if shown[0] != shown[1] and min(len(a), len(b)) <= length:
        return shown
    same = common_length(a, b)
    if same < length // 2:
        return shown
    start = same - length // 4
    left, right = (shortened(f"…{printable(repr(text[start : start + length]))[1:]}", length) for text in (a, b))
    return left, right


def common_length(a: str, b: str) -> int:
    """How many characters two texts have in common at their beginnings."""
    low, high = 0, min(len(a), len(b))
    while low < high:  # slices are compared hundreds of times faster than characters
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def display_width(text: str) -> int:
    """Columns that the text takes in a terminal: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, width: int) -> str:
    """The text with blanks after it, `width` terminal columns in all."""
    return text + " " * (width - display_width(text))
