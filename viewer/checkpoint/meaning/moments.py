"""The state of one parameter: which of its tensors have the parameter's shape, and what shape that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.meaning.look import Look
from viewer.checkpoint.nodes import Key, Kind

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


class ShapeReader:
    """Tells the shapes of many entries; what it has seen of their keys it keeps, for they are the same in all."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._offsets: dict[tuple[Key, ...], tuple[int, ...]] = {}
        self._found: dict[Shape, EntryShape] = {}

    def read(self, node: int) -> EntryShape:
        """The parameter's shape as the state at a node tells it."""
        nodes = self._look.nodes
        start = nodes.first_child[node]
        keys = tuple(nodes.key[start : start + nodes.n_children[node]])
        offsets = self._offsets.get(keys)
        if offsets is None:
            offsets = self._offsets[keys] = tuple(nth for nth, key in enumerate(keys) if key in _MOMENT_SET)
        kinds, numbers, shapes = nodes.kind, self._look.numbers, self._look.tensors.shape
        shape: Shape | None = None
        for offset in offsets:
            child = start + offset
            if kinds[child] != _TENSOR:
                continue
            own = shapes[numbers[child]]
            if shape is None:
                shape = own
            elif own != shape:
                return EntryShape(shape, str(keys[offset]))
        if shape is None:
            return _from_rows_and_columns(self._look, self._look.named(node))
        found = self._found.get(shape)
        if found is None:
            found = self._found[shape] = EntryShape(shape)
        return found


def shape_of_members(look: Look, members: dict[str, int]) -> EntryShape:
    """The same of a state by its members."""
    shapes = {name: shape for name in MOMENTS if (shape := look.shape(members.get(name))) is not None}
    if not shapes:
        return _from_rows_and_columns(look, members)
    first = next(iter(shapes.values()))
    return EntryShape(first, next((name for name, shape in shapes.items() if shape != first), ""))


def _from_rows_and_columns(look: Look, members: dict[str, int]) -> EntryShape:
    for row_name, column_name, keeps in ROWS_AND_COLUMNS:
        row, column = look.shape(members.get(row_name)), look.shape(members.get(column_name))
        if row and column:
            return EntryShape((*row[:-1], column[-1]) if keeps else (*row, column[-1]))
    return _from_others(look, members)


_MOMENT_SET: Final = frozenset(MOMENTS)


def _from_others(look: Look, members: dict[str, int]) -> EntryShape:
    """Of an optimizer that is not known: tensors of more than one element that all have one shape."""
    found = {shape for child in members.values() if (shape := look.shape(child)) not in (None, (), (1,))}
    if len(found) == 1:
        return EntryShape(found.pop())
    return _NOTHING
