"""Checks that read values: non-finite ones, and optimizer states that contradict themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.meaning.results import OptimizerFacts, Recognition
from viewer.checkpoint.nodes import Kind
from viewer.checks.results import MAX_NODES, Finding, counted
from viewer.tensors.brief import TensorBrief

NON_FINITE: Final = "non-finite values"
STEP_ZERO: Final = "step 0 with non-zero moments"
NEGATIVE: Final = "negative second moments"
STUCK: Final = "steps that cannot count on"
CHECKS: Final = (NON_FINITE, STEP_ZERO, NEGATIVE, STUCK)

SECOND_MOMENTS: Final = frozenset(
    {
        "exp_avg_sq", "max_exp_avg_sq", "square_avg", "sum", "acc_delta", "exp_inf", "variance", "row_var", "col_var",
        "exp_avg_sq_row", "exp_avg_sq_col", "exp_avg_var",
    }
)  # fmt: skip
"""Sums and means of squares (torch/optim/*.py, transformers' Adafactor): never below 0."""

_MOMENTS: Final = SECOND_MOMENTS | {"exp_avg", "momentum_buffer"}
_LARGEST_STEP: Final = {"bfloat16": 256, "float16": 2048}
"""The first whole numbers to which adding 1 changes nothing."""
_VALUE_KINDS: Final = ("float", "complex", "quantized")
_SHOWN: Final = 3


def tensors_to_read(checkpoint: Checkpoint) -> list[int]:
    """Numbers of the tensors whose values the checks look at: all but integers."""
    tensors = checkpoint.tensors
    with_values = [dtype.kind in _VALUE_KINDS for dtype in DTYPES]
    return [
        number
        for number in range(len(tensors))
        if with_values[tensors.dtype[number]] and tensors.storage[number] >= 0 and number not in tensors.layout
    ]


def value_findings(
    checkpoint: Checkpoint, recognition: Recognition, briefs: Mapping[int, TensorBrief]
) -> list[Finding]:
    """All findings of this module, from the numbers of `tensors_to_read`."""
    look = Look(checkpoint)
    found = list(_non_finite(look, briefs))
    for optimizer in recognition.optimizers:
        found += _optimizer(look, optimizer, briefs)
    return found


def _non_finite(look: Look, briefs: Mapping[int, TensorBrief]) -> Iterator[Finding]:
    numbers = {number for number, brief in briefs.items() if brief.nan or brief.inf}
    if not numbers:
        return
    nodes = [
        node for node, kind in enumerate(look.nodes.kind) if kind == Kind.TENSOR and look.numbers[node] in numbers
    ]
    listed = "; ".join(f"{look.path(node)} ({_count_text(briefs[look.numbers[node]])})" for node in nodes[:_SHOWN])
    yield Finding(
        NON_FINITE,
        "error",
        f"{counted(len(nodes), 'tensor holds', 'tensors hold')} NaN or infinite values: "
        f"{listed}{' …' if len(nodes) > _SHOWN else ''}",
        "Go back to a checkpoint from before they appeared; training on from here stays NaN",
        tuple(nodes[:MAX_NODES]),
        len(nodes),
    )


def _count_text(brief: TensorBrief) -> str:
    parts = [f"{brief.nan:,} NaN"] if brief.nan else []
    if brief.inf:
        parts.append(f"{brief.inf:,} infinite")
    return f"{' and '.join(parts)} of {brief.count:,}"


def _optimizer(look: Look, optimizer: OptimizerFacts, briefs: Mapping[int, TensorBrief]) -> Iterator[Finding]:
    at_zero: list[int] = []
    negative: list[int] = []
    stuck: list[int] = []
    stuck_at = ""
    for entry in range(len(optimizer.entries)):
        members = look.state_of(optimizer.entries, entry)
        if not members:
            continue
        state = optimizer.entries.state[entry]
        if state < 0:
            state = next(iter(members.values()))
        step = _number(look, members.get("step"), briefs)
        moments = {
            name: brief
            for name, node in members.items()
            if name in _MOMENTS and (brief := briefs.get(_tensor(look, node))) is not None and brief.problem is None
        }
        if step == 0 and any(brief.zeros < brief.count for brief in moments.values()):
            at_zero.append(state)
        negative += [members[name] for name, brief in moments.items() if name in SECOND_MOMENTS and brief.negative]
        if "step" in members and (number := look.tensor(members["step"])) is not None:
            dtype = DTYPES[look.tensors.dtype[number]].name
            if dtype in _LARGEST_STEP and isinstance(step, (int, float)) and step >= _LARGEST_STEP[dtype]:
                stuck.append(members["step"])
                stuck_at = f"above {_LARGEST_STEP[dtype]:,} in {dtype}"
    if at_zero:
        yield Finding(
            STEP_ZERO,
            "error",
            f"{counted(len(at_zero), 'entry has', 'entries have')} step 0 and moments that are not zero, the first "
            f"{look.path(at_zero[0])}: bias correction would blow the next update up",
            "Set step to the number of steps that were made, or start the optimizer anew",
            tuple(at_zero[:MAX_NODES]),
            len(at_zero),
        )
    if negative:
        yield Finding(
            NEGATIVE,
            "error",
            f"{counted(len(negative), 'second moment holds', 'second moments hold')} values below 0, the first "
            f"{look.path(negative[0])}: their square root is NaN",
            "The state is damaged: go back to an earlier checkpoint or start the optimizer anew",
            tuple(negative[:MAX_NODES]),
            len(negative),
        )
    if stuck:
        yield Finding(
            STUCK,
            "warning",
            f"{counted(len(stuck), 'step', 'steps')} cannot count {stuck_at}, the first {look.path(stuck[0])}",
            "Keep step in float32: convert it before training goes on",
            tuple(stuck[:MAX_NODES]),
            len(stuck),
        )


def _tensor(look: Look, node: int) -> int:
    number = look.tensor(node)
    return -1 if number is None else number


def _number(look: Look, node: int | None, briefs: Mapping[int, TensorBrief]) -> object:
    """A plain number, or the value of a tensor of one element."""
    if node is None:
        return None
    number = look.tensor(node)
    if number is None:
        return look.number(node)
    brief = briefs.get(number)
    return None if brief is None else brief.value
