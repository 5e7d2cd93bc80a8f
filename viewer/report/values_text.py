"""Values and histograms as text to take elsewhere: CSV, TSV, and expressions that give the same bits again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

from viewer.tensors.results import Histogram, Scalar, Statistics
from viewer.tensors.slice_results import ValueBlock

HISTOGRAM_COLUMNS: Final = ("low", "high", "count", "what")

_BITS_OF: Final = {8: "uint8", 16: "int16", 32: "int32", 64: "int64"}

_NAN_BITS: Final = {
    "float16": 0x7E00,
    "bfloat16": 0x7FC0,
    "float32": 0x7FC00000,
    "float64": 0x7FF8000000000000,
    "complex64": 0x7FC00000,
    "complex128": 0x7FF8000000000000,
    "float8_e5m2": 0x7F,
    "float8_e4m3fn": 0x7F,
    "float8_e4m3fnuz": 0x80,
    "float8_e5m2fnuz": 0x80,
    "float8_e8m0fnu": 0xFF,
    "complex32": 0x7E00,
}
"""The bits of the NaN that torch makes of Python's; all others have to be given by their bits."""

_NUMPY_DTYPES: Final = {
    "?": "bool", "b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32", "q": "int64",
    "Q": "uint64", "f": "float32", "d": "float64", "F": "complex64", "D": "complex128",
}  # fmt: skip
"""By the format of a block."""


def histogram_csv(histogram: Histogram, statistics: Statistics | None = None) -> Iterator[str]:
    """Lines with their line feeds: the edges and the count of every bin, then what lies in none.

    `what` is "bin", "below" and "above" (finite values outside the edges), "nan", "+inf" or "-inf". A bin holds the
    values from `low` on and below `high`, the last one `high` too. Floats have all the digits that make them up.

    Parameters
    ----------
    statistics
        Of the same values, for the counts of non-finite ones; None leaves those out.
    """
    yield ",".join(HISTOGRAM_COLUMNS) + "\n"
    edges = histogram.edges
    for nth, count in enumerate(histogram.counts):
        yield f"{edges[nth]!r},{edges[nth + 1]!r},{count},bin\n"
    if len(edges):
        yield f"-inf,{edges[0]!r},{histogram.underflow},below\n"
        yield f"{edges[-1]!r},inf,{histogram.overflow},above\n"
    if statistics is not None:
        yield f"nan,nan,{statistics.nan},nan\n"
        yield f"inf,inf,{statistics.posinf},+inf\n"
        yield f"-inf,-inf,{statistics.neginf},-inf\n"


def values_tsv(block: ValueBlock, rows: range | None = None, columns: range | None = None) -> Iterator[str]:
    """A selection as lines with their line feeds, columns between tabs: what spreadsheets take from the clipboard.

    Parameters
    ----------
    rows, columns
        Of the slice, inside the block; None for all that are in it.
    """
    for row in _rows(block) if rows is None else rows:
        yield "\t".join([repr(value) for value in _cells(block, row, columns)]) + "\n"


def torch_expression(block: ValueBlock, rows: range | None = None, columns: range | None = None) -> str:
    """A selection as an expression, in a program that has imported torch.

    It gives a tensor of the block's dtype with the same bits. Quantized tensors give their real numbers as float32,
    and types on which torch does nothing (narrow integers, float4, bits) the numbers in the nearest type that holds
    them.
    """
    dtype = _torch_dtype(block)
    bits = _bits_dtype(block, rows, columns)
    if bits is None:
        return f"torch.tensor({_nested(block, rows, columns, _value_text('torch'))}, dtype=torch.{dtype})"
    nested = _nested_bits(block, rows, columns, bits)
    if block.format in "FD":  # the last dimension has the two parts
        return f"torch.tensor({nested}, dtype=torch.{bits}).view(torch.{dtype}).squeeze(-1)"
    return f"torch.tensor({nested}, dtype=torch.{bits}).view(torch.{dtype})"


