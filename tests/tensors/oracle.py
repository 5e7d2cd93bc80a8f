"""What the statistics of some numbers are, computed the slow and simple way in exact arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from viewer.tensors.results import Histogram, Statistics

Number = int | float


def nearest_float(exact: Fraction) -> float:
    """The float64 nearest to a fraction (division of ints rounds correctly); inf beyond the largest."""
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def root(exact: Fraction) -> float:
    """The float64 nearest to a square root, but for a last bit in rare ties."""
    shift = 1 << 2400
    return nearest_float(Fraction(math.isqrt(exact.numerator * shift * shift // exact.denominator), shift))


def ulps(found: float | int | None, wanted: float | int) -> float:
    """How far two numbers are apart, in units in the last place of the wanted one."""
    assert found is not None
    if wanted == found:
        return 0.0
    if math.isinf(wanted) or math.isinf(found):
        return 0.0 if found == wanted else math.inf
    return abs(Fraction(found) - Fraction(wanted)) / Fraction(math.ulp(float(wanted)))


def check_statistics(
    found: Statistics, values: Sequence[Number], *, smallest_normal: float = 0.0, exact: bool
) -> None:
    """Compare with the numbers in logical order; every count, extreme and position must be equal.

    Parameters
    ----------
    exact
        True where mean and std must be the nearest float64, else within 1 and 2 units in the last place.
    """
    finite = [value for value in values if math.isfinite(value)]
    assert found.count == len(values)
    assert found.finite == len(finite)
    assert found.nan == sum(1 for value in values if math.isnan(value))
    assert found.posinf == sum(1 for value in values if value == math.inf)
    assert found.neginf == sum(1 for value in values if value == -math.inf)
    assert found.zeros == sum(1 for value in finite if value == 0)
    assert found.negative == sum(1 for value in finite if value < 0)
    assert found.denormal == sum(1 for value in finite if 0 < abs(value) < smallest_normal)
    assert found.first_nan == next((at for at, value in enumerate(values) if math.isnan(value)), None)
    if not finite:
        for name in ("min", "max", "mean", "std", "std_sample", "l1", "l2", "mean_abs", "argmin", "argmax"):
            assert getattr(found, name) is None, name
        return
    low, high = min(finite), max(finite)
    assert (found.min, found.max) == (low, high)
    assert type(found.min) is type(low)
    assert found.argmin == values.index(low)
    assert found.argmax == values.index(high)
    count = len(finite)
    parts = [Fraction(value) for value in finite]
    total, absolute, squares = sum(parts), sum(abs(part) for part in parts), sum(part * part for part in parts)
    deviation = squares - Fraction(total) ** 2 / count
    assert ulps(found.mean, nearest_float(Fraction(total) / count)) <= (0 if exact else 1)
    assert ulps(found.mean_abs, nearest_float(Fraction(absolute) / count)) <= (0 if exact else 1)
    assert ulps(found.std, root(deviation / count)) <= (0 if exact else 2)
    assert ulps(found.l2, root(Fraction(squares))) <= (0 if exact else 2)
    if count > 1:
        assert ulps(found.std_sample, root(deviation / (count - 1))) <= (0 if exact else 2)
    else:
        assert found.std_sample is None
    if isinstance(low, int):
        assert found.l1 == absolute
        assert type(found.l1) is int
    else:
        assert ulps(found.l1, nearest_float(Fraction(absolute))) <= (0 if exact else 1)


def check_histogram(found: Histogram, values: Sequence[Number] | np.ndarray, bins: int) -> None:
    """Compare edges and counts with `numpy.histogram` over the finite values as float64."""
    floats = np.asarray(values, dtype=np.float64)
    floats = floats[np.isfinite(floats)]
    assert found.total == floats.size
    if not floats.size:
        assert len(found.edges) == 0
        assert len(found.counts) == 0
        assert found.note
        return
    if floats.min() == floats.max() and abs(floats[0]) >= 2.0**49:
        return  # numpy.histogram raises "Too many bins for data range"
    counts, edges = np.histogram(floats, bins)
    assert list(found.edges) == edges.tolist()
    assert list(found.counts) == counts.tolist()
    assert (found.underflow, found.overflow) == (0, 0)
