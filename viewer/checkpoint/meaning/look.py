"""Short ways to look into a checkpoint's columns."""

from __future__ import annotations

from typing import Final, cast

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.meaning.results import EntryTable
from viewer.checkpoint.nodes import Key, Kind, OtherKey
from viewer.checkpoint.tensors import NO_STORAGE, numel_of

CONTAINERS: Final = frozenset({Kind.MAPPING, Kind.SEQUENCE, Kind.SET, Kind.OBJECT, Kind.GROUP})
MAPPINGS: Final = frozenset({Kind.MAPPING, Kind.OBJECT, Kind.GROUP})

_TENSOR: Final = int(Kind.TENSOR)
_LINK: Final = int(Kind.LINK)
_SCALAR: Final = int(Kind.SCALAR)


class Look:
    """A checkpoint to look into.

    Attributes
    ----------
    nodes, tensors
        Its columns.
    numbers
        The value column, of which only the entries of tensors are to be read: their numbers.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.nodes = checkpoint.nodes
        self.tensors = checkpoint.tensors
        self.numbers = cast(list[int], checkpoint.nodes.value)

    def real(self, node: int) -> int:
        """The node that a link shows; the node itself where it is none."""
        for _ in range(8):
            if self.nodes.kind[node] != _LINK:
                break
            target = self.nodes.value[node]
            assert isinstance(target, int)
            node = target
        return node

    def members(self, node: int) -> dict[Key, int]:
        """Children by key, links followed."""
        children = self.nodes.children(node)
        found = dict(zip(self.nodes.key[children.start : children.stop], children, strict=True))
        if _LINK in self.nodes.kind[children.start : children.stop]:
            return {key: self.real(child) for key, child in found.items()}
        return found

    def named(self, node: int) -> dict[str, int]:
        """Children with text keys, links followed."""
        return {key: child for key, child in self.members(node).items() if type(key) is str}

    def state_of(self, entries: EntryTable, entry: int) -> dict[str, int]:
        """The members of an optimizer entry's state by name; none where the file has no state for it."""
        state = entries.state[entry]
        if state >= 0:
            return self.named(state) if self.is_mapping(state) else {}
        return entries.parts.get(entry, {})

    def items(self, node: int) -> list[int]:
        """Children of a list or tuple, links followed; attributes of a subclass left out."""
        children = self.nodes.children(node)
        keys = self.nodes.key[children.start : children.stop]
        return [self.real(child) for key, child in zip(keys, children, strict=True) if type(key) is int]

    def attribute(self, node: int, name: str) -> int | None:
        """An attribute that a mapping carries beside its keys (`_metadata`)."""
        wanted = OtherKey(f".{name}")
        # Attributes stand behind the keys.
        for child in reversed(self.nodes.children(node)):
            key = self.nodes.key[child]
            if key == wanted:
                return self.real(child)
            if type(key) is not OtherKey:
                return None
        return None

    def is_mapping(self, node: int) -> bool:
        return self.nodes.kind[node] in MAPPINGS

    def is_sequence(self, node: int) -> bool:
        return self.nodes.kind[node] == Kind.SEQUENCE

    def is_container(self, node: int) -> bool:
        return self.nodes.kind[node] in CONTAINERS

    def scalar(self, node: int | None) -> object:
        """The plain value of a node; None also where it is none."""
        if node is None or self.nodes.kind[node] != _SCALAR:
            return None
        return self.nodes.value[node]

    def number(self, node: int | None) -> int | float | None:
        """A plain number; bools are none."""
        value = self.scalar(node)
        return value if type(value) in (int, float) else None  # type: ignore[return-value]

    def is_number(self, node: int | None) -> bool:
        """A plain number, or a tensor of one element."""
        return self.number(node) is not None or (node is not None and self.shape(node) in ((), (1,)))

    def tensor(self, node: int | None) -> int | None:
        """The tensor's number; None where the node is no tensor."""
        if node is None or self.nodes.kind[node] != _TENSOR:
            return None
        return self.numbers[node]

    def shape(self, node: int | None) -> tuple[int, ...] | None:
        number = self.tensor(node)
        return None if number is None else self.tensors.shape[number]

    def class_name(self, node: int) -> str:
        """The class of an object as the file writes it; "" for builtins."""
        return self.nodes.type_name(node) if self.nodes.kind[node] == Kind.OBJECT else ""

    def identity(self, number: int) -> tuple[object, ...]:
        """Equal for two tensors that are the same elements of one storage."""
        tensors = self.tensors
        storage = tensors.storage[number]
        shape = tensors.shape[number]
        if storage == NO_STORAGE or numel_of(shape) == 0:
            return (number,)
        return (storage, tensors.storage_offset[number], shape, tensors.stride[number], tensors.dtype[number])

    def path(self, node: int) -> str:
        return self.checkpoint.path_of(node) or "the root"

    def key_text(self, node: int) -> str:
        """The last key of a node's path as text; "" for the root."""
        key = self.nodes.key[node]
        return key if isinstance(key, str) else str(key) if isinstance(key, int) else key.text
