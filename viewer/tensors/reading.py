"""Values of a tensor as torch tensors: a range, or chunk by chunk, on any device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DType
from viewer.checkpoint.tensors import TensorFlag, TensorRef
from viewer.formats.storage_bytes import StorageReader
from viewer.tensors.devices import device_errors, torch_device
from viewer.tensors.elements import element_of, pattern_values
from viewer.tensors.quantized import Quantizer, quantizer_of
from viewer.tensors.scratch import Scratch
from viewer.tensors.source import ElementSource

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

Quantized: TypeAlias = Literal["dequantized", "stored"]
"""What is read of a quantized tensor: float32 real numbers, or the stored integers (`int_repr` in torch)."""

_CHUNK_NBYTES: Final = 1 << 20


def read_values(
    checkpoint: Checkpoint,
    tensor: TensorRef | int,
    *,
    start: int = 0,
    count: int | None = None,
    device: str = "cpu",
    quantized: Quantized = "dequantized",
    reader: StorageReader | None = None,
) -> torch.Tensor:
    """The elements with flat indexes `start` … `start + count - 1`, as a 1-D tensor that owns its memory.

    The conjugate and negative bits are applied. The dtype is the tensor's own, but for those on which torch does
    nothing: quantized ones give float32 or stored integers, `float4_e2m1fn_x2` gives two float32 numbers per byte,
    `bits` types their bytes as uint8 or uint16, integers narrower than a byte give int8 or uint8, and `complex32`
    gives complex64.

    Parameters
    ----------
    tensor
        Or its number.
    start, count
        In elements of the logical (row-major) order; what lies beyond the end is left out. All of them when `count`
        is None.
    reader
        An open reader of the checkpoint, for callers that read many tensors.

    Raises
    ------
    MalformedFile, FileChanged
        When the values cannot be read.
    DeviceProblem
        When the device is missing or full.
    """
    import torch

    target = torch_device(device)
    reference = checkpoint.tensor(tensor) if isinstance(tensor, int) else tensor
    with ElementSource(checkpoint, reference, reader=reader) as source, device_errors(device):
        count = _clipped(source, start, count)
        convert = _Converter(checkpoint, reference, quantized)
        whole = torch.empty(count, dtype=convert.dtype, device=target)
        scratch = Scratch()
        done = 0
        for block in source.logical_blocks(_limit(source, _CHUNK_NBYTES), start, count):
            first = source.first_index(block)
            units = source.read(block, scratch)
            skipped = max(start - first, 0) * source.element.units
            taken = units[skipped : skipped + (count - done) * source.element.units]
            part = convert(taken, start + done)
            whole[done : done + part.numel()] = part.to(target)
            done += part.numel()
        return whole


def iter_chunks(
    checkpoint: Checkpoint,
    tensor: TensorRef | int,
    *,
    device: str = "cpu",
    start: int = 0,
    count: int | None = None,
    chunk_nbytes: int = _CHUNK_NBYTES,
    quantized: Quantized = "dequantized",
    reader: StorageReader | None = None,
) -> Iterator[torch.Tensor]:
    """The same elements as `read_values` gives, as 1-D tensors of at most about `chunk_nbytes`, in logical order.

    On the CPU a chunk may lie in memory that the next one overwrites: use it before asking for the next.
    """
    target = torch_device(device)
    reference = checkpoint.tensor(tensor) if isinstance(tensor, int) else tensor
    with ElementSource(checkpoint, reference, reader=reader) as source:
        count = _clipped(source, start, count)
        convert = _Converter(checkpoint, reference, quantized)
        scratch = Scratch()
        done = 0
        for block in source.logical_blocks(_limit(source, chunk_nbytes), start, count):
            first = source.first_index(block)
            with device_errors(device):
                units = source.read(block, scratch)
                skipped = max(start - first, 0) * source.element.units
                part = convert(units[skipped : skipped + (count - done) * source.element.units], start + done).to(
                    target
                )
            done += part.numel()
            yield part


def _clipped(source: ElementSource, start: int, count: int | None) -> int:
    left = max(source.count - start, 0)
    return left if count is None else max(min(count, left), 0)


def _limit(source: ElementSource, nbytes: int) -> int:
    return max(nbytes * source.element.per_byte // source.element.itemsize, 1)


class _Converter:
    """Units as `ElementSource.read` gives them, as a torch tensor of the dtype that `read_values` promises."""

    def __init__(self, checkpoint: Checkpoint, tensor: TensorRef, quantized: Quantized) -> None:
        self._name = tensor.dtype.name
        self._flags = tensor.flags
        self._element = element_of(tensor.dtype)
        self._quantizer: Quantizer | None = None
        if tensor.dtype.kind == "quantized" and quantized == "dequantized":
            self._quantizer = quantizer_of(checkpoint, tensor)
        self.dtype: torch.dtype = _torch_dtype(tensor.dtype, dequantized=self._quantizer is not None)

    def __call__(self, units: npt.NDArray[Any], first: int) -> torch.Tensor:
        import numpy as np
        import torch

        stored = torch.from_numpy(units)
        if self._name == "float4_e2m1fn_x2" or self._is_narrow:
            return torch.from_numpy(pattern_values(self._name)[units]).to(self.dtype)
        if self._quantizer is not None:
            integers = units if units.itemsize == 4 else pattern_values(self._name)[units]
            return torch.from_numpy(self._quantizer.real(integers.astype(np.int64), first))
        if self._element.form == "complex":
            return self._complex(stored)
        values = stored.view(self.dtype)
        if self._name == "bool":
            return stored != 0
        return -values if self._flags & TensorFlag.NEG else values

    @property
    def _is_narrow(self) -> bool:
        """Whether values have bits in the file that do not count (`int4` in a byte)."""
        return (
            self._element.dtype.kind in ("int", "uint")
            and self._element.dtype.itemsize == 1
            and (self._name not in ("int8", "uint8"))
        )

    def _complex(self, units: torch.Tensor) -> torch.Tensor:
        import torch

        pairs = units.view(-1, 2)
        if pairs.dtype == torch.float16:
            pairs = pairs.to(torch.float32)
        if self._flags & (TensorFlag.CONJ | TensorFlag.NEG):
            pairs = pairs.clone()
            if self._flags & TensorFlag.NEG:
                pairs.neg_()
            if self._flags & TensorFlag.CONJ:
                pairs[:, 1].neg_()
        return torch.view_as_complex(pairs)


def _torch_dtype(dtype: DType, *, dequantized: bool) -> torch.dtype:
    import torch

    if dtype.name == "complex32":
        return torch.complex64
    if dequantized or dtype.name == "float4_e2m1fn_x2":
        return torch.float32
    if dtype.kind == "quantized":
        return {"qint8": torch.int8, "qint32": torch.int32}.get(dtype.name, torch.uint8)
    if dtype.kind == "bits":
        return torch.uint16 if dtype.itemsize == 2 else torch.uint8
    if dtype.kind in ("int", "uint") and dtype.itemsize == 1:
        return torch.int8 if dtype.kind == "int" else torch.uint8
    found: torch.dtype = getattr(torch, dtype.name)
    return found
