"""A block of values as text for other programs: lines with tabs, or an expression of torch or numpy. No Qt."""

from __future__ import annotations

from typing import Final

from viewer.gui.details.value_text import python_literal
from viewer.gui.format import format_exact
from viewer.tensors.slice_results import ValueBlock

MOST_COPIED: Final = 50_000
"""Values that are copied at once: writing them takes a twentieth of a second."""

_NUMPY_DTYPES: Final = {
    "float64": "float64", "float32": "float32", "float16": "float16", "complex128": "complex128",
    "complex64": "complex64", "bool": "bool_", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
}  # fmt: skip
_OF_FORMAT: Final = {
    "?": "bool", "b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32", "q": "int64",
    "Q": "uint64", "f": "float32", "d": "float64", "F": "complex64", "D": "complex128",
}  # fmt: skip
"""The dtype that holds what a format of `ValueBlock` holds."""
_WITHOUT_LITERALS: Final = ("float8", "float4", "bits", "int4", "quint", "qint", "int1", "int2", "complex32")
"""Beginnings of the names of dtypes of which torch.tensor makes none from numbers, or cannot be asked to portably."""


def as_tsv(block: ValueBlock) -> str:
    """Exact values, columns apart by tabs, rows as lines."""
    return "".join("\t".join(format_exact(value) for value in row) + "\n" for row in _rows(block))


def as_torch(block: ValueBlock) -> str:
    """An expression that gives these values: torch.tensor([[…]], dtype=torch.bfloat16)."""
    return f"torch.tensor({_nested(block, 'torch.tensor(')}, dtype=torch.{_torch_dtype(block)})"


def as_numpy(block: ValueBlock) -> str:
    """An expression that gives these values; what numpy has no dtype for comes as the float32 that it equals."""
    dtype = _NUMPY_DTYPES.get(block.dtype) or _NUMPY_DTYPES[_OF_FORMAT[block.format]]
    return f"np.array({_nested(block, 'np.array(')}, dtype=np.{dtype})"


def _torch_dtype(block: ValueBlock) -> str:
    return _OF_FORMAT[block.format] if block.dtype.startswith(_WITHOUT_LITERALS) else block.dtype


def _rows(block: ValueBlock) -> list[list[bool | int | float | complex]]:
    return [block.row_values(block.first_row + row) for row in range(block.n_rows)]


def _nested(block: ValueBlock, head: str) -> str:
    """One value, a list of values, or a list of lists, as few brackets as the selection has directions."""
    rows = _rows(block)
    if block.n_rows == 1 and block.n_columns == 1:
        return python_literal(rows[0][0])
    if block.n_columns == 1:
        return _listed([row[0] for row in rows])
    if block.n_rows == 1:
        return _listed(rows[0])
    separator = ",\n" + " " * (len(head) + 1)
    return f"[{separator.join(_listed(row) for row in rows)}]"


def _listed(values: list[bool | int | float | complex]) -> str:
    return f"[{', '.join(python_literal(value) for value in values)}]"
