"""The sizes of nested tensors, which a row has no shape for: read from the small tensors beside their values.

A strided nested tensor keeps a matrix of sizes (torch/_utils.py:_rebuild_nested_tensor), a jagged one the offsets at
which its pieces begin (torch/nested/_internal/nested_tensor.py). They say what the tensor is, as a shape does; so
they are read with the structure, though they lie where values do.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import INLINE, STORED, TensorRef
from viewer.errors import ViewerError
from viewer.formats.storage_bytes import StorageReader

_SHOWN: Final = 8
"""Sizes that are spelled out."""
_MAX_ELEMENTS: Final = 4_096
_MAX_TENSORS: Final = 1_000


def note_nested_sizes(checkpoint: Checkpoint) -> None:
    """Add the fact "nested sizes" to the nested tensors of a checkpoint; those that cannot be read have none."""
    layouts = checkpoint.tensors.layout
    numbers = [number for number, layout in layouts.items() if layout in ("nested", "jagged")][:_MAX_TENSORS]
    if not numbers:
        return
    with StorageReader(checkpoint) as reader:
        for number in numbers:
            extra = checkpoint.tensors.extra.get(number, {})
            try:
                text = (_strided if layouts[number] == "nested" else _jagged)(checkpoint, reader, extra)
            except ViewerError:
                continue  # the row of the sizes says what is wrong with them
            if text:
                extra["nested sizes"] = text


def _strided(checkpoint: Checkpoint, reader: StorageReader, extra: dict[str, object]) -> str:
    sizes = _tensor(checkpoint, extra.get("sizes"))
    if sizes is None or len(sizes.shape) != 2:
        return ""
    width = sizes.shape[1]
    flat = _integers(reader, sizes, _SHOWN * width)
    rows = [flat[at : at + width] for at in range(0, len(flat), width)] if width else []
    return _text(rows, sizes.shape[0])


def _jagged(checkpoint: Checkpoint, reader: StorageReader, extra: dict[str, object]) -> str:
    values, offsets = _tensor(checkpoint, extra.get("values")), _tensor(checkpoint, extra.get("offsets"))
    if values is None or offsets is None or len(offsets.shape) != 1 or not offsets.numel:
        return ""
    ragged = extra.get("ragged dimension")
    at = ragged - 1 if isinstance(ragged, int) else 0  # the values have no dimension for the pieces
    if not 0 <= at < len(values.shape):
        return ""
    starts = _integers(reader, offsets, _SHOWN + 1)
    lengths = [stop - start for start, stop in pairwise(starts)]
    kept = _tensor(checkpoint, extra.get("lengths"))
    if kept is not None:
        lengths = _integers(reader, kept, _SHOWN)
    rows = [[*values.shape[:at], length, *values.shape[at + 1 :]] for length in lengths]
    return _text(rows, offsets.numel - 1)


def _tensor(checkpoint: Checkpoint, number: object) -> TensorRef | None:
    if type(number) is not int or not 0 <= number < len(checkpoint.tensors):
        return None
    found = checkpoint.tensor(number)
    # A deflated storage may have to be inflated for long before its first element comes.
    if found.problem is not None or found.storage is None or found.storage.encoding not in (STORED, INLINE):
        return None
    return found if found.layout == "strided" and found.is_contiguous else None


def _integers(reader: StorageReader, tensor: TensorRef, count: int) -> list[int]:
    """The first elements of a dense tensor of integers."""
    storage, width = tensor.storage, tensor.dtype.itemsize
    count = min(count, tensor.numel, _MAX_ELEMENTS)
    if storage is None or tensor.dtype.kind != "int" or not count:
        return []
    raw = bytearray(count * width)
    reader.read_into(storage, tensor.storage_offset * width, raw)
    pieces = [raw[at : at + width] for at in range(0, len(raw), width)]
    return [int.from_bytes(piece, "big" if storage.big_endian else "little", signed=True) for piece in pieces]


def _text(rows: list[list[int]], count: int) -> str:
    shown = ", ".join("×".join(map(str, row)) or "scalar" for row in rows[:_SHOWN])
    return shown if count <= len(rows[:_SHOWN]) else f"{shown} … ({count:,} tensors)"
