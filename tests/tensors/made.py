"""Checkpoints made by hand around torch tensors: their storages as raw files, so that no container takes part."""

from __future__ import annotations

from pathlib import Path

import torch

from viewer.checkpoint.document import Checkpoint, FileFacts
from viewer.checkpoint.dtypes import DTYPE_CODE, dtype_named
from viewer.checkpoint.nodes import NodeTable
from viewer.checkpoint.tensors import INLINE, STORED, TensorFlag

PREFIX = b"not a part of any storage"
"""Stands before every storage in its file, so that an offset that is left out shows."""


def checkpoint_of(folder: Path, *tensors: torch.Tensor, big_endian: bool = False, inline: bool = False) -> Checkpoint:
    """A checkpoint of these tensors, each with a storage of its own in a file of its own."""
    checkpoint = Checkpoint(path=folder, container="made by hand", files=[], nodes=NodeTable())
    for tensor in tensors:
        add_tensor(checkpoint, folder, tensor, big_endian=big_endian, inline=inline)
    return checkpoint


def add_tensor(
    checkpoint: Checkpoint,
    folder: Path,
    tensor: torch.Tensor,
    *,
    big_endian: bool = False,
    inline: bool = False,
    extra: dict[str, object] | None = None,
) -> int:
    """Add a tensor as it lies in its storage, and return its number."""
    name = str(tensor.dtype).removeprefix("torch.")
    number = add_storage(checkpoint, folder, storage_bytes(tensor, big_endian), name, big_endian, inline)
    flags = (TensorFlag.CONJ if tensor.is_conj() else 0) | (TensorFlag.NEG if tensor.is_neg() else 0)
    return add_view(
        checkpoint, number, name, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), flags, extra
    )


def add_storage(
    checkpoint: Checkpoint, folder: Path, data: bytes, dtype: str, big_endian: bool = False, inline: bool = False
) -> int:
    storages = checkpoint.storages
    number = len(storages)
    storages.key.append(str(number))
    storages.dtype.append(DTYPE_CODE[dtype])
    storages.nbytes.append(len(data))
    storages.location.append("cpu")
    storages.length.append(len(data))
    storages.big_endian.append(int(big_endian))
    storages.encoding.append(INLINE if inline else STORED)
    if inline:
        storages.file.append(0)
        storages.offset.append(len(checkpoint.blobs))
        checkpoint.blobs.append(data)
    else:
        path = folder / f"storage{number}"
        path.write_bytes(PREFIX + data)
        storages.file.append(len(checkpoint.files))
        storages.offset.append(len(PREFIX))
        checkpoint.files.append(facts_of(path))
    return number


def add_view(
    checkpoint: Checkpoint,
    storage: int,
    dtype: str,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int = 0,
    flags: int = 0,
    extra: dict[str, object] | None = None,
) -> int:
    tensors = checkpoint.tensors
    number = len(tensors)
    tensors.dtype.append(DTYPE_CODE[dtype])
    tensors.shape.append(shape)
    tensors.stride.append(stride)
    tensors.storage.append(storage)
    tensors.storage_offset.append(offset)
    tensors.flags.append(flags)
    if extra is not None:
        tensors.extra[number] = extra
    return number


def facts_of(path: Path) -> FileFacts:
    status = path.stat()
    return FileFacts(path, status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)


def storage_bytes(tensor: torch.Tensor, big_endian: bool = False) -> bytes:
    """The bytes of the whole storage behind a tensor."""
    data = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).numpy().tobytes()
    dtype = dtype_named(str(tensor.dtype))
    unit = dtype.itemsize // (2 if dtype.kind == "complex" else 1)
    if not big_endian or unit == 1:
        return data
    return b"".join(data[at : at + unit][::-1] for at in range(0, len(data), unit))
