"""A straight line from values to bins, and how far it can be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Line:
    """(v - origin) · factor, whose integer part is a code.

    It rounds, and an edge may lie a rounding beside it. But it rises with v, so all values get their right codes if
    the two values of the domain on either side of every edge do, by more than the rounding: that is tried out for
    each histogram. The origin is a hair too low and the factor a little too small, so that a value equal to an edge
    falls clearly above it, and the last value clearly stays in the last bin.

    Attributes
    ----------
    origin, factor
    by_steps
        Compute as written; else as factor · v - factor · origin, which is one step, where that does not cancel.
    margin
        What rounding can change of a code, whichever way the steps are fused.
    """

    origin: float
    factor: float
    by_steps: bool
    margin: float

    def apply(self, values: Floats) -> None:
        """Replace values by codes before truncation."""
        import torch

        line = torch.from_numpy(values)
        if self.by_steps:
            line.sub_(self.origin).mul_(self.factor)
        else:
            start = torch.tensor(-self.origin * self.factor, dtype=torch.float64)
            torch.add(start, line, alpha=self.factor, out=line)

    def of(self, values: Floats) -> Floats:
        """Codes before truncation, apart from the values."""
        codes = values.copy()
        self.apply(codes)
        return codes


def line_between(low: float, high: float, bins: int, base: int) -> Line | None:
    """The line for equal bins from `low` to `high`, whose first has code `base`; None where float64 has none."""
    width = high - low
    if not 0 < width < math.inf:
        return None
    largest = max(abs(low), abs(high))
    by_steps = largest > 4 * width
    # Fused or not, factor · v differs by half a unit in its last place, and the sum by another; and twice that.
    margin = 2.0**-51 * (bins + 2) * (1 if by_steps else max(largest / width, 1))
    tiny = 4 * margin
    factor = bins / width * (1 - tiny)
    if not 0 < factor < math.inf:
        return None
    # An edge is lowered by up to tiny for each bin, and the last value is tiny / 2 below the end of the last bin.
    origin = low - (base + (bins - 0.5) * tiny) / factor
    return Line(origin, factor, by_steps, margin) if math.isfinite(origin) else None
