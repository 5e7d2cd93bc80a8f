"""The colour maps of values, as tables of 256 entries. No numpy; colours of the theme come in from outside."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal, TypeAlias

from viewer.gui.theme import Tokens

ColourName: TypeAlias = Literal["diverging", "sequential"]

N_COLOURS: Final = 250
"""Entries of a table for finite values; those after it are for the others."""
NAN: Final = 250
POSINF: Final = 251
NEGINF: Final = 252
NOTHING: Final = 253
"""Between kernels, and where there is no element."""

_VIRIDIS: Final = (
    "440154", "481A6C", "472F7D", "414487", "39568C", "31688E", "2A788E", "23888E", "1F988B", "22A884", "35B779",
    "54C568", "7AD151", "A5DB36", "D2E21B", "FDE725",
)  # fmt: skip
"""Sixteen equal steps of matplotlib's viridis, which is even to the eye and safe for the colour-blind."""
_RDBU: Final = (
    "053061", "2166AC", "4393C3", "92C5DE", "D1E5F0", "F7F7F7", "FDDBC7", "F4A582", "D6604D", "B2182B", "67001F",
)  # fmt: skip
"""ColorBrewer's RdBu with blue first: white is the middle."""
_STOPS: Final = {"sequential": _VIRIDIS, "diverging": _RDBU}


@lru_cache(maxsize=8)
def colour_table(name: ColourName, tokens: Tokens) -> tuple[int, ...]:
    """256 colours as 0xAARRGGBB: N_COLOURS along the map, then those of NaN, +inf, -inf and nothing."""
    table = [_along(_STOPS[name], place / (N_COLOURS - 1)) for place in range(N_COLOURS)]
    table += [_opaque(colour) for colour in (tokens.nan, tokens.posinf, tokens.neginf, tokens.base)]
    return (*table, *[_opaque(tokens.base)] * (256 - len(table)))


def levels_of(name: ColourName, low: float, high: float) -> tuple[float, float]:
    """The values of the first and the last colour: symmetric about 0 for a diverging map, and never equal."""
    if name == "diverging":
        most = max(abs(low), abs(high)) or 1.0
        return -most, most
    if low < high:
        return low, high
    half = abs(low) / 2 or 0.5
    return low - half, high + half


def _along(stops: tuple[str, ...], share: float) -> int:
    position = share * (len(stops) - 1)
    first = min(int(position), len(stops) - 2)
    part = position - first
    left, right = int(stops[first], 16), int(stops[first + 1], 16)
    mixed = 0xFF
    for shift in (16, 8, 0):
        a, b = left >> shift & 0xFF, right >> shift & 0xFF
        mixed = mixed << 8 | round(a + (b - a) * part)
    return mixed


def _opaque(colour: str) -> int:
    return 0xFF000000 | int(colour[-6:], 16)
