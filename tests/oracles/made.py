"""Generated checkpoints: tensors of any dtype and stride that share storages, in any nesting and container."""

from __future__ import annotations

import io
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st
from safetensors.torch import save as save_safetensors

FLOATS = ("float64", "float32", "float16", "bfloat16")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool")
COMPLEX = ("complex64", "complex128")
DTYPES = (*FLOATS, *FLOAT8, *INTS, *COMPLEX)

_BYTES = st.binary(min_size=16, max_size=400)
_SPECIAL = st.sampled_from([b"\0", b"\x80", b"\xff", b"\x7f\xc0", b"\x7f\x80", b"\0\0\x80\x7f", b"\x01"])
_KEYS = st.text(max_size=5) | st.integers(-9, 999)
_EXTENTS = st.lists(st.integers(0, 4), max_size=3)


@dataclass(frozen=True)
class Made:
    """A file, and what is in it.

    Attributes
    ----------
    container
        "zip", "legacy" or "safetensors".
    tensors
        By the keys that lead to them.
    """

    container: str
    data: bytes
    tensors: dict[tuple[Any, ...], torch.Tensor]


@st.composite
def storages(draw: st.DrawFn) -> torch.Tensor:
    """A dense vector of any dtype, of any bits."""
    name = draw(st.sampled_from(DTYPES))
    dtype = getattr(torch, name)
    data = draw(_BYTES) if draw(st.booleans()) else draw(_SPECIAL) * draw(st.integers(16, 60))
    data = data[: len(data) // dtype.itemsize * dtype.itemsize] or bytes(dtype.itemsize)
    if name == "bool":
        data = bytes(byte & 1 for byte in data)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype)


@st.composite
def views(draw: st.DrawFn, storage: torch.Tensor) -> torch.Tensor:
    """A view that lies inside a storage, with the flags that its dtype may have."""
    size = draw(_EXTENTS)
    room = storage.numel() - 1
    stride = []
    for extent in size:
        step = draw(st.integers(0, room // (extent - 1) if extent > 1 else 5))
        stride.append(step)
        room -= max(extent - 1, 0) * step
    view = torch.as_strided(storage, size, stride, draw(st.integers(0, room)))
    if view.is_complex() and draw(st.booleans()):
        view = view.conj()
    if view.is_floating_point() and view.dtype.itemsize > 1 and draw(st.booleans()):
        view = torch.nn.Parameter(view, requires_grad=draw(st.booleans()))
    return view


@st.composite
def checkpoints(draw: st.DrawFn) -> Made:
    """A whole file."""
    tensors: list[torch.Tensor] = []
    for storage in draw(st.lists(storages(), min_size=1, max_size=3)):
        tensors += draw(st.lists(views(storage), min_size=1, max_size=3))
    container = draw(st.sampled_from(["zip", "zip", "legacy", "safetensors"]))
    if container == "safetensors":
        tensors = [tensor for tensor in tensors if tensor.dtype != torch.complex128]  # which it does not know
        named = {f"layers.{at}.weight": plain(tensor) for at, tensor in enumerate(tensors) if tensor.numel()}
        return Made(container, save_safetensors(named), {(name,): tensor for name, tensor in named.items()})
    root, paths = draw(_nested(tensors))
    file = io.BytesIO()
    torch.save(
        root,
        file,
        pickle_protocol=draw(st.integers(2, 5)),
        _use_new_zipfile_serialization=container == "zip",
    )
    return Made(container, file.getvalue(), paths)


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """A dense copy with memory of its own: all that safetensors holds."""
    # A clone would keep odd strides of extents of 0 and 1.
    return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach())


@st.composite
def _nested(draw: st.DrawFn, tensors: list[torch.Tensor]) -> tuple[Any, dict[tuple[Any, ...], torch.Tensor]]:
    """Containers around the tensors, and the keys that lead to each."""
    parts: list[tuple[Any, dict[tuple[Any, ...], torch.Tensor]]] = [(tensor, {(): tensor}) for tensor in tensors]
    while len(parts) > 1 or not isinstance(parts[0][0], (dict, list, tuple)):
        count = draw(st.integers(1, len(parts)))
        taken, parts = parts[:count], parts[count:]
        kind = draw(st.sampled_from(["dict", "ordered", "list", "tuple"]))
        keys: list[Any] = list(range(count))
        if kind in ("dict", "ordered"):
            keys = draw(
                st.lists(st.text(max_size=5) | st.integers(-9, 999), min_size=count, max_size=count, unique=True)
            )
        items = [value for value, _ in taken]
        made = {"list": list, "tuple": tuple}.get(kind, OrderedDict if kind == "ordered" else dict)(
            items if kind in ("list", "tuple") else zip(keys, items, strict=True)
        )
        paths = {
            (key, *below): x for key, (_, inside) in zip(keys, taken, strict=True) for below, x in inside.items()
        }
        parts.append((made, paths))
    return parts[0]
