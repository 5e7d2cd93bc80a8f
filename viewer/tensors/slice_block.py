"""A block of a slice with every element exact: the task behind a table of values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.errors import LimitExceeded
from viewer.task import Progress, Task
from viewer.tensors.elements import pattern_values
from viewer.tensors.packing import resolve_bits
from viewer.tensors.scratch import Scratch
from viewer.tensors.slice_reader import SliceReader
from viewer.tensors.slice_results import MAX_BLOCK, SliceAxes, ValueBlock

if TYPE_CHECKING:
    import numpy.typing as npt

_AT_ONCE: Final = 1 << 18
"""Elements between two places where the task can be stopped."""


def block_task(
    checkpoint: Checkpoint,
    number: int,
    axes: SliceAxes,
    *,
    first_row: int = 0,
    n_rows: int = MAX_BLOCK,
    first_column: int = 0,
    n_columns: int = MAX_BLOCK,
) -> Task[ValueBlock]:
    """Elements of a slice of a tensor; only the bytes of the block are read, and short gaps between them.

    Raises
    ------
    LimitExceeded
        When the block has more than MAX_BLOCK elements.
    ViewerError, MalformedFile, FileChanged
        As `SliceReader`.
    """
    with SliceReader(checkpoint, checkpoint.tensor(number), axes) as reader:
        rows = _inside(first_row, n_rows, reader.rows)
        columns = _inside(first_column, n_columns, reader.columns)
        total = len(rows) * len(columns)
        if total > MAX_BLOCK:
            raise LimitExceeded(
                f"a block of {len(rows):,} × {len(columns):,} values is too large to show at once",
                path=checkpoint.path,
                advice=f"Ask for at most {MAX_BLOCK:,} values",
            )
        packer = _Packer(reader)
        at_once = max(reader.affordable(_AT_ONCE) // max(len(columns), 1), 1)
        wide = max(reader.affordable(_AT_ONCE), 1)
        scratch = Scratch()
        done = 0
        yield Progress(0, total, "values")
        for top in range(rows.start, rows.stop, at_once):
            some = range(top, min(top + at_once, rows.stop))
            for left in range(columns.start, columns.stop, wide):
                part = range(left, min(left + wide, columns.stop))
                packer.add(reader.units(some, part, scratch), some, part)
                done += len(some) * len(part)
                yield Progress(done, total, "values")
    tensor = reader.tensor
    return ValueBlock(
        number,
        tensor.dtype.name,
        reader.shape,
        axes,
        reader.rows,
        reader.columns,
        rows.start,
        columns.start,
        len(rows),
        len(columns),
        packer.format,
        bytes(packer.data),
        packer.pattern_bits,
        bytes(packer.patterns),
        packer.stored_format,
        bytes(packer.stored),
    )


def _inside(first: int, count: int, extent: int) -> range:
    start = min(max(first, 0), extent)
    return range(start, max(min(first + count, extent), start))


class _Packer:
    """Gathers the elements of a block, rectangle after rectangle, as `ValueBlock` has them."""

    def __init__(self, reader: SliceReader) -> None:
        self._reader = reader
        self.data, self.patterns, self.stored = bytearray(), bytearray(), bytearray()
        tensor, element = reader.tensor, reader.element
        self._name = tensor.dtype.name
        self._flags = tensor.flags
        self.pattern_bits = 8 * tensor.dtype.itemsize // (element.units * element.per_byte)
        self.stored_format = ""
        kind, size = tensor.dtype.kind, tensor.dtype.itemsize
        if kind == "complex":
            self.format = "D" if size == 16 else "F"
        elif kind == "quantized":
            self.format = "f"
            self.stored_format = {"qint8": "b", "qint32": "i"}.get(self._name, "B")
        elif kind == "float" or self._name == "float4_e2m1fn_x2":
            self.format = "d" if size == 8 else "f"
        elif kind == "bool":
            self.format = "?"
        else:
            code = "bhiq"[size.bit_length() - 1]
            self.format = code if kind == "int" else code.upper()

    def add(self, units: npt.NDArray[Any], rows: range, columns: range) -> None:
        """Append a rectangle; `units` may be changed."""
        resolve_bits(units, self._flags, self._reader.tensor.dtype)
        if self.stored_format:
            self._append(self.stored, self._reader.stored_integers(units), self.stored_format)
            self._append(self.patterns, units, units.dtype.str[1:])
            self._append(self.data, self._reader.dequantized(units, rows, columns), "f4")
            return
        if self._name == "complex32":
            self._append(self.data, units, "f4")
            self._append(self.patterns, units, "f2")
        elif self._reader.element.form != "pattern":
            self._append(self.data, units, units.dtype.str[1:])
        else:
            values = pattern_values(self._name)[units]
            code = {"f": "f4", "?": "?"}.get(self.format, self.format)
            self._append(self.data, values, code)
            if self.format not in "bBhH" or not self._is_plain:
                self._append(self.patterns, units, units.dtype.str[1:])

    @property
    def _is_plain(self) -> bool:
        """Whether the values of an integer type are its bits."""
        return self.pattern_bits == 8 * self._reader.element.itemsize and (
            self._reader.tensor.dtype.kind == "bits" or self._name in ("int8", "uint8", "int16", "uint16")
        )

    def _append(self, packed: bytearray, values: npt.NDArray[Any], code: str) -> None:
        import numpy as np

        row = values.astype(np.dtype(code), copy=False)
        if sys.byteorder == "big" and row.itemsize > 1:
            row = row.byteswap()
        packed += row.tobytes()
