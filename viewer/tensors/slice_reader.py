"""Rectangles of a 2-D slice of any tensor: the stored bits of their elements, and those as numbers."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import dtype_named
from viewer.checkpoint.tensors import TensorFlag, TensorRef, contiguous_stride
from viewer.errors import LimitExceeded, ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.tensors.decode import Decoder, decoder_of
from viewer.tensors.elements import Element, pattern_values
from viewer.tensors.layout import Block
from viewer.tensors.quantized import Quantizer, quantizer_of
from viewer.tensors.scratch import Scratch
from viewer.tensors.slice_results import SliceAxes, value_shape
from viewer.tensors.source import GAP_NBYTES, ElementSource

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

_MAX_EXTENT: Final = (1 << 63) - 1
"""Entries of an axis; one of a tensor without elements may claim more."""

_SPAN_RATIO: Final = 4
"""A span of packed values is read in one go when it is at most so many times as long as what is needed of it."""


class SliceReader:
    """Reads rectangles of one slice. A context manager; any number of threads may read.

    Attributes
    ----------
    shape
        Of the tensor, in values.
    rows, columns
        Of the slice.
    of
        What `numbers` gives: "value", "magnitude" (complex), "dequantized value" or "bits".

    Raises
    ------
    ViewerError
        When the axes are none of the tensor's, or an index is outside.
    MalformedFile, FileChanged, LimitExceeded
        When the values cannot be read.
    """

    def __init__(self, checkpoint: Checkpoint, tensor: TensorRef, axes: SliceAxes) -> None:
        self.tensor = tensor
        self.axes = axes
        self.shape = value_shape(tensor)
        _check_axes(axes, self.shape)
        self._start = axes.index(0, 0)
        # Beside an axis without entries, a slice at its index 0 has no elements.
        chosen = axes.row_axis, axes.column_axis
        most = int(all(extent for axis, extent in enumerate(self.shape) if axis not in chosen))
        self.rows = most if axes.row_axis is None else self.shape[axes.row_axis] * most
        self.columns = most if axes.column_axis is None else self.shape[axes.column_axis] * most
        self._reader = StorageReader(checkpoint)
        try:
            self._source = ElementSource(checkpoint, tensor, reader=self._reader)
            self.element: Element = self._source.element
            if self.element.per_byte > 1:
                self._bytes = ElementSource(checkpoint, _storage_bytes(tensor), reader=self._reader)
            self.quantizer: Quantizer | None = None
            if tensor.dtype.kind == "quantized":
                self.quantizer = quantizer_of(checkpoint, tensor)
        except BaseException:
            self._reader.close()
            raise
        self._decoder: Decoder | None = None
        if self.element.form == "complex":
            self._decoder = decoder_of(tensor.dtype, tensor.flags)
        self.of = (
            "magnitude"
            if self.element.form == "complex"
            else "dequantized value"
            if self.quantizer is not None
            else "bits"
            if tensor.dtype.kind == "bits" and self.element.is_integer
            else "value"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._reader.close()

    def at(self, fixed: tuple[int, ...]) -> SliceReader:
        """The reader of the slice at other indexes along the other axes; it is good as long as this one is open."""
        moved = copy(self)
        moved.axes = replace(self.axes, fixed=fixed)
        _check_axes(moved.axes, self.shape)
        moved._start = moved.axes.index(0, 0)
        return moved

    @property
    def repeats(self) -> tuple[bool, bool]:
        """Whether all rows are the same elements, and whether all columns are (an expanded view)."""
        if self.quantizer is not None or self.element.per_byte > 1:
            return False, False
        row, column = self._strides()
        return row == 0, column == 0

    def affordable(self, limit: int) -> int:
        """`limit`, or fewer elements where they lie so thinly that reading them would take long."""
        if self.element.per_byte > 1 or not self.rows or not self.columns:
            return limit
        probe = replace(self.tensor, shape=(self.rows, self.columns), stride=self._strides())
        with ElementSource(self._source.checkpoint, probe, reader=self._reader) as source:
            return source.affordable(limit, logical=True)

    def units(self, rows: range, columns: range, scratch: Scratch) -> npt.NDArray[Any]:
        """The stored units of a rectangle, row by row and 1-D; a complex element has two.

        Parameters
        ----------
        rows, columns
            Of step 1, inside the slice.
        scratch
            Holds the answer until the next read with it.
        """
        import numpy as np

        if not len(rows) or not len(columns):
            return np.empty(0, self.element.unit)
        if self.element.per_byte > 1:
            return self._packed(rows, columns, scratch)
        stride = self._strides()
        offset = self.tensor.storage_offset + sum(
            at * step for at, step in zip(self._start, self.tensor.stride, strict=True)
        )
        block = Block(
            0, offset + rows.start * stride[0] + columns.start * stride[1], (len(rows), len(columns)), stride
        )
        return self._source.read(block, scratch)

    def stored_integers(self, units: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The units of a quantized tensor as the integers that they are."""
        if self.element.form == "pattern":
            integers: npt.NDArray[Any] = pattern_values(self.tensor.dtype.name)[units]
            return integers
        return units

    def dequantized(self, units: npt.NDArray[Any], rows: range, columns: range) -> npt.NDArray[np.float32]:
        """The real numbers of a rectangle of a quantized tensor, 1-D."""
        import numpy as np

        assert self.quantizer is not None
        stored = self.stored_integers(units).astype(np.int64)
        if self.quantizer.is_per_tensor:
            return self.quantizer.real(stored, 0)
        channels = self._channels(rows, columns)
        scales, points = self.quantizer.scales[channels], self.quantizer.zero_points[channels]
        return Quantizer(scales, points, 1).real(stored, 0)

    def numbers(self, units: npt.NDArray[Any], rows: range, columns: range) -> npt.NDArray[Any]:
        """The elements of a rectangle as float32, float64 or integers with their order, 1-D (see `of`).

        May be a view of `units`.
        """
        import numpy as np
        import torch

        if self._decoder is not None:
            return self._decoder.decode(units, 0)[0]
        if self.quantizer is not None:
            return self.dequantized(units, rows, columns)
        name, kind = self.tensor.dtype.name, self.tensor.dtype.kind
        values: npt.NDArray[Any]
        if name in ("float16", "bfloat16"):
            stored = torch.from_numpy(units.view(np.int16)).view(getattr(torch, name))
            values = stored.to(torch.float32).numpy()
        elif kind == "float" or name == "float4_e2m1fn_x2":
            values = units if units.itemsize >= 4 else _float_table(name)[units]
        elif self.element.form == "pattern" and kind in ("int", "bool"):
            values = units.view(f"i{units.itemsize}")
            if name not in ("int8", "int16"):  # bool, and integers narrower than their byte
                values = pattern_values(name).astype(np.int8)[units]
        elif self.element.form == "pattern" and name.startswith("uint") and name not in ("uint8", "uint16"):
            values = pattern_values(name).astype(np.uint8)[units]
        else:
            values = units
        return -values if self.tensor.flags & TensorFlag.NEG else values

    def _strides(self) -> tuple[int, int]:
        row, column = self.axes.row_axis, self.axes.column_axis
        return (
            0 if row is None else self.tensor.stride[row],
            0 if column is None else self.tensor.stride[column],
        )

    def _channels(self, rows: range, columns: range) -> Ints:
        """The channel of every element of a rectangle, 1-D."""
        import numpy as np

        axis = self.tensor.extra["axis"]
        if axis == self.axes.row_axis:
            return np.repeat(np.arange(rows.start, rows.stop), len(columns))
        if axis == self.axes.column_axis:
            return np.tile(np.arange(columns.start, columns.stop), len(rows))
        assert isinstance(axis, int)
        return np.full(len(rows) * len(columns), self._start[axis], np.int64)

    def _packed(self, rows: range, columns: range, scratch: Scratch) -> npt.NDArray[Any]:
        """Values of which several share a byte."""
        import numpy as np

        per_byte = self.element.per_byte
        at, position = self._places(rows, columns)
        low, high = int(at.min()), int(at.max())
        if high - low < _SPAN_RATIO * -(-at.size // per_byte) + GAP_NBYTES:
            span = self._bytes.read(Block(0, low, (high - low + 1,), (1,)), scratch)
            packed = span[at - low]
        else:
            wanted, where = np.unique(at, return_inverse=True)
            found = np.empty(wanted.size, np.uint8)
            ends = np.flatnonzero(np.diff(wanted) > GAP_NBYTES)
            for first, last in zip([0, *(ends + 1)], [*ends, wanted.size - 1], strict=True):
                start = int(wanted[first])
                run = self._bytes.read(Block(0, start, (int(wanted[last]) - start + 1,), (1,)), scratch)
                found[first : last + 1] = run[wanted[first : last + 1] - start]
            packed = found[where.reshape(-1)]
        bits = 8 // per_byte
        return (packed >> (position * bits).astype(np.uint8)) & np.uint8((1 << bits) - 1)

    def _places(self, rows: range, columns: range) -> tuple[Ints, Ints]:
        """The byte in the storage and the position in it of every value of a rectangle, 1-D."""
        import numpy as np

        per_byte = self.element.per_byte
        last = len(self.shape) - 1
        if self.tensor.dtype.kind == "quantized":
            # Values follow each other through all dimensions.
            steps = contiguous_stride(self.shape)
        else:
            steps = self.tensor.stride or (1,)
        position = np.zeros((1, 1), np.int64)
        grid = np.full((len(rows), len(columns)), self.tensor.storage_offset, np.int64)
        for axis, step in enumerate(steps):
            index: Any = self._start[axis]
            if axis == self.axes.row_axis:
                index = np.arange(rows.start, rows.stop)[:, None]
            elif axis == self.axes.column_axis:
                index = np.arange(columns.start, columns.stop)[None, :]
            if axis == last and self.tensor.dtype.kind != "quantized":
                position = position + index % per_byte
                index = index // per_byte
            grid += index * step
        if self.tensor.dtype.kind == "quantized":
            grid, position = grid // per_byte, grid % per_byte
        return grid.reshape(-1), np.broadcast_to(position, grid.shape).reshape(-1)


def _check_axes(axes: SliceAxes, shape: tuple[int, ...]) -> None:
    if max(shape, default=0) > _MAX_EXTENT:
        raise LimitExceeded(f"an axis of {max(shape):,} entries is longer than torch can make one")
    chosen = [axis for axis in (axes.row_axis, axes.column_axis) if axis is not None]
    if len(set(chosen)) < len(chosen) or any(not 0 <= axis < len(shape) for axis in chosen):
        raise ViewerError(f"a tensor of {len(shape)} dimensions has no slice along the axes {chosen}")
    if len(axes.fixed) != len(shape) - len(chosen):
        raise ViewerError(f"{len(axes.fixed)} indexes are given for {len(shape) - len(chosen)} axes")
    others = [axis for axis in range(len(shape)) if axis not in chosen]
    for axis, at in zip(others, axes.fixed, strict=True):
        if not 0 <= at < max(shape[axis], 1):
            raise ViewerError(f"index {at:,} is outside axis {axis}, which has {shape[axis]:,} entries")


def _storage_bytes(tensor: TensorRef) -> TensorRef:
    """The whole storage of a tensor as bytes."""
    assert tensor.storage is not None
    return replace(tensor, dtype=dtype_named("uint8"), shape=(tensor.storage.nbytes,), stride=(1,), storage_offset=0)


def _float_table(name: str) -> npt.NDArray[np.float32]:
    import numpy as np

    return pattern_values(name).astype(np.float32)
