"""Tensors of a checkpoint as live objects of torch, with the strides, storages and sharing of the file.

What is built is made of dict, OrderedDict, list, tuple and plain scalars alone: nothing that a file names is
imported. Objects of other classes are left out, and said.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Key, Kind, OtherKey
from viewer.checkpoint.paths import format_path
from viewer.checkpoint.tensors import StorageRef, TensorFlag, TensorRef
from viewer.errors import ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task

if TYPE_CHECKING:
    import torch

_STEP_NBYTES: Final = 16 << 20
_COMPRESSED: Final = {
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
    "sparse_bsc": ("ccol_indices", "row_indices"),
}
_MAX_SAID: Final = 100


@dataclass(slots=True)
class Live:
    """A part of a checkpoint in memory.

    Attributes
    ----------
    root
        A tensor, or containers of tensors and scalars.
    nbytes
        Of the storages that were read.
    left_out
        Sentences about what is missing; at most _MAX_SAID.
    """

    root: object
    nbytes: int = 0
    left_out: list[str] = field(default_factory=list)


class _CannotBuild(Exception):
    """A tensor that torch cannot be given here; the text says why."""


_MISSING: Final = object()


def storage_nbytes(checkpoint: Checkpoint, node: int) -> int:
    """Bytes of all storages that a part of a checkpoint needs, each counted once."""
    storages: set[int] = set()
    waiting, seen = [node], {node}
    while waiting:
        for below in checkpoint.nodes.tree_order(waiting.pop()):
            kind, value = checkpoint.nodes.kind[below], checkpoint.nodes.value[below]
            if kind == Kind.TENSOR:
                storages.update(_storages_of(checkpoint, cast(int, value)))
            elif kind == Kind.LINK and value not in seen:
                seen.add(cast(int, value))
                waiting.append(cast(int, value))
    return sum(checkpoint.storages.nbytes[number] for number in storages)


def _storages_of(checkpoint: Checkpoint, number: int) -> set[int]:
    own = checkpoint.tensors.storage[number]
    found = {own} if own >= 0 else set()
    for part in checkpoint.tensors.extra.get(number, {}).values():
        if type(part) is int and 0 <= part < len(checkpoint.tensors) and checkpoint.tensors.storage[part] >= 0:
            found.add(checkpoint.tensors.storage[part])
    return found


def live_task(checkpoint: Checkpoint, node: int, device: str) -> Task[Live]:
    """Build a part of a checkpoint on a device. Progress is in bytes.

    Raises
    ------
    ViewerError
        When nothing is left, or the file changed.
    DeviceProblem
        When the device is missing or full.
    """
    from viewer.tensors.devices import device_errors, torch_device

    target = torch_device(device)
    with StorageReader(checkpoint) as reader:
        builder = _Builder(checkpoint, reader, target, storage_nbytes(checkpoint, node))
        with device_errors(device):
            root = yield from builder.node_task(node, ())
    if root is _MISSING:
        said = builder.live.left_out
        raise ViewerError(
            f"nothing here can be saved and reloaded{': ' + said[0] if said else ''}", path=checkpoint.path
        )
    builder.live.root = root
    return builder.live


class _Builder:
    def __init__(self, checkpoint: Checkpoint, reader: StorageReader, device: torch.device, total: int) -> None:
        self.live = Live(None)
        self._checkpoint = checkpoint
        self._reader = reader
        self._device = device
        self._total = total
        self._storages: dict[int, torch.UntypedStorage] = {}
        self._tensors: dict[int, torch.Tensor] = {}
        self._made: dict[int, object] = {}
        self._open: set[int] = set()

    def node_task(self, node: int, keys: tuple[Key, ...]) -> Task[object]:
        nodes = self._checkpoint.nodes
        if nodes.kind[node] == Kind.LINK:
            node = cast(int, nodes.value[node])
            if node in self._open:
                return self._leave_out(keys, "it contains itself")
        if node not in self._made:
            self._open.add(node)
            self._made[node] = yield from self._new_node_task(node, keys)
            self._open.discard(node)
        return self._made[node]

    def _new_node_task(self, node: int, keys: tuple[Key, ...]) -> Task[object]:
        nodes = self._checkpoint.nodes
        kind, name = Kind(nodes.kind[node]), nodes.type_name(node)
        if kind == Kind.TENSOR:
            try:
                return (yield from self._tensor_task(cast(int, nodes.value[node])))
            except (_CannotBuild, ViewerError) as error:
                return self._leave_out(keys, str(error))
        if kind == Kind.SCALAR and type(nodes.value[node]).__name__ == name:
            return nodes.value[node]
        if kind in (Kind.MAPPING, Kind.GROUP) and (kind == Kind.GROUP or name in ("dict", "OrderedDict")):
            made: dict[object, object] = OrderedDict() if name == "OrderedDict" else {}
            for child in nodes.children(node):
                key = nodes.key[child]
                if isinstance(key, OtherKey):
                    if not key.text.startswith(
                        "."
                    ):  # attributes of the dict, such as _metadata, are not content here
                        self._leave_out((*keys, key), "its key is of an unusual kind")
                    continue
                item = yield from self.node_task(child, (*keys, key))
                if item is not _MISSING:
                    made[key] = item
            return made
        if kind == Kind.SEQUENCE and name in ("list", "tuple"):
            items = []
            for child in nodes.children(node):
                item = yield from self.node_task(child, (*keys, nodes.key[child]))
                if item is not _MISSING:
                    items.append(item)
            return items if name == "list" else tuple(items)
        what = "the name of a class or function" if kind == Kind.REFERENCE else name
        return self._leave_out(keys, f"{what} is no plain container, tensor or scalar")

    def _leave_out(self, keys: tuple[Key, ...], why: str) -> object:
        if len(self.live.left_out) < _MAX_SAID:
            self.live.left_out.append(f"{format_path(keys) or 'this'}: {why}")
        return _MISSING

    def _tensor_task(self, number: int) -> Task[torch.Tensor]:
        made = self._tensors.get(number)
        if made is None:
            made = yield from self._new_tensor_task(self._checkpoint.tensor(number))
            self._tensors[number] = made
        return made

    def _new_tensor_task(self, tensor: TensorRef) -> Task[torch.Tensor]:
        import torch

        if tensor.problem:
            raise _CannotBuild(tensor.problem)
        if tensor.layout.startswith("sparse"):
            made = yield from self._sparse_task(tensor)
        elif tensor.storage is None:
            if tensor.extra.get("device") != "meta":
                raise _CannotBuild(f"a tensor of layout {tensor.layout} is not rebuilt")
            made = torch.empty(tensor.shape, dtype=_dtype(tensor), device="meta")
        else:
            storage = yield from self._storage_task(tensor.storage)
            if tensor.dtype.kind == "quantized":
                made = yield from self._quantized_task(tensor, storage)
            else:
                made = torch.empty(0, dtype=_dtype(tensor), device=self._device)
                made.set_(storage, tensor.storage_offset, tensor.shape, tensor.stride)
        if tensor.flags & TensorFlag.CONJ:
            made = made.conj()
        if tensor.flags & TensorFlag.NEG:
            made = torch._neg_view(made)
        if tensor.is_parameter:
            return torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
        return made.requires_grad_() if tensor.requires_grad else made

    def _sparse_task(self, tensor: TensorRef) -> Task[torch.Tensor]:
        import torch

        names = ("indices", "values") if tensor.layout == "sparse_coo" else (*_COMPRESSED[tensor.layout], "values")
        parts = []
        for name in names:
            number = tensor.extra.get(name)
            if not isinstance(number, int):
                raise _CannotBuild(f"it has no {name}")
            parts.append((yield from self._tensor_task(number)))
        # check_invariants: indexes out of range would make torch read elsewhere.
        made: torch.Tensor
        if tensor.layout == "sparse_coo":
            coalesced = True if tensor.extra.get("is_coalesced") is True else None
            make: Callable[..., torch.Tensor] = torch.sparse_coo_tensor
            made = make(*parts, tensor.shape, check_invariants=True, is_coalesced=coalesced)
        else:
            compress: Callable[..., torch.Tensor] = torch.sparse_compressed_tensor
            made = compress(*parts, tensor.shape, layout=getattr(torch, tensor.layout), check_invariants=True)
        return made

    def _quantized_task(self, tensor: TensorRef, storage: torch.UntypedStorage) -> Task[torch.Tensor]:
        import torch

        extra = tensor.extra
        if self._device.type != "cpu":
            raise _CannotBuild("quantized tensors are rebuilt on the CPU only")
        scheme = getattr(torch, str(extra.get("qscheme")), None)
        params: tuple[object, ...]
        if scheme is torch.per_tensor_affine:
            params = (scheme, extra.get("scale"), extra.get("zero_point"))
        elif "scales" in extra and "zero_points" in extra:
            scales = yield from self._tensor_task(cast(int, extra["scales"]))
            zero_points = yield from self._tensor_task(cast(int, extra["zero_points"]))
            params = (scheme, scales, zero_points, extra.get("axis"))
        else:
            raise _CannotBuild(f"its quantizer {extra.get('qscheme')} is not known")
        wrap: Callable[..., object] = torch.storage.TypedStorage
        rebuild: Callable[..., torch.Tensor] = torch._utils._rebuild_qtensor
        typed = wrap(wrap_storage=storage, dtype=_dtype(tensor), _internal=True)
        return rebuild(typed, tensor.storage_offset, tensor.shape, tensor.stride, params, False, OrderedDict())

    def _storage_task(self, storage: StorageRef) -> Task[torch.UntypedStorage]:
        import torch

        made = self._storages.get(storage.number)
        if made is not None:
            return made
        if storage.problem:
            raise _CannotBuild(storage.problem)
        data = torch.empty(storage.nbytes, dtype=torch.uint8)
        view = data.numpy().data
        for start in range(0, storage.nbytes, _STEP_NBYTES):
            self._reader.read_into(storage, start, view[start : start + _STEP_NBYTES])
            yield Progress(self.live.nbytes + start, max(self._total, 1))
        if storage.big_endian != (sys.byteorder == "big"):
            _swap(data, storage)
        self.live.nbytes += storage.nbytes
        made = data.to(self._device).untyped_storage()
        self._storages[storage.number] = made
        return made


def _dtype(tensor: TensorRef) -> torch.dtype:
    import torch

    found = getattr(torch, tensor.dtype.name, None)
    if not isinstance(found, torch.dtype):
        raise _CannotBuild(f"this torch has no dtype {tensor.dtype.name}")
    return found


def _swap(data: torch.Tensor, storage: StorageRef) -> None:
    """Bring elements into this machine's byte order; of complex numbers each part by itself."""
    itemsize = storage.dtype.itemsize // (2 if storage.dtype.kind == "complex" else 1)
    if itemsize > 1:
        data.numpy().view(f"u{itemsize}").byteswap(inplace=True)
