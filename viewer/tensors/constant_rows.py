"""How many rows of a weight hold one value throughout: units that are dead, or were never trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from viewer.checkpoint.tensors import numel_of
from viewer.task import Progress, Task
from viewer.tensors.elements import pattern_values
from viewer.tensors.layout import Block, storage_order
from viewer.tensors.scratch import Scratch
from viewer.tensors.source import ElementSource

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_SAMPLE: Final = 16
"""Elements of each row that are looked at first; trained rows differ among those."""

_MAX_ROWS: Final = 1 << 20
"""A sample of one row costs some microseconds."""

_ROWS_AT_ONCE: Final = 4096
"""Rows of a sample between two places where the task can be stopped: each may be a read."""

_AT_ONCE: Final = 1 << 18
"""Elements between two places where the task can be stopped."""


def constant_rows_task(source: ElementSource) -> Task[int | None]:
    """The number of rows (indexes of the first axis) of a float tensor whose elements are finite and all equal.

    0.0 and -0.0 are equal. A few elements of each row are read, and all of those where they are equal. None where
    rows mean nothing (fewer than two dimensions, or than two elements in a row, no float type), where elements are
    shown repeatedly, or where that would take long.
    """
    import numpy as np

    tensor = source.tensor
    layout = _rows_of(source)
    if layout is None:
        return None
    rows, count, stride, step = layout
    scratch = Scratch()
    sample = min(count, _SAMPLE)
    suspects: list[int] = []
    at_once = min(max(_AT_ONCE // sample, 1), _ROWS_AT_ONCE)
    for top in range(0, rows, at_once):
        height = min(at_once, rows - top)
        block = Block(0, tensor.storage_offset + top * stride, (height, sample), (stride, step))
        suspects += (np.flatnonzero(_is_constant(source, block, scratch)) + top).tolist()
        yield Progress(top + height, rows, "rows")
    if sample == count:
        return len(suspects)
    found = 0
    for first, height in _runs(suspects, max(_AT_ONCE // count, 1)):
        if count <= _AT_ONCE:
            block = Block(0, tensor.storage_offset + first * stride, (height, count), (stride, step))
            found += int(np.count_nonzero(_is_constant(source, block, scratch)))
            yield Progress(first, rows, "rows")
        else:
            found += yield from _long_row_task(source, tensor.storage_offset + first * stride, count, step)
    return found


def _rows_of(source: ElementSource) -> tuple[int, int, int, int] | None:
    """The number of rows, the elements of each, and the strides of both."""
    tensor = source.tensor
    if tensor.dtype.kind != "float" or len(tensor.shape) < 2 or source.order is None or source.order.copies != 1:
        return None
    rows, count = tensor.shape[0], numel_of(tensor.shape[1:])
    # Which element of a row comes first does not matter.
    inner = storage_order(Block(0, 0, tensor.shape[1:], tensor.stride[1:]))
    if not 0 < rows <= _MAX_ROWS or count < 2 or inner is None or len(inner.block.shape) != 1:
        return None
    return rows, count, tensor.stride[0], inner.block.stride[0]


def _values(source: ElementSource, block: Block, scratch: Scratch) -> npt.NDArray[Any]:
    units = source.read(block, scratch)
    if source.element.form == "pattern":
        values: npt.NDArray[Any] = pattern_values(source.tensor.dtype.name)[units]
        return values
    return units


def _is_constant(source: ElementSource, block: Block, scratch: Scratch) -> npt.NDArray[np.bool_]:
    """For each row of a 2-D block whether its elements are finite and equal."""
    import numpy as np

    values = _values(source, block, scratch).reshape(block.shape)
    same: npt.NDArray[np.bool_] = np.isfinite(values[:, 0]) & (values == values[:, :1]).all(axis=1)
    return same


def _long_row_task(source: ElementSource, offset: int, count: int, step: int) -> Task[int]:
    """1 when a row is constant, else 0; read until it is known."""
    scratch = Scratch()
    at_once = source.affordable(_AT_ONCE, logical=True)
    first: Any = None
    for start in range(0, count, at_once):
        block = Block(0, offset + start * step, (min(at_once, count - start),), (step,))
        values = _values(source, block, scratch)
        first = values[0].item() if first is None else first
        if not (values == first).all():
            return 0
        yield Progress(start, count, "values")
    return 1


def _runs(rows: list[int], longest: int) -> list[tuple[int, int]]:
    """Consecutive rows as (first, count), at most `longest` of them in one."""
    runs: list[tuple[int, int]] = []
    for row in rows:
        if runs and row == sum(runs[-1]) and runs[-1][1] < longest:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((row, 1))
    return runs
