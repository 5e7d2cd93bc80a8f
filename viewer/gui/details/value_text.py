"""How single elements are written in the table of values: for reading, and exactly. No Qt, no numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from viewer.gui.format import MINUS, format_exact
from viewer.tensors.results import Scalar
from viewer.tensors.slice_results import ValueBlock

Notation: TypeAlias = Literal["auto", "on", "off"]
"""Whether floats are written with an exponent, as `torch.set_printoptions(sci_mode=…)` has it."""

DEFAULT_PRECISION: Final = 4
"""As torch prints: digits after the point."""
_LARGEST_PLAIN: Final = 1e5
_SMALLEST_PLAIN: Final = 1e-4


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """How floats are written; integers are always written in full.

    Attributes
    ----------
    precision
        Digits after the point.
    notation
        "auto" writes an exponent where the point form would lose digits that the exponent form shows, or be long:
        below 1e-4 (and not 0) and from 1e5.
    """

    precision: int = DEFAULT_PRECISION
    notation: Notation = "auto"

    def write(self, value: Scalar) -> str:
        """The value for reading, with a true minus sign."""
        if isinstance(value, bool):
            return "True" if value else "False"
        if isinstance(value, int):
            return f"{value:,}".replace("-", MINUS)
        if isinstance(value, complex):
            imaginary = self._float(value.imag)
            sign = "" if imaginary.startswith((MINUS, "+")) else "+"
            return f"{self._float(value.real)}{sign}{imaginary}j"
        return self._float(value)

    def widest(self, values: Sequence[Scalar]) -> int:
        """Characters that are enough for each of many values of one type, of which only the extremes are written."""
        if not values:
            return 0
        kind = type(values[0])
        if kind is complex:
            parts = [value.real for value in values], [value.imag for value in values]
            return sum(self._widest_float(part) for part in parts) + len("+j")
        if kind is float:
            return self._widest_float([value.real for value in values])
        whole = [int(value.real) for value in values]
        return len("False") if kind is bool else max(len(self.write(end)) for end in (min(whole), max(whole)))

    def _widest_float(self, values: Sequence[float]) -> int:
        sizes = [abs(x) for x in values if x and math.isfinite(x)]
        sign = -1.0 if any(x < 0 for x in values) else 1.0
        # Of the plain forms the largest number's is the longest; of the others, one at either end of the exponents.
        plain = [size for size in sizes if _SMALLEST_PLAIN <= size < _LARGEST_PLAIN]
        longest = [sign * size for some in (sizes, plain) if some for size in (min(some), max(some))]
        return max(len(self._float(x)) for x in (*longest, 0.0, math.nan, -math.inf))

    def _float(self, x: float) -> str:
        if math.isnan(x):
            return "nan"
        if math.isinf(x):
            return "+inf" if x > 0 else f"{MINUS}inf"
        plain = self.notation == "off" or (
            self.notation == "auto" and (x == 0 or _SMALLEST_PLAIN <= abs(x) < _LARGEST_PLAIN)
        )
        if plain:
            return f"{x:,.{self.precision}f}".replace("-", MINUS)
        mantissa, _, exponent = f"{x:.{self.precision}e}".partition("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)


def exact_lines(block: ValueBlock, row: int, column: int) -> list[str]:
    """What there is to say about one element: its index, the exact value, a float's hexadecimal form, the bits."""
    value = block.value(row, column)
    index = ", ".join(str(i) for i in block.axes.index(row, column))
    lines = [f"[{index}]", format_exact(value)]
    if isinstance(value, float):
        lines.append(value.hex())
    elif isinstance(value, complex):
        lines.append(f"{value.real.hex()} {value.imag.hex()}")
    if (stored := block.stored_value(row, column)) is not None:
        lines.append(f"stored integer {stored}")
    lines.append(f"bits {block.hex(row, column)} ({block.dtype})")
    return lines
