"""Pickles for tests: saved by torch, by pickle, or put together from opcodes."""

from __future__ import annotations

import io
import struct
import zipfile
from typing import Any

import torch

from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Key, NodeTable
from viewer.formats.limits import LIMITS, Limits
from viewer.formats.pickle import Loaded, PickleSession
from viewer.formats.tree import build_nodes


def saved_by_torch(item: object, **options: Any) -> tuple[bytes, bytes]:
    """The data.pkl of a file that torch saved, and the file."""
    file = io.BytesIO()
    torch.save(item, file, **options)
    with zipfile.ZipFile(file) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
        return archive.read(name), file.getvalue()


def load(data: bytes, *, limits: Limits = LIMITS, **options: Any) -> tuple[PickleSession, Loaded]:
    """A pickle, loaded in a session of its own."""
    session = PickleSession(limits)
    return session, session.load(data, source_name="data.pkl", **options)


def root_of(data: bytes) -> Any:
    return load(data)[1].root


def tree_of(data: bytes, *, limits: Limits = LIMITS, **options: Any) -> tuple[PickleSession, NodeTable]:
    session, loaded = load(data, limits=limits, **options)
    return session, build_nodes(loaded.root, session, limits)


def rows(nodes: NodeTable) -> list[tuple[tuple[Key, ...], str, str, object]]:
    """Every row in tree order: keys, kind, type, value."""
    from viewer.checkpoint.nodes import Kind

    return [
        (nodes.keys_to(node), Kind(nodes.kind[node]).name, nodes.type_name(node), nodes.value[node])
        for node in nodes.tree_order()
    ]


def values(nodes: NodeTable) -> dict[tuple[Key, ...], object]:
    return {keys: value for keys, _, _, value in rows(nodes)}


def put(index: int) -> bytes:
    return b"q" + bytes([index]) if index < 256 else b"r" + struct.pack("<I", index)


def get(index: int) -> bytes:
    return b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)


def text(value: str) -> bytes:
    raw = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(raw)) + raw


def named(module: str, name: str) -> bytes:
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def number(value: int) -> bytes:
    """An int of up to 255 bytes, as LONG1."""
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def storage_id(key: str = "0", kind: str = "FloatStorage", numel: int = 100, location: str = "cpu") -> bytes:
    """The persistent id of a storage."""
    return b"(" + text("storage") + named("torch", kind) + text(key) + text(location) + number(numel) + b"tQ"


def ints(values_: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(number, values_)) + b"t"


def tensor(size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0, storage: bytes | None = None) -> bytes:
    """A call of `_rebuild_tensor_v2`."""
    return (
        named("torch._utils", "_rebuild_tensor_v2")
        + b"("
        + (storage_id() if storage is None else storage)
        + number(offset)
        + ints(size)
        + ints(stride)
        + b"\x89"
        + named("collections", "OrderedDict")
        + b")RtR"
    )


def assert_same_tensor(session: PickleSession, row: int, expected: torch.Tensor) -> None:
    """A row says of a strided tensor what torch says of it."""
    tensors = session.tensors
    assert f"torch.{DTYPES[tensors.dtype[row]].name}" == str(expected.dtype)
    assert tensors.shape[row] == tuple(expected.shape)
    assert tensors.stride[row] == expected.stride()
    assert tensors.storage_offset[row] == expected.storage_offset()
    storage = tensors.storage[row]
    assert session.storages.nbytes[storage] == expected.untyped_storage().nbytes()
    assert row not in tensors.problem
