"""The state of one parameter: which of its tensors have the parameter's shape, and what shape that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.nodes import Kind

Shape = tuple[int, ...]

MOMENTS: Final = (
    "exp_avg",
    "exp_avg_sq",
    "momentum_buffer",
    "square_avg",
    "sum",
    "exp_inf",
    "max_exp_avg_sq",
    "acc_delta",
    "grad_avg",
    "ax",
    "prev",
    "step_size",
    "variance",
    "exp_avg_var",
    "exp_avg_diff",
    "exp_avg_sq_hessian",
    "hessian",
    "z",
    "p0",
    "s",
    "state1",
    "state2",
    "master_param",
    "fp32_param",
)
"""Tensors of the parameter's shape, element by element, by the names that optimizers give them (torch/optim/*.py,
apex, bitsandbytes, timm, Lion, Prodigy, schedule-free)."""

ROWS_AND_COLUMNS: Final = (("row_var", "col_var", True), ("exp_avg_sq_row", "exp_avg_sq_col", False))
"""Factored second moments: of torch (torch/optim/_adafactor.py keeps the reduced dimension as 1) and of transformers
(transformers/optimization.py drops it)."""

_TENSOR: Final = int(Kind.TENSOR)


@dataclass(frozen=True, slots=True)
class EntryShape:
    """What the state of one entry tells of its parameter.

    Attributes
    ----------
    shape
        The parameter's shape; None where no tensor tells it.
    odd
        The name of a moment that has another shape than the first; "" where all agree.
    """

    shape: Shape | None
    odd: str = ""


_NOTHING: Final = EntryShape(None)


def entry_shape(look: Look, node: int) -> EntryShape:
    """The parameter's shape as the state at a node tells it."""
    nodes = look.nodes
    children = nodes.children(node)
    start = children.start
    keys = nodes.key[start : children.stop]
    kinds = nodes.kind
    shapes = look.tensors.shape
    values = look.numbers
    shape: Shape | None = None
    for key, child in zip(keys, children, strict=True):
        if kinds[child] == _TENSOR and key in _MOMENT_SET:
            own = shapes[values[child]]
            if shape is None:
                shape = own
            elif own != shape:
                return EntryShape(shape, str(key))
    if shape is not None:
        return EntryShape(shape)
    members = look.named(node)
    for row_name, column_name, keeps in ROWS_AND_COLUMNS:
        row, column = look.shape(members.get(row_name)), look.shape(members.get(column_name))
        if row and column:
            whole = (*row[:-1], column[-1]) if keeps else (*row, column[-1])
            return EntryShape(whole)
    return _from_others(look, members)


_MOMENT_SET: Final = frozenset(MOMENTS)


def _from_others(look: Look, members: dict[str, int]) -> EntryShape:
    """Of an optimizer that is not known: tensors of more than one element that all have one shape."""
    found = {shape for child in members.values() if (shape := look.shape(child)) not in (None, (), (1,))}
    if len(found) == 1:
        return EntryShape(found.pop())
    return _NOTHING
