"""Checkpoints made by hand from nested Python values: what a report is given, without any file."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

from viewer.checkpoint.document import Checkpoint, FileFacts
from viewer.checkpoint.dtypes import DTYPE_CODE
from viewer.checkpoint.nodes import Key, Kind, NodeTable, OtherKey
from viewer.checkpoint.tensors import STORED, StorageTable, TensorTable, contiguous_stride, numel_of


@dataclass(frozen=True)
class Node:
    """A node that is not a plain value."""

    kind: Kind
    type_name: str
    value: object = None


@dataclass(frozen=True)
class Float32:
    """A contiguous float32 tensor; one storage each."""

    shape: tuple[int, ...]
    location: str = "cpu"


def checkpoint_of(root: object, name: str = "made.pth") -> Checkpoint:
    """A checkpoint whose tree is `root`: dicts, lists, plain values, `Node` and `Float32`."""
    nodes = NodeTable()
    tensors, storages = TensorTable(), StorageTable()
    types: dict[str, int] = {}
    waiting: deque[tuple[object, int, Key]] = deque([(root, -1, "")])
    while waiting:
        value, parent, key = waiting.popleft()
        node = len(nodes)
        kind, type_name, held, children = _describe(value, tensors, storages)
        nodes.kind.append(kind)
        nodes.type_id.append(types.setdefault(type_name, len(types)))
        nodes.parent.append(parent)
        nodes.key.append(key)
        nodes.value.append(held)
        nodes.first_child.append(node + 1 + len(waiting) if children else 0)
        nodes.n_children.append(len(children))
        waiting.extend((child, node, child_key) for child_key, child in children)
    nodes.types = list(types)
    facts = FileFacts(path=Path(name), nbytes=1234, mtime_ns=0, inode=0, device=0)
    return Checkpoint(Path(name), "torch zip", [facts], nodes, tensors, storages)


def _describe(
    value: object, tensors: TensorTable, storages: StorageTable
) -> tuple[Kind, str, object, list[tuple[Key, object]]]:
    if isinstance(value, Node):
        return value.kind, value.type_name, value.value, []
    if isinstance(value, Float32):
        return Kind.TENSOR, "tensor", _add_float32(value, tensors, storages), []
    if isinstance(value, dict):
        return Kind.MAPPING, "dict", None, [(_key(key), item) for key, item in value.items()]
    if isinstance(value, list):
        return Kind.SEQUENCE, "list", None, list(enumerate(value))
    return Kind.SCALAR, type(value).__name__, value, []


def _key(key: object) -> Key:
    if isinstance(key, (str, OtherKey)) or type(key) is int:
        return key
    return OtherKey(repr(key))


def _add_float32(made: Float32, tensors: TensorTable, storages: StorageTable) -> int:
    nbytes = 4 * numel_of(made.shape)
    storages.key.append(str(len(storages)))
    storages.dtype.append(DTYPE_CODE["float32"])
    storages.nbytes.append(nbytes)
    storages.location.append(made.location)
    storages.encoding.append(STORED)
    for column in (storages.file, storages.offset, storages.big_endian):
        column.append(0)
    storages.length.append(nbytes)
    tensors.dtype.append(DTYPE_CODE["float32"])
    tensors.shape.append(made.shape)
    tensors.stride.append(contiguous_stride(made.shape))
    tensors.storage.append(len(storages) - 1)
    tensors.storage_offset.append(0)
    tensors.flags.append(0)
    return len(tensors) - 1
