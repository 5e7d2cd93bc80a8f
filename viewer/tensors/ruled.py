"""Histograms by a rule: edges from the statistics, and exact counts between them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from viewer.checkpoint.document import Checkpoint
from viewer.errors import ViewerError
from viewer.task import Result, Task
from viewer.tensors.auto_bins import auto_bins
from viewer.tensors.edge_counts import edge_counts_task
from viewer.tensors.histogram import edges_for, histogram_of
from viewer.tensors.histogram_results import AUTO_BINS, BinRule, RuledHistogram, RuledSummary
from viewer.tensors.results import PartSummary, Statistics
from viewer.tensors.signed_log import signed_log_edges
from viewer.tensors.summary import summarise_task

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]


def ruled_task(checkpoint: Checkpoint, number: int, rule: BinRule, *, device: str = "cpu") -> Task[RuledSummary]:
    """Statistics of a tensor, and histograms with edges by a rule: one of every way to look at it.

    Raises
    ------
    ViewerError
        When the rule makes no edges (bins, range or threshold), or as `summarise_task` raises.
    """
    is_bool = checkpoint.tensor(number).dtype.kind == "bool"
    bins = BinRule().bins if rule.bins == AUTO_BINS else rule.bins
    summary = yield from _part_task(summarise_task(checkpoint, number, device=device, bins=bins), 0, 2)
    ways = [PartSummary(summary.of, summary.statistics, summary.histogram), *summary.parts]
    plans = [edges_by_rule(way.statistics, rule, is_bool=is_bool) for way in ways]
    # Between the edges that every summary has, the values are counted already.
    wanted = [
        None if plan.edges is None or plan.edges.tolist() == way.histogram.edges.tolist() else plan.edges
        for way, plan in zip(ways, plans, strict=True)
    ]
    counted: list[Ints | None] = [None] * len(ways)
    if any(edges is not None for edges in wanted):
        steps = edge_counts_task(checkpoint, number, wanted, device=device)
        counted = yield from _part_task(steps, 2, 1)
    return RuledSummary(summary, tuple(map(_ruled, ways, plans, counted)))


def _ruled(way: PartSummary, plan: Plan, counts: Ints | None) -> RuledHistogram:
    if plan.edges is None or counts is not None:
        histogram = histogram_of(plan.edges, counts, 1, way.statistics, plan.note)
    else:
        histogram = replace(way.histogram, note=plan.note)
    return RuledHistogram(way.name, histogram, plan.rule, plan.threshold)


def _part_task(task: Task[Result], before: int, weight: int) -> Task[Result]:
    """A task as `weight` of three parts of a longer one, `before` of which are done: each is a pass over the tensor.

    Partial results pass through.
    """
    try:
        while True:
            step = next(task)
            # The bytes of one pass: both tasks tell those of all their passes.
            size = step.total // weight
            done = before * size + step.done
            yield replace(step, done=min(done, 3 * size), total=3 * size)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    finally:
        task.close()


class Plan:
    """Edges by a rule.

    Attributes
    ----------
    edges
        None where there are no bins.
    note
        A sentence, or "".
    rule, threshold
        As in `RuledHistogram`.
    """

    __slots__ = ("edges", "note", "rule", "threshold")

    def __init__(self, edges: Floats | None, note: str, rule: str, threshold: float | None = None) -> None:
        self.edges = edges
        self.note = note
        self.rule = rule
        self.threshold = threshold


def edges_by_rule(statistics: Statistics, rule: BinRule, *, is_bool: bool = False) -> Plan:
    """The edges that a rule gives values with these statistics."""
    bins, words = (rule.bins, "") if rule.bins != AUTO_BINS else auto_bins(statistics)
    value_range = rule.value_range
    if value_range is None and rule.percentiles is not None:
        value_range = range_between(statistics, *rule.percentiles)
    if rule.axis == "linear" or is_bool:
        edges, note = edges_for(statistics, bins, value_range, is_bool=is_bool, integer_bins=rule.integer_bins)
        return Plan(edges, note, words or _bins_text(edges))
    low, high = value_range or (statistics.min, statistics.max)
    if low is None or high is None:
        edges, note = edges_for(statistics, bins, None)
        return Plan(edges, note, words or _bins_text(edges))
    edges, note, threshold = signed_log_edges(float(low), float(high), bins, rule.threshold)
    return Plan(edges, note, words or _bins_text(edges), threshold)


def range_between(statistics: Statistics, lower: float, upper: float) -> tuple[float, float] | None:
    """From one quantile to another as far as the statistics have them; None where no value is finite.

    Raises
    ------
    ViewerError
        When the statistics lack one of them, or they are the wrong way round.
    """
    if statistics.min is None or statistics.max is None:
        return None
    known = {0.0: float(statistics.min), 1.0: float(statistics.max)}
    known |= {quantile.fraction: quantile.value for quantile in statistics.quantiles}
    if lower not in known or upper not in known or lower >= upper:
        raise ViewerError(
            f"no range is known from fraction {lower:g} to {upper:g} of the values",
            advice="Choose two of " + ", ".join(f"{fraction:g}" for fraction in sorted(known)),
        )
    return known[lower], known[upper]


def _bins_text(edges: Floats | None) -> str:
    return "no bins" if edges is None else f"{len(edges) - 1:,} bins"
