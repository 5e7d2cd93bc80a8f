"""Several tensors side by side: their statistics, and their histograms on the same edges."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.errors import DeviceProblem, FileChanged, ViewerError
from viewer.task import Progress, Result, Task
from viewer.tensors.edge_counts import edge_counts_task
from viewer.tensors.histogram import histogram_of
from viewer.tensors.histogram_results import BinRule, SharedHistograms
from viewer.tensors.results import Statistics, TensorSummary
from viewer.tensors.ruled import edges_by_rule
from viewer.tensors.summary import summarise_task

MAX_TENSORS: Final = 12
"""More curves than that cannot be told apart."""


def many_task(
    checkpoint: Checkpoint, numbers: Sequence[int], rule: BinRule, *, device: str = "cpu"
) -> Task[SharedHistograms]:
    """Statistics of several tensors, and histograms of their main values on edges that fit all of them.

    Raises
    ------
    ViewerError
        For more than MAX_TENSORS, or as `ruled_task`; a tensor that cannot be read is among the `problems`.
    """
    wanted = list(dict.fromkeys(numbers))
    if len(wanted) > MAX_TENSORS:
        raise ViewerError(
            f"{len(wanted):,} tensors are too many to lay over each other", advice=f"Choose at most {MAX_TENSORS}"
        )
    total = sum(_nbytes(checkpoint, number) for number in wanted)
    summaries: list[TensorSummary] = []
    problems: dict[int, str] = {}
    done = 0
    yield Progress(0, 3 * total)
    for number in wanted:
        try:
            steps = summarise_task(checkpoint, number, device=device)
            summaries.append((yield from _part_task(steps, done, 3 * total)))
        except (DeviceProblem, FileChanged):
            raise
        except ViewerError as error:
            problems[number] = error.fault
        done += 2 * _nbytes(checkpoint, number)
    plan = edges_by_rule(_joined([summary.statistics for summary in summaries]), rule)
    if plan.edges is None:
        return SharedHistograms(array("d"), summaries, problems, plan.rule)
    shared: list[TensorSummary] = []
    for summary in summaries:
        edges = [plan.edges if summary.statistics.finite else None, *[None] * len(summary.parts)]
        steps_of_counts = edge_counts_task(checkpoint, summary.number, edges, device=device)
        counts, *_ = yield from _part_task(steps_of_counts, done, 3 * total)
        histogram = histogram_of(edges[0], counts, 1, summary.statistics, summary.histogram.note)
        shared.append(replace(summary, histogram=histogram))
        done += _nbytes(checkpoint, summary.number)
    return SharedHistograms(array("d", plan.edges.tolist()), shared, problems, plan.rule, plan.threshold)


def _nbytes(checkpoint: Checkpoint, number: int) -> int:
    tensor = checkpoint.tensor(number)
    return min(tensor.nbytes, tensor.storage.nbytes) if tensor.storage is not None else 0


def _part_task(task: Task[Result], done: int, total: int) -> Task[Result]:
    """A task as a part of a longer one."""
    try:
        while True:
            step = next(task)
            yield Progress(min(done + step.done, total), total)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    finally:
        task.close()


def _joined(all_statistics: Sequence[Statistics]) -> Statistics:
    """What the rules look at, of all values together; the quartiles are those of the tensor with the most values,
    since those of the union are not known."""
    finite = [statistics for statistics in all_statistics if statistics.finite]
    if not finite:
        return Statistics(sum(statistics.count for statistics in all_statistics), 0)
    lows = [statistics.min for statistics in finite if statistics.min is not None]
    highs = [statistics.max for statistics in finite if statistics.max is not None]
    largest = max(finite, key=_finite_of)
    low, high = min(lows), max(highs)
    if any(isinstance(end, float) for end in (*lows, *highs)):
        low, high = float(low), float(high)
    return Statistics(
        count=sum(statistics.count for statistics in all_statistics),
        finite=sum(statistics.finite for statistics in finite),
        min=low,
        max=high,
        quantiles=largest.quantiles,
    )


def _finite_of(statistics: Statistics) -> int:
    return statistics.finite
