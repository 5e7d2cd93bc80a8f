"""Checkpoints made without a file, for what would take long to write: columns only, no values."""

from __future__ import annotations

from pathlib import Path

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPE_CODE
from viewer.checkpoint.tensors import StorageTable, TensorTable, contiguous_stride, numel_of
from viewer.formats.pickle.standins import TensorStandIn
from viewer.formats.tree import build_nodes


class Columns:
    """Tensors with a storage each."""

    def __init__(self) -> None:
        self.tensors = TensorTable()
        self.storages = StorageTable()

    def tensor(self, *shape: int, dtype: str = "float32") -> TensorStandIn:
        tensors, storages = self.tensors, self.storages
        code = DTYPE_CODE[dtype]
        nbytes = 4 * numel_of(shape)
        storages.key.append(str(len(storages)))
        storages.location.append("cpu")
        for column, value in (
            (storages.dtype, code),
            (storages.nbytes, nbytes),
            (storages.encoding, 0),
            (storages.file, 0),
            (storages.offset, 0),
            (storages.length, nbytes),
            (storages.big_endian, 0),
            (tensors.dtype, code),
            (tensors.storage, len(tensors)),
            (tensors.storage_offset, 0),
            (tensors.flags, 0),
        ):
            column.append(value)
        tensors.shape.append(shape)
        tensors.stride.append(contiguous_stride(shape))
        return TensorStandIn(len(tensors) - 1)

    def checkpoint(self, root: object) -> Checkpoint:
        nodes = build_nodes(root, self.tensors)
        return Checkpoint(Path("handmade.pth"), "torch zip", [], nodes, self.tensors, self.storages)
