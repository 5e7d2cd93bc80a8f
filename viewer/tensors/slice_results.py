"""What is shown of a tensor's values: blocks of a slice, maps, kernels and lines. Plain data without torch.

Every class travels between the processes, so values are packed bytes: little-endian, row by row.
"""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from viewer.tensors.results import Number, Scalar

if TYPE_CHECKING:
    from viewer.checkpoint.tensors import TensorRef

HAS_NAN: Final = 1
"""Code of a pixel: at least one of its elements is NaN."""
HAS_POSINF: Final = 2
"""Code of a pixel: at least one of its elements is +inf."""
HAS_NEGINF: Final = 4
"""Code of a pixel: at least one of its elements is -inf."""
NO_FINITE: Final = 8
"""Code of a pixel: none of its elements is finite, and its value is NaN."""
GAP: Final = 16
"""Code of a pixel: it lies between two kernels, and its value is NaN."""

MAX_BLOCK: Final = 1 << 20
"""Elements of one block of values: 16 MB of complex128."""

_PAIRS: Final = {"F": "f", "D": "d"}
"""Formats of complex numbers (numpy's codes): the format of their two parts."""


def value_shape(tensor: TensorRef) -> tuple[int, ...]:
    """The shape in values: the tensor's own but for float4, of which torch counts bytes with two values each."""
    if tensor.dtype.name != "float4_e2m1fn_x2":
        return tensor.shape
    return (*tensor.shape[:-1], 2 * tensor.shape[-1]) if tensor.shape else (2,)


@dataclass(frozen=True, slots=True)
class SliceAxes:
    """Which 2-D slice of a tensor.

    Attributes
    ----------
    row_axis, column_axis
        Axes (from 0) along which rows and columns follow each other; None for one row, or one column.
    fixed
        An index along every other axis, in the order of the axes.
    """

    row_axis: int | None
    column_axis: int | None
    fixed: tuple[int, ...] = ()

    def index(self, row: int, column: int) -> tuple[int, ...]:
        """The index in the tensor of an element of the slice."""
        rest = iter(self.fixed)
        count = len(self.fixed) + (self.row_axis is not None) + (self.column_axis is not None)
        return tuple(
            row if axis == self.row_axis else column if axis == self.column_axis else next(rest)
            for axis in range(count)
        )


def default_axes(shape: tuple[int, ...]) -> SliceAxes:
    """The last two axes, at index 0 of all others; a 1-D tensor is one column, a scalar one element."""
    if len(shape) < 2:
        return SliceAxes(0 if shape else None, None)
    return SliceAxes(len(shape) - 2, len(shape) - 1, (0,) * (len(shape) - 2))


@dataclass(frozen=True, slots=True)
class ValueBlock:
    """A block of a 2-D slice, each element exact.

    Rows and columns are those of the slice in all methods.

    Attributes
    ----------
    number, dtype, shape
        Of the tensor; the shape as `value_shape` gives it.
    rows, columns
        Of the whole slice.
    first_row, first_column, n_rows, n_columns
        What is here; fewer than were asked for at the end of the slice.
    format
        How `data` is packed, little-endian and row by row: a code of `struct` ("?bBhHiIqQfd"), or "F" and "D" for
        complex numbers of two floats or doubles. float16, bfloat16 and float8 come as floats, which equal them.
    data
        The values; of quantized tensors the real numbers.
    pattern_bits
        Bits of one element (of each part of a complex one).
    patterns
        The bit patterns, packed in the fewest whole bytes, with the conjugate and negative bits applied; empty where
        they are those of `data`. Of quantized tensors those of the stored integers.
    stored_format, stored
        The stored integers of a quantized tensor, packed as `data` is; "" and empty for others.
    """

    number: int
    dtype: str
    shape: tuple[int, ...]
    axes: SliceAxes
    rows: int
    columns: int
    first_row: int
    first_column: int
    n_rows: int
    n_columns: int
    format: str
    data: bytes
    pattern_bits: int
    patterns: bytes = b""
    stored_format: str = ""
    stored: bytes = b""

    def holds(self, row: int, column: int) -> bool:
        return 0 <= row - self.first_row < self.n_rows and 0 <= column - self.first_column < self.n_columns

    def value(self, row: int, column: int) -> Scalar:
        """The element, exact."""
        return _scalars(self.format, self.data, self._at(row, column), 1)[0]

    def row_values(self, row: int) -> list[Scalar]:
        """The elements of a row that are here."""
        if not self.n_columns:
            return []
        return _scalars(self.format, self.data, self._at(row, self.first_column), self.n_columns)

    def values(self) -> list[Scalar]:
        """All elements that are here, row by row."""
        return _scalars(self.format, self.data, 0, self.n_rows * self.n_columns)

    def stored_value(self, row: int, column: int) -> int | None:
        """The stored integer of a quantized element; None for others."""
        if not self.stored_format:
            return None
        (found,) = _scalars(self.stored_format, self.stored, self._at(row, column), 1)
        assert isinstance(found, int)
        return found

    def pattern(self, row: int, column: int) -> tuple[int, ...]:
        """The bits of an element as an unsigned integer; two of a complex one, the real part first."""
        parts = 2 if self.format in _PAIRS else 1
        nbytes = (self.pattern_bits + 7) // 8
        packed = self.patterns or self.data
        start = self._at(row, column) * nbytes * parts
        return tuple(
            int.from_bytes(packed[at : at + nbytes], "little") for at in range(start, start + nbytes * parts, nbytes)
        )

    def hex(self, row: int, column: int) -> str:
        """The bits of an element in hexadecimal digits: 0x3f800000; both parts of a complex one."""
        digits = (self.pattern_bits + 3) // 4
        return " ".join(f"0x{part:0{digits}x}" for part in self.pattern(row, column))

    def _at(self, row: int, column: int) -> int:
        if not self.holds(row, column):
            raise IndexError(f"row {row:,}, column {column:,} is not in this block")
        return (row - self.first_row) * self.n_columns + column - self.first_column


