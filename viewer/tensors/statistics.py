"""Statistics from the facts that the passes found."""

from __future__ import annotations

from dataclasses import replace

from viewer.tensors.exact import UNIT_BITS
from viewer.tensors.moments import Facts
from viewer.tensors.results import Number, Quantile, Statistics


def statistics_of(
    facts: Facts,
    count: int,
    copies: int,
    *,
    is_integer: bool,
    distinct: int | None = None,
    quantiles: tuple[Quantile, ...] = (),
) -> Statistics:
    """Statistics from the facts of elements that are each shown `copies` times.

    Parameters
    ----------
    count
        All elements of the tensor.
    """
    moments = facts.moments.times(copies)
    finite = moments.count
    l1: Number | None = None
    if finite:
        l1 = moments.absolute >> UNIT_BITS if is_integer else moments.l1
    return Statistics(
        count=count,
        finite=finite,
        nan=facts.nan * copies,
        posinf=facts.posinf * copies,
        neginf=facts.neginf * copies,
        zeros=facts.zeros * copies,
        min=facts.min,
        max=facts.max,
        mean=moments.mean,
        std=moments.std,
        std_sample=moments.std_sample,
        l1=l1,
        l2=moments.l2 if finite else None,
        mean_abs=moments.mean_abs,
        negative=facts.negative * copies,
        denormal=facts.denormal * copies,
        argmin=facts.argmin,
        argmax=facts.argmax,
        first_nan=facts.first_nan,
        distinct=distinct,
        quantiles=quantiles,
    )


def with_places(facts: Facts, places: Facts) -> Facts:
    """The facts with the positions of others."""
    return replace(facts, argmin=places.argmin, argmax=places.argmax, first_nan=places.first_nan)