def numpy_expression(block: ValueBlock, rows: range | None = None, columns: range | None = None) -> str:
    """A selection as an expression, in a program that has imported numpy.

    As `torch_expression`; bfloat16 and float8 values, which numpy has not, are float32, and equal.
    """
    dtype = "float16" if block.dtype == "float16" else _NUMPY_DTYPES[block.format]
    is_own = dtype == block.dtype and dtype != "float16"
    if is_own and block.format in "fdFD" and _has_odd_nan(block, rows, columns):
        bits = f"u{_BITS_OF[block.pattern_bits].removeprefix('u')}"
        view = f"numpy.array({_nested_bits(block, rows, columns, bits)}, dtype=numpy.{bits}).view(numpy.{dtype})"
        return f"{view}[..., 0]" if block.format in "FD" else view
    return f"numpy.array({_nested(block, rows, columns, _value_text('numpy'))}, dtype=numpy.{dtype})"


def _torch_dtype(block: ValueBlock) -> str:
    if block.stored_format or block.dtype == "float4_e2m1fn_x2":
        return "float32"
    if block.dtype.startswith("bits") or block.dtype.startswith(("int", "uint")):
        return _NUMPY_DTYPES[block.format]
    return block.dtype


def _bits_dtype(block: ValueBlock, rows: range | None, columns: range | None) -> str | None:
    """The integer type by whose bits the selection has to be given; None where numbers will do."""
    if block.stored_format:
        return None
    if block.dtype in _NAN_BITS and _has_odd_nan(block, rows, columns):
        return _BITS_OF[block.pattern_bits]
    return None


def _has_odd_nan(block: ValueBlock, rows: range | None, columns: range | None) -> bool:
    usual = _NAN_BITS.get(block.dtype)
    for row in _rows(block) if rows is None else rows:
        for column, value in enumerate(_cells(block, row, columns), (columns or _columns(block)).start):
            parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
            for part, bits in zip(parts, block.pattern(row, column), strict=True):
                if math.isnan(part) and bits != usual:
                    return True
    return False


def _value_text(module: str) -> Callable[[Scalar], str]:
    def number_text(value: float) -> str:
        if math.isfinite(value):
            return repr(value)
        if math.isnan(value):
            return f"{module}.nan"
        return f"{module}.inf" if value > 0 else f"-{module}.inf"

    def text(value: Scalar) -> str:
        if isinstance(value, complex):
            # 1-0j is 1+0j in Python: only the constructor keeps the sign of a zero.
            return f"complex({number_text(value.real)}, {number_text(value.imag)})"
        return number_text(value) if isinstance(value, float) else repr(value)

    return text


def _nested(block: ValueBlock, rows: range | None, columns: range | None, text: Callable[[Scalar], str]) -> str:
    lines = [
        [text(value) for value in _cells(block, row, columns)] for row in (_rows(block) if rows is None else rows)
    ]
    return _brackets(block, lines)


def _nested_bits(block: ValueBlock, rows: range | None, columns: range | None, kind: str) -> str:
    bits = block.pattern_bits
    sign = 0 if kind.startswith("u") else 1 << (bits - 1)

    def text(row: int, column: int) -> str:
        parts = [str((part ^ sign) - sign) for part in block.pattern(row, column)]
        return f"[{', '.join(parts)}]" if block.format in "FD" else parts[0]

    lines = [
        [text(row, column) for column in (_columns(block) if columns is None else columns)]
        for row in (_rows(block) if rows is None else rows)
    ]
    return _brackets(block, lines)


def _brackets(block: ValueBlock, lines: list[list[str]]) -> str:
    """Lines in as many brackets as the slice has dimensions."""
    if block.axes.row_axis is None and block.axes.column_axis is None and lines and lines[0] and len(lines[0]) == 1:
        return lines[0][0]
    if block.axes.row_axis is None or block.axes.column_axis is None:
        return f"[{', '.join(text for line in lines for text in line)}]"
    return f"[{', '.join('[' + ', '.join(line) + ']' for line in lines)}]"


def _rows(block: ValueBlock) -> range:
    return range(block.first_row, block.first_row + block.n_rows)


def _columns(block: ValueBlock) -> range:
    return range(block.first_column, block.first_column + block.n_columns)


def _cells(block: ValueBlock, row: int, columns: range | None) -> list[Scalar]:
    values = block.row_values(row)
    if columns is None:
        return values
    if len(columns) and not (block.holds(row, columns[0]) and block.holds(row, columns[-1])):
        raise IndexError(f"columns {columns.start:,} to {columns.stop:,} are not in this block")
    return values[columns.start - block.first_column : columns.stop - block.first_column]
