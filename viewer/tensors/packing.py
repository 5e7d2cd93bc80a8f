"""The bytes of a tensor as a compact, row-major, little-endian sequence: for writing it again.

Views that lie in their storage as they are written need none of this; they are read straight from the file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DType, dtype_named
from viewer.checkpoint.tensors import TensorFlag, TensorRef
from viewer.formats.storage_bytes import StorageReader
from viewer.tensors.scratch import Scratch
from viewer.tensors.source import ElementSource

if TYPE_CHECKING:
    import numpy.typing as npt

_CHUNK_NBYTES: Final = 1 << 20


def iter_packed(checkpoint: Checkpoint, tensor: TensorRef, reader: StorageReader) -> Iterator[memoryview]:
    """The elements in row-major order, with the conjugate and negative bits resolved.

    A chunk is valid until the next one is asked for.
    """
    for units in _units(checkpoint, tensor, reader):
        if sys.byteorder == "big" and units.itemsize > 1:
            units.byteswap(inplace=True)
        yield units.data.cast("B")


def _units(checkpoint: Checkpoint, tensor: TensorRef, reader: StorageReader) -> Iterator[npt.NDArray[Any]]:
    raw = tensor if tensor.dtype.itemsize > 1 else replace(tensor, dtype=dtype_named("uint8"))
    scratch = Scratch()
    with ElementSource(checkpoint, raw, reader=reader) as source:
        for block in source.logical_blocks(max(_CHUNK_NBYTES // source.element.itemsize, 1)):
            units = source.read(block, scratch)
            resolve_bits(units, tensor.flags, tensor.dtype)
            yield units


def resolve_bits(units: npt.NDArray[Any], flags: TensorFlag, dtype: DType) -> None:
    """Apply the lazy bits in place: a sign is one bit of a float, NaNs included."""
    import numpy as np

    if not flags & (TensorFlag.CONJ | TensorFlag.NEG):
        return
    if dtype.kind not in ("float", "complex"):
        if flags & TensorFlag.NEG:
            np.negative(units, out=units)
        return
    unsigned = units.view(f"u{units.itemsize}")
    sign = np.array(1 << (8 * units.itemsize - 1), unsigned.dtype)
    if flags & TensorFlag.NEG:
        np.bitwise_xor(unsigned, sign, out=unsigned)
    if flags & TensorFlag.CONJ and dtype.kind == "complex":
        np.bitwise_xor(unsigned[1::2], sign, out=unsigned[1::2])


@dataclass(slots=True)
class CastTally:
    """What a cast changed so far (see `viewer.export.options.Cast`)."""

    changed: int = 0
    largest_error: float = 0.0
    became_infinite: int = 0


def iter_cast(
    checkpoint: Checkpoint, tensor: TensorRef, target: DType, reader: StorageReader, tally: CastTally | None
) -> Iterator[memoryview]:
    """The elements converted as torch's `to` does, in row-major order; what it changed is counted in `tally`.

    A chunk is valid until the next one is asked for.
    """
    import torch

    before: torch.dtype = getattr(torch, tensor.dtype.name)
    after: torch.dtype = getattr(torch, target.name)
    for units in _units(checkpoint, tensor, reader):
        values = torch.from_numpy(units).view(before)
        cast = values.to(after)
        if tally is not None:
            _count(values, cast, tally)
        raw = cast.view(torch.uint8).numpy()
        if sys.byteorder == "big" and target.itemsize > 1:
            raw = raw.view(f"u{target.itemsize}").byteswap().view("u1")
        yield raw.data.cast("B")


def _count(before: Any, after: Any, tally: CastTally) -> None:
    import torch

    exact = before.to(torch.float32).to(torch.float64) if before.itemsize < 4 else before.to(torch.float64)
    given = after.to(torch.float32).to(torch.float64) if after.itemsize < 4 else after.to(torch.float64)
    tally.changed += int(((exact != given) & ~(exact.isnan() & given.isnan())).sum())
    tally.became_infinite += int((exact.isfinite() & given.isinf()).sum())
    both = exact.isfinite() & given.isfinite()
    error = (exact - given).abs()[both]
    if error.numel():
        tally.largest_error = max(tally.largest_error, float(error.max()))
