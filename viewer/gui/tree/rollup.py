"""Sums over the tensors inside each row: elements, bytes, how many. A tensor with several names counts once."""

from __future__ import annotations

from array import array
from collections.abc import Generator, MutableSequence
from typing import Final

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import NO_STORAGE, numel_of
from viewer.gui.tree.display import DisplayTable
from viewer.task import Progress

_SLICE: Final = 8192

_UNSHARED: Final = 1
_SHARED: Final = 2
_DENSE: Final = 4
"""The tensor has bytes of its own."""


def roll_up_task(table: DisplayTable) -> Generator[Progress, None, None]:
    """Fill `elements`, `nbytes`, `n_tensors` and the rows of tensors of a table whose rows are laid out.

    A tensor's row shows the tensor's own figures, whatever parts it is made of (the indices and values of a sparse
    one). A tensor without a storage has no bytes of its own; there the parts' bytes count.
    """
    sums = _Sums(table)
    yield from sums.fill_own()
    yield from sums.add_upwards()
    yield from sums.add_shared()
    table.elements, table.nbytes, table.n_tensors = (
        _compact(column) for column in (sums.elements, sums.nbytes, sums.n_tensors)
    )
    table.row_of_tensor, table.more_rows = sums.row_of, sums.rows_of


class _Sums:
    def __init__(self, table: DisplayTable) -> None:
        self.table = table
        self.elements = [0] * len(table)
        self.nbytes = [0] * len(table)
        self.n_tensors = [0] * len(table)
        self.tensor = bytearray(len(table))
        """By row: 0 where it shows no tensor, else the flags above."""
        self.rows_of: dict[int, list[int]] = {}
        """By tensor number, of those with several names."""
        self.row_of = array("q", [-1]) * len(table.checkpoint.tensors)
        """By tensor number, its first row."""

    def fill_own(self) -> Generator[Progress, None, None]:
        """The figures of tensor rows, and which of them show the same tensor."""
        table = self.table
        kind, value = table.checkpoint.nodes.kind, table.checkpoint.nodes.value
        tensors, storages = table.checkpoint.tensors, table.checkpoint.storages
        itemsize = [dtype.itemsize for dtype in DTYPES]
        numel: dict[tuple[int, ...], int] = {}
        row_of = self.row_of
        for start in range(0, len(table), _SLICE):
            for row, node in enumerate(table.node[start : start + _SLICE], start):
                if node < 0:
                    continue
                if kind[node] == Kind.TENSOR:
                    number = value[node]
                    assert isinstance(number, int)
                    shape = tensors.shape[number]
                    count = numel.get(shape)
                    if count is None:
                        count = numel[shape] = numel_of(shape)
                    self.elements[row] = count
                    self.n_tensors[row] = 1
                    self.tensor[row] = _UNSHARED
                    if tensors.storage[number] != NO_STORAGE:
                        self.nbytes[row] = count * itemsize[tensors.dtype[number]]
                        self.tensor[row] |= _DENSE
                    first = row_of[number]
                    if first < 0:
                        row_of[number] = row
                    else:
                        self.rows_of.setdefault(number, [first]).append(row)
                elif kind[node] == Kind.STORAGE:
                    storage = value[node]
                    assert isinstance(storage, int)
                    self.nbytes[row] = storages.nbytes[storage]
            yield Progress(start, len(table), "rows")
        for rows in self.rows_of.values():
            for row in rows:
                self.tensor[row] ^= _UNSHARED | _SHARED

    def add_upwards(self) -> Generator[Progress, None, None]:
        """Add each row to its parent, last rows first; tensors with several names are left for `add_shared`."""
        parent_of, tensor = self.table.parent, self.tensor
        elements, nbytes, n_tensors = self.elements, self.nbytes, self.n_tensors
        for stop in range(len(self.table), 1, -_SLICE):
            for row in range(stop - 1, max(stop - _SLICE, 1) - 1, -1):
                if tensor[row] & _SHARED:
                    continue
                parent = parent_of[row]
                above = tensor[parent]
                if not above:
                    elements[parent] += elements[row]
                    n_tensors[parent] += n_tensors[row]
                if not above & _DENSE:
                    nbytes[parent] += nbytes[row]
            yield Progress(stop, len(self.table), "rows")

    def add_shared(self) -> Generator[Progress, None, None]:
        """Add each tensor with several names once to every row that holds one of them."""
        steps = 0
        for rows in self.rows_of.values():
            reached: set[int] = set()
            for row in rows:
                above = self.table.parent[row]
                while above >= 0 and above not in reached and not self.tensor[above]:
                    reached.add(above)
                    self.elements[above] += self.elements[row]
                    self.nbytes[above] += self.nbytes[row]
                    self.n_tensors[above] += 1
                    above = self.table.parent[above]
                    steps += 1
                    if steps % _SLICE == 0:
                        yield Progress(len(self.table), len(self.table), "rows")


def _compact(column: list[int]) -> MutableSequence[int]:
    # 8 bytes a row instead of 8 to 40; a hostile shape may claim more elements than 64 bits hold.
    try:
        return array("q", column)
    except OverflowError:
        return column
