"""The figures under a histogram: each with its label, its value and what a hover tells. No Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass

from viewer.gui.format import NO_VALUE, format_count, format_exact, format_number, format_percent
from viewer.tensors.results import Number, Quantile, Statistics


@dataclass(frozen=True, slots=True)
class Figure:
    """One number.

    Attributes
    ----------
    label, shown
        "mean" and "−1.207e−4".
    exact
        As Python writes it: what is hovered and copied; "" where there is no value.
    about
        What the number is, in words.
    warns
        True for counts that deserve a look: NaN and infinities that are there.
    """

    label: str
    shown: str
    exact: str = ""
    about: str = ""
    warns: bool = False

    @property
    def tip(self) -> str:
        return "\n".join(part for part in (self.exact, self.about) if part)


PENDING = "…"
_DIGITS = 6

LABELS = (
    "count", "min", "max", "mean",
    "std", "L2 norm", "zeros", "NaN",
    "+inf", "−inf", "median", "1 – 99 %",
)  # fmt: skip
"""The first figures, which are there for every tensor and of which a summary may follow others."""


def pending_figures() -> list[Figure]:
    """The figures of a tensor whose statistics are not there yet."""
    return [Figure(label, PENDING) for label in LABELS]


def unknown_figures() -> list[Figure]:
    """The figures of a tensor whose statistics will not come."""
    return [Figure(label, NO_VALUE, "", "not computed") for label in LABELS]


def figures(statistics: Statistics, shape: tuple[int, ...]) -> list[Figure]:
    """The figures of a tensor, in the order to show them.

    Parameters
    ----------
    shape
        Of the tensor, to tell where an extreme lies.
    """
    s = statistics
    none = "there is no finite value" if s.finite == 0 else "not computed"
    quantiles = {quantile.fraction: quantile for quantile in s.quantiles}
    digits = _digits_to_tell_apart(s)
    rows = [
        _count("count", s.count, "all elements"),
        _value("min", s.min, _where("smallest finite value", s.argmin, shape), none, digits),
        _value("max", s.max, _where("largest finite value", s.argmax, shape), none, digits),
        _value("mean", s.mean, "mean of the finite values", none, digits),
        _value("std", s.std, _std_words(s), none),
        _value("L2 norm", s.l2, "square root of the sum of squares of the finite values", none),
        _count("zeros", s.zeros, f"equal to 0, −0.0 among them: {format_percent(s.zeros, s.count)}"),
        _count("NaN", s.nan, _where("not a number", s.first_nan, shape), warns=s.nan > 0),
        _count("+inf", s.posinf, "positive infinity", warns=s.posinf > 0),
        _count("−inf", s.neginf, "negative infinity", warns=s.neginf > 0),
    ]
    if 0.5 in quantiles:
        rows.append(_quantile("median", quantiles[0.5], digits))
    if 0.01 in quantiles and 0.99 in quantiles:
        rows.append(_quantile_pair(quantiles[0.01], quantiles[0.99], max(3, digits - 3)))
    rows += [_quantile(f"{100 * f:g} %", q, digits) for f, q in quantiles.items() if f not in (0.01, 0.5, 0.99)]
    if s.l1 is not None:
        rows.append(_value("L1 norm", s.l1, "sum of |x| over the finite values", none))
    if s.mean_abs is not None:
        rows.append(_value("mean |x|", s.mean_abs, "mean of |x| over the finite values", none))
    rows.append(_count("negative", s.negative, f"finite values below 0: {format_percent(s.negative, s.count)}"))
    if s.denormal:
        rows.append(_count("denormal", s.denormal, "not zero, but below the smallest normal number of the dtype"))
    if s.distinct is not None:
        rows.append(_count("distinct", s.distinct, "different finite values"))
    return rows


def as_tsv(rows: list[Figure]) -> str:
    """All figures, one a line: label, tab, exact value."""
    return "".join(f"{row.label}\t{row.exact}\n" for row in rows)


def index_of(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of an element from its place in row-major order."""
    index: list[int] = []
    for extent in reversed(shape):
        flat, place = divmod(flat, extent)
        index.append(place)
    return tuple(reversed(index))


def _count(label: str, n: int, about: str, *, warns: bool = False) -> Figure:
    return Figure(label, format_count(n), format_exact(n), about, warns)


def _value(label: str, value: Number | None, about: str, none: str, digits: int = _DIGITS) -> Figure:
    if value is None:
        return Figure(label, NO_VALUE, "", none)
    return Figure(label, format_number(value, digits), format_exact(value), about)


def _digits_to_tell_apart(s: Statistics) -> int:
    """Significant digits for values that lie close together and far from 0; else the usual ones."""
    if s.min is None or s.max is None or s.min == s.max:
        return _DIGITS
    share = (s.max / 2 - s.min / 2) / max(abs(s.min), abs(s.max))
    return _DIGITS if share <= 0 else max(_DIGITS, min(17, 3 - math.floor(math.log10(share))))


def _std_words(s: Statistics) -> str:
    sample = "needs two finite values" if s.std_sample is None else format_exact(s.std_sample)
    return f"population standard deviation (divisor n)\nsample (divisor n − 1): {sample}"


def _where(words: str, flat: int | None, shape: tuple[int, ...]) -> str:
    if flat is None or not shape:
        return words
    return f"{words}, first at {list(index_of(flat, shape))}"


def _quantile(label: str, quantile: Quantile, digits: int) -> Figure:
    about = f"{100 * quantile.fraction:g} % of the finite values lie below"
    if not quantile.error:
        return Figure(label, format_number(quantile.value, digits), format_exact(quantile.value), about)
    return Figure(
        label,
        f"≈ {format_number(quantile.value, digits)}",
        format_exact(quantile.value),
        f"± {format_exact(quantile.error)}\n{about}",
    )


def _quantile_pair(low: Quantile, high: Quantile, digits: int) -> Figure:
    near = "≈ " if low.error or high.error else ""
    about = "98 % of the finite values lie between"
    if near:
        about = f"± {format_exact(low.error)} and ± {format_exact(high.error)}\n{about}"
    return Figure(
        "1 – 99 %",
        f"{near}{format_number(low.value, digits)} … {format_number(high.value, digits)}",
        f"{format_exact(low.value)} … {format_exact(high.value)}",
        about,
    )
