"""Checkpoint files in every container, and the comparison of what is read from them with what torch reads."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import torch

from viewer import open_checkpoint
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import StorageRef, TensorRef
from viewer.formats.storage_bytes import StorageReader

DTYPES = (
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
    torch.complex128,
)


def many_tensors() -> dict[str, torch.Tensor]:
    """Every common dtype, views of one storage, tied, empty, scalar, expanded and transposed tensors."""
    tensors: dict[str, torch.Tensor] = {}
    for dtype in DTYPES:
        tensors[f"dtype.{str(dtype).removeprefix('torch.')}"] = (torch.arange(30) % 7).to(dtype).reshape(5, 6)
    base = torch.arange(1000, dtype=torch.float32)
    tensors["base"] = base
    tensors["tied"] = base
    tensors["slice"] = base[100:110]
    tensors["steps"] = base[3:99:5]
    tensors["transposed"] = base.reshape(20, 50).t()
    tensors["expanded"] = torch.ones(1, 1).expand(3, 4)
    tensors["scalar"] = torch.tensor(7, dtype=torch.int64)
    tensors["empty"] = torch.zeros(0, 3)
    tensors["nan"] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])
    return tensors


def save_zip(path: Path, content: object | None = None) -> Path:
    torch.save(many_tensors() if content is None else content, path)
    return path


def save_legacy(path: Path, content: object | None = None) -> Path:
    torch.save(many_tensors() if content is None else content, path, _use_new_zipfile_serialization=False)
    return path


Edit = Callable[[str, bytes], bytes | None]


class _Unseekable(io.RawIOBase):
    """What zipfile writes data descriptors to, because it cannot go back."""

    def __init__(self, raw: io.BufferedIOBase) -> None:
        self._raw = raw

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return self._raw.write(bytes(data))  # type: ignore[call-overload, no-any-return]

    def flush(self) -> None:
        self._raw.flush()


def rezip(
    source: Path,
    target: Path,
    *,
    compression: int = zipfile.ZIP_STORED,
    top: str | None = None,
    edit: Edit | None = None,
    streamed: bool = False,
    order: Callable[[list[str]], list[str]] | None = None,
) -> Path:
    """Write the records of a torch zip again with Python's zipfile.

    Parameters
    ----------
    top
        Another name for the folder; "" for none.
    edit
        Called with the name inside the folder and the content; returns the new content, or None to leave it out.
    """
    with zipfile.ZipFile(source) as old, target.open("wb") as raw:
        names = old.namelist() if order is None else order(old.namelist())
        sink = _Unseekable(raw) if streamed else raw
        with zipfile.ZipFile(sink, "w", compression) as new:  # type: ignore[arg-type]
            for name in names:
                folder, _, inner = name.partition("/")
                data: bytes | None = old.read(name)
                if edit is not None:
                    data = edit(inner, old.read(name))
                if data is None:
                    continue
                folder = folder if top is None else top
                new.writestr(zipfile.ZipInfo(f"{folder}/{inner}" if folder else inner), data, compression)
    return target


def tensors_at_root(checkpoint: Checkpoint) -> dict[str, TensorRef]:
    """The tensors of a flat state_dict by key."""
    found: dict[str, TensorRef] = {}
    for node in checkpoint.nodes.children(0):
        tensor = checkpoint.tensor_of_node(node)
        if tensor is not None:
            found[str(checkpoint.nodes.key[node])] = tensor
    return found


def bytes_of(checkpoint: Checkpoint, storage: StorageRef) -> bytes:
    """All bytes of a storage."""
    buffer = bytearray(storage.nbytes)
    with StorageReader(checkpoint) as reader:
        reader.read_into(storage, 0, buffer)
    return bytes(buffer)


def torch_bytes(tensor: torch.Tensor) -> bytes:
    """All bytes of the storage of a torch tensor."""
    storage = tensor.untyped_storage()
    return bytes(torch.empty(0, dtype=torch.uint8).set_(storage).numpy().tobytes())


def assert_reads_as_torch(path: Path, expected: dict[str, torch.Tensor] | None = None) -> Checkpoint:
    """Open a file with a flat state_dict and compare all of it with torch: layout, sharing and every byte.

    Parameters
    ----------
    expected
        What torch reads; by default `torch.load` is asked.
    """
    if expected is None:
        expected = torch.load(path, weights_only=True)
    checkpoint = open_checkpoint(path)
    found = tensors_at_root(checkpoint)
    assert list(found) == list(expected)
    by_pointer: dict[int, int] = {}
    for name, tensor in expected.items():
        there = found[name]
        assert there.problem is None, f"{name}: {there.problem}"
        assert there.dtype.name == str(tensor.dtype).removeprefix("torch."), name
        assert there.shape == tuple(tensor.shape), name
        assert there.stride == tensor.stride(), name
        assert there.storage_offset == tensor.storage_offset(), name
        assert there.storage is not None, name
        assert there.storage.nbytes == tensor.untyped_storage().nbytes(), name
        data = bytes_of(checkpoint, there.storage)
        if there.storage.big_endian:
            data = swap(data, there.dtype.itemsize // (2 if there.dtype.kind == "complex" else 1))
        assert data == torch_bytes(tensor), name
        if tensor.numel():
            number = by_pointer.setdefault(tensor.untyped_storage().data_ptr(), there.storage.number)
            assert number == there.storage.number, f"{name} shares another storage"
    return checkpoint


def swap(data: bytes, itemsize: int) -> bytes:
    """Each item's bytes in reverse order."""
    return b"".join(data[at : at + itemsize][::-1] for at in range(0, len(data), itemsize))


def zip_of(content: object) -> bytes:
    """What `torch.save` writes, as bytes."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    return buffer.getvalue()
