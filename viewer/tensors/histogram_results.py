"""Histograms by a rule, and of several tensors on the same edges: plain data, without numpy or torch."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Literal, TypeAlias

from viewer.tensors.results import Histogram, TensorSummary

AUTO_BINS = 0
"""As a number of bins: as many as the automatic rule says."""

AxisName: TypeAlias = Literal["linear", "signed log"]


@dataclass(frozen=True, slots=True)
class BinRule:
    """Which edges a histogram has.

    Attributes
    ----------
    bins
        How many; AUTO_BINS for numpy's "auto" rule: the more of Sturges' and Freedman and Diaconis' numbers.
    axis
        "linear": equal bins. "signed log": equal on s(x) = sign(x) · ln(1 + |x| / threshold), which is straight about
        0 and logarithmic far from it.
    threshold
        Of the signed logarithm; None for the one that `viewer.tensors.signed_log.threshold_of` chooses.
    integer_bins
        Whether integers have one bar each, or bars of equally many of them (on the linear axis, over the full range).
    value_range
        First and last edge; None for the whole range, or by `percentiles`.
    percentiles
        First and last edge as fractions (0.01 and 0.99 for the range without the outermost hundredths): quantiles of
        the statistics, among `viewer.tensors.quantiles.FRACTIONS`, 0 and 1.
    """

    bins: int = 256
    axis: AxisName = "linear"
    threshold: float | None = None
    integer_bins: bool = True
    value_range: tuple[float, float] | None = None
    percentiles: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class RuledHistogram:
    """One histogram and how its edges came about.

    Attributes
    ----------
    name
        What it is of, as in `TensorSummary.of` and `PartSummary.name`.
    rule
        In words: "Freedman–Diaconis, 143 bins".
    threshold
        Of a signed logarithm; None on a linear axis.
    """

    name: str
    histogram: Histogram
    rule: str
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class RuledSummary:
    """A summary with histograms by a rule.

    Attributes
    ----------
    summary
        Of the tensor; its own histograms have equal bins over the full range.
    histograms
        By the rule: first that of the summary's main values, then of its parts.
    """

    summary: TensorSummary
    histograms: tuple[RuledHistogram, ...]


@dataclass(frozen=True, slots=True)
class SharedHistograms:
    """Several tensors on the same edges.

    Attributes
    ----------
    edges
        Empty where no tensor has a finite value.
    summaries
        In the order asked for. Each `histogram` is on the edges, or has none and a note; `parts` are as they were.
    problems
        By tensor number: why its values cannot be read; it has no summary.
    rule, threshold
        As in `RuledHistogram`.
    """

    edges: array[float]
    summaries: list[TensorSummary]
    problems: dict[int, str]
    rule: str
    threshold: float | None = None
