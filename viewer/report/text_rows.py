"""The cells of a row in the text tree, and the widths of its columns.

A large file has many rows and few different shapes, so what follows from dtype and shape is worked out once for each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import NO_STORAGE, TensorFlag, is_contiguous, numel_of
from viewer.report.extract import Extract, nearby_path
from viewer.report.statistics import TEXT_COLUMNS, column_values
from viewer.report.wording import (
    display_width,
    padded,
    plural,
    printable,
    rounded_number,
    shape_text,
    shortened,
    value_text,
    whole_number,
)

_NAME_WIDTH: Final = 64
"""Longer names push their own row to the right rather than every row; so with the two below."""
_TYPE_WIDTH: Final = 28
_SHAPE_WIDTH: Final = 24
_TEXT_LENGTH: Final = 80

_BUILTIN_TEXTS = frozenset({"str", "bytes", "bytearray"})
_NOTED_FACTS: Final = ("local shape", "real shape")
"""Facts of few tensors without which their row would mislead."""
_COUNTED = frozenset({Kind.MAPPING, Kind.SEQUENCE, Kind.SET})


class TensorCells(NamedTuple):
    """What a row says of every tensor."""

    dtype: str
    shape: str
    numel: str
    nbytes: str


@dataclass(slots=True)
class Widths:
    """Widths of the columns, in terminal columns."""

    name: int = len("name")
    type: int = len("type")
    shape: int = len("shape")
    numel: int = len("elements")
    nbytes: int = len("bytes")
    statistics: list[int] = field(default_factory=lambda: [len(title) for title in TEXT_COLUMNS])


def measure(extract: Extract, names: Iterable[tuple[int, int]]) -> Widths:
    """The widths that fit the nodes given, each with the width of its name and branches."""
    checkpoint = extract.checkpoint
    nodes = checkpoint.nodes
    widths = Widths()
    for node, width in names:
        if widths.name < width <= _NAME_WIDTH:
            widths.name = width
        if nodes.kind[node] != Kind.TENSOR:
            continue
        number = nodes.value[node]
        assert isinstance(number, int)
        cells = tensor_cells(checkpoint, number)
        widths.type = max(widths.type, len(cells.dtype))
        widths.numel = max(widths.numel, len(cells.numel))
        widths.nbytes = max(widths.nbytes, len(cells.nbytes))
        if widths.shape < len(cells.shape) <= _SHAPE_WIDTH:
            widths.shape = len(cells.shape)
        for column, text in enumerate(statistics_cells(extract, number)):
            widths.statistics[column] = max(widths.statistics[column], len(text))
    for type_name in nodes.types:
        width = display_width(printable(type_name))
        if widths.type < width <= _TYPE_WIDTH:
            widths.type = width
    return widths


def header(extract: Extract, widths: Widths) -> str:
    cells = ["name".ljust(widths.name), "type".ljust(widths.type), "shape".ljust(widths.shape)]
    cells += ["elements".rjust(widths.numel), "bytes".rjust(widths.nbytes)]
    if extract.measures is not None:
        cells += [title.rjust(width) for title, width in zip(TEXT_COLUMNS, widths.statistics, strict=True)]
    return "  ".join(cells).rstrip()


def row(extract: Extract, node: int, name: str, problem: str | None, widths: Widths) -> str:
    """One line; `name` is padded already."""
    nodes = extract.checkpoint.nodes
    number = nodes.value[node]
    parts = [name]
    if nodes.kind[node] == Kind.TENSOR:
        assert isinstance(number, int)
        cells = tensor_cells(extract.checkpoint, number)
        parts += [cells.dtype.ljust(widths.type), cells.shape.ljust(widths.shape)]
        parts += [cells.numel.rjust(widths.numel), cells.nbytes.rjust(widths.nbytes)]
        statistics = statistics_cells(extract, number)
        if statistics:
            parts += [cell.rjust(width) for cell, width in zip(statistics, widths.statistics, strict=True)]
        parts += _tensor_notes(extract.checkpoint, number)
    else:
        parts += [padded(printable(nodes.type_name(node)), widths.type), _leaf_text(extract.checkpoint, node)]
    if problem is not None:
        parts.append(f"! {shortened(printable(problem), 200)}")
    return "  ".join(parts).rstrip()


def tensor_cells(checkpoint: Checkpoint, number: int) -> TensorCells:
    return _cells_of(checkpoint.tensors.dtype[number], checkpoint.tensors.shape[number])


@lru_cache(maxsize=4096)
def _cells_of(dtype_code: int, shape: tuple[int, ...]) -> TensorCells:
    dtype = DTYPES[dtype_code]
    numel = numel_of(shape)
    return TensorCells(dtype.name, shape_text(shape), whole_number(numel), whole_number(numel * dtype.itemsize))


_contiguous = lru_cache(maxsize=4096)(is_contiguous)


def _tensor_notes(checkpoint: Checkpoint, number: int) -> list[str]:
    """What is out of the ordinary about a tensor."""
    tensors = checkpoint.tensors
    flags, storage = tensors.flags[number], tensors.storage[number]
    notes: list[str] = []
    if flags & TensorFlag.PARAMETER:
        notes.append("Parameter")
    elif flags & TensorFlag.REQUIRES_GRAD:
        notes.append("requires_grad")
    device = checkpoint.tensor(number).device if storage == NO_STORAGE else checkpoint.storages.location[storage]
    if device != "cpu":
        notes.append(printable(device))
    extra = tensors.extra.get(number, {})
    if number in tensors.layout:
        sizes = extra.get("nested sizes")
        notes.append(printable(tensors.layout[number]) + (f" of {sizes}" if sizes else ""))
    elif storage != NO_STORAGE and not _contiguous(tensors.shape[number], tensors.stride[number]):
        notes.append(f"stride {shape_text(tensors.stride[number])}")
    if "scale" in extra:
        notes.append(f"scale {value_text(extra['scale'], 40)}, zero point {value_text(extra.get('zero_point'), 40)}")
    if storage != NO_STORAGE:
        whole = checkpoint.storages.nbytes[storage]
        if numel_of(tensors.shape[number]) * DTYPES[tensors.dtype[number]].itemsize < whole:
            notes.append(f"in a storage of {plural(whole, 'byte')}")
    notes += [
        f"{fact} {shortened(printable(str(extra[fact])), _TEXT_LENGTH)}" for fact in _NOTED_FACTS if fact in extra
    ]
    return notes


def _leaf_text(checkpoint: Checkpoint, node: int) -> str:
    """What stands beside the type of a node that is not a tensor."""
    nodes = checkpoint.nodes
    kind, value = nodes.kind[node], nodes.value[node]
    if kind == Kind.PROBLEM:
        return ""  # its message follows as the row's problem
    if kind == Kind.LINK and isinstance(value, int):
        target = nearby_path(checkpoint, value)
        return "same object as one far below" if target is None else f"same object as {target or 'the root'}"
    if kind == Kind.STORAGE and isinstance(value, int):
        storage = checkpoint.storage(value)
        return f"{storage.dtype.name}, {plural(storage.nbytes, 'byte')}, {printable(storage.location)}"
    if kind == Kind.SCALAR:
        as_text = isinstance(value, str) and nodes.type_name(node) not in _BUILTIN_TEXTS
        return shortened(printable(str(value)), _TEXT_LENGTH) if as_text else value_text(value, _TEXT_LENGTH)
    if kind == Kind.TEXT:
        return plural(len(str(value).splitlines()), "line")
    parts = [plural(nodes.n_children[node], "item")] if kind in _COUNTED else []
    if value is not None:
        parts.append(shortened(printable(str(value)), _TEXT_LENGTH))
    return "  ".join(parts)


def statistics_cells(extract: Extract, number: int) -> list[str]:
    """One cell for each of TEXT_COLUMNS, or none where no statistics are wanted."""
    if extract.measures is None:
        return []
    summary = extract.measures.summaries.get(number)
    if summary is None:
        return ["-"] * len(TEXT_COLUMNS)
    return [rounded_number(value) for value in column_values(summary.statistics)]
