"""Checkpoints made by hand from nested Python objects, without a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from viewer.checkpoint.document import Checkpoint, FileFacts, GlobalUse
from viewer.checkpoint.dtypes import DTYPE_CODE, DTYPES
from viewer.checkpoint.nodes import Key, Kind, NodeTable
from viewer.checkpoint.tensors import NO_STORAGE, StorageTable, TensorTable, contiguous_stride, numel_of


@dataclass(frozen=True)
class Tensor:
    """A tensor leaf; two with the same `name` are one tensor."""

    shape: tuple[int, ...] = (2, 3)
    dtype: str = "float32"
    name: str | None = None
    stored: bool = True
    problem: str | None = None
    children: tuple[tuple[Key, object], ...] = ()


@dataclass(frozen=True)
class Problem:
    message: str


@dataclass(frozen=True)
class Link:
    target: int


@dataclass(frozen=True)
class Typed:
    """A container or value with a type name and kind of its own."""

    type_name: str
    value: object
    kind: Kind | None = None


def make_checkpoint(root: object, path: Path | str = "model.pth", globals_: Iterable[GlobalUse] = ()) -> Checkpoint:
    """The checkpoint that holds `root`: dicts, lists, Tensors, Problems, Links, Typed and plain values."""
    maker = _Maker()
    maker.add_all(root)
    return Checkpoint(
        Path(path),
        "torch zip",
        [FileFacts(Path(path), 4096, 0, 0, 0)],
        maker.nodes,
        maker.tensors,
        maker.storages,
        list(globals_),
    )


class _Maker:
    def __init__(self) -> None:
        self.nodes = NodeTable()
        self.tensors = TensorTable()
        self.storages = StorageTable()
        self._named: dict[str, int] = {}

    def add_all(self, root: object) -> None:
        queue: list[tuple[object, int, Key]] = [(root, -1, "")]
        for node, (thing, parent, key) in enumerate(queue):
            if parent >= 0:
                if not self.nodes.n_children[parent]:
                    self.nodes.first_child[parent] = node
                self.nodes.n_children[parent] += 1
            kind, type_name, value, children = self._parts(thing)
            if type_name not in self.nodes.types:
                self.nodes.types.append(type_name)
            self.nodes.kind.append(kind)
            self.nodes.type_id.append(self.nodes.types.index(type_name))
            self.nodes.parent.append(parent)
            self.nodes.first_child.append(0)
            self.nodes.n_children.append(0)
            self.nodes.key.append(key)
            self.nodes.value.append(value)
            queue += [(child, node, child_key) for child_key, child in children]

    def _parts(self, thing: object) -> tuple[Kind, str, object, list[tuple[Key, object]]]:
        if isinstance(thing, Typed):
            kind, _, value, children = self._parts(thing.value)
            return (kind if thing.kind is None else thing.kind), thing.type_name, value, children
        if isinstance(thing, dict):
            return Kind.MAPPING, "dict", None, list(thing.items())
        if isinstance(thing, list):
            return Kind.SEQUENCE, "list", None, list(enumerate(thing))
        if isinstance(thing, Tensor):
            return Kind.TENSOR, "tensor", self._tensor(thing), list(thing.children)
        if isinstance(thing, Problem):
            return Kind.PROBLEM, "problem", thing.message, []
        if isinstance(thing, Link):
            return Kind.LINK, "dict", thing.target, []
        return Kind.SCALAR, type(thing).__name__, thing, []

    def _tensor(self, tensor: Tensor) -> int:
        if tensor.name is not None and tensor.name in self._named:
            return self._named[tensor.name]
        number = len(self.tensors)
        code = DTYPE_CODE[tensor.dtype]
        self.tensors.dtype.append(code)
        self.tensors.shape.append(tensor.shape)
        self.tensors.stride.append(contiguous_stride(tensor.shape) if tensor.stored else ())
        self.tensors.storage.append(len(self.storages) if tensor.stored else NO_STORAGE)
        self.tensors.storage_offset.append(0)
        self.tensors.flags.append(0)
        if tensor.problem is not None:
            self.tensors.problem[number] = tensor.problem
        if tensor.stored:
            self._storage(code, min(numel_of(tensor.shape), 2**40) * DTYPES[code].itemsize)
        if tensor.name is not None:
            self._named[tensor.name] = number
        return number

    def _storage(self, code: int, nbytes: int) -> None:
        storages = self.storages
        storages.key.append(str(len(storages)))
        storages.dtype.append(code)
        storages.nbytes.append(nbytes)
        storages.location.append("cpu")
        storages.encoding.append(0)
        storages.file.append(0)
        storages.offset.append(0)
        storages.length.append(nbytes)
        storages.big_endian.append(0)


def experts(layers: int, per_layer: int, weights: int = 10) -> Checkpoint:
    """A state_dict of layers × per_layer × weights tensors."""
    names = (
        f"model.layers.{layer}.mlp.experts.{expert}.p{weight}.weight"
        for layer in range(layers)
        for expert in range(per_layer)
        for weight in range(weights)
    )
    tensor = Tensor((64, 64), "bfloat16")
    return make_checkpoint(Typed("OrderedDict", dict.fromkeys(names, tensor)), "experts.pth")