def _scalars(code: str, packed: bytes, start: int, count: int) -> list[Scalar]:
    part = _PAIRS.get(code)
    if part is None:
        return list(struct.unpack_from(f"<{count}{code}", packed, start * struct.calcsize(f"<{code}")))
    numbers = struct.unpack_from(f"<{2 * count}{part}", packed, 2 * start * struct.calcsize(f"<{part}"))
    return [complex(real, imaginary) for real, imaginary in zip(numbers[::2], numbers[1::2], strict=True)]


@dataclass(frozen=True, slots=True)
class Tiles:
    """How kernels stand in a map: side by side with a gap of one pixel.

    Attributes
    ----------
    row_axis, column_axis
        Axes of the tensor along which the rows and the columns of tiles follow each other; None for one.
    first_row, first_column, n_rows, n_columns
        Which tiles are here.
    rows, columns
        Tiles of the whole tensor.
    height, width
        Of each, in elements and pixels.
    """

    row_axis: int | None
    column_axis: int | None
    first_row: int
    first_column: int
    n_rows: int
    n_columns: int
    rows: int
    columns: int
    height: int
    width: int

    def at(self, y: int, x: int) -> tuple[int, int, int, int] | None:
        """Row and column of the tile of a pixel, and row and column of the element in it; None in a gap."""
        row, down = divmod(y, self.height + 1)
        column, right = divmod(x, self.width + 1)
        if down == self.height or right == self.width:
            return None
        return self.first_row + row, self.first_column + column, down, right


@dataclass(frozen=True, slots=True)
class MapImage:
    """A 2-D slice, or a part of one, as an image.

    Attributes
    ----------
    number, dtype
        Of the tensor.
    of
        What the values are: "value", "magnitude" (complex), "dequantized value" or "bits".
    rows, columns
        Of the whole slice; of one kernel where there are `tiles`.
    row_edges, column_edges
        Pixel row i shows the rows `row_edges[i]` to `row_edges[i + 1] - 1` of the slice, and so do columns. Empty
        where there are `tiles`.
    height, width
        In pixels.
    reduce
        Which element of its block a pixel shows: "absmax" (of the largest magnitude, with its sign; of equals the
        positive), "max", "min", or "mean" of them.
    format
        "f" or "d": float32 or float64 pixels. Integers beyond 2**53 and the mean are rounded to float64.
    pixels
        Row by row, little-endian; NaN where no element is finite.
    codes
        A byte for each pixel: HAS_NAN, HAS_POSINF, HAS_NEGINF, NO_FINITE and GAP, joined with "or".
    min, max
        Of the finite elements shown, exact; None where there is none.
    tiles
        Where the map is one of kernels.
    """

    number: int
    dtype: str
    of: str
    axes: SliceAxes
    rows: int
    columns: int
    row_edges: array[int]
    column_edges: array[int]
    height: int
    width: int
    reduce: str
    format: str
    pixels: bytes
    codes: bytes
    min: Number | None
    max: Number | None
    tiles: Tiles | None = None

    @property
    def is_exact(self) -> bool:
        """Whether each pixel is one element."""
        return (
            self.tiles is not None
            or not self.height
            or not self.width
            or (
                self.row_edges[-1] - self.row_edges[0] == self.height
                and self.column_edges[-1] - self.column_edges[0] == self.width
            )
        )


@dataclass(frozen=True, slots=True)
class LineEnvelope:
    """Elements along one axis, as a line plot shows them.

    Attributes
    ----------
    number, dtype, of
        As in `MapImage`.
    length
        Of the axis.
    edges
        Point i stands for the indexes `edges[i]` to `edges[i + 1] - 1`.
    low, high, mean
        Of the finite elements of each point; NaN where there is none. All three are the element where it is one.
    codes
        As in `MapImage`.
    min, max
        Of the finite elements shown, exact; None where there is none.
    """

    number: int
    dtype: str
    of: str
    axis: int | None
    fixed: tuple[int, ...]
    length: int
    edges: array[int]
    low: array[float]
    high: array[float]
    mean: array[float]
    codes: bytes
    min: Number | None
    max: Number | None
