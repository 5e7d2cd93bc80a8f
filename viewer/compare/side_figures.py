"""Mean and deviation of both sides of a pair, from pieces that may be read in any number of threads."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from viewer.compare.pair_details import SideFigures

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(slots=True)
class Moments:
    """Count, mean and squared deviations of some values, joined pairwise as Chan, Golub and LeVeque (1979) do, which
    loses nothing where the mean is large against the deviation."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, values: Floats) -> None:
        import numpy as np

        if not values.size:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(np.mean(values))
            deviation = values - mean
            squares = float(np.dot(deviation, deviation))
        self.merge(Moments(values.size, mean, squares, float(values.min()), float(values.max())))

    def merge(self, other: Moments) -> None:
        """Take in the moments of further values."""
        if not other.count:
            return
        count = self.count + other.count
        shift = other.mean - self.mean
        self.squares += other.squares + shift * shift * self.count / count * other.count
        self.mean += shift * other.count / count
        self.count = count
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)

    def figures(self) -> SideFigures:
        if not self.count:
            return SideFigures(0, None, None, None, None)
        # Sums of squares of the largest float64 overflow: then there is no number to show.
        mean = self.mean if math.isfinite(self.mean) else None
        std = math.sqrt(self.squares / self.count) if math.isfinite(self.squares) else None
        return SideFigures(self.count, self.low, self.high, mean, std)


@dataclass(slots=True)
class PairMoments:
    """Of both sides."""

    a: Moments = field(default_factory=Moments)
    b: Moments = field(default_factory=Moments)

    def merge(self, other: PairMoments) -> None:
        self.a.merge(other.a)
        self.b.merge(other.b)

    def figures(self) -> tuple[SideFigures, SideFigures]:
        return self.a.figures(), self.b.figures()
