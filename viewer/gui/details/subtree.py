"""What lies below a node, added up. No Qt; a task, since a checkpoint may have a million nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES, DType
from viewer.checkpoint.nodes import Kind, NodeTable
from viewer.checkpoint.tensors import NO_STORAGE, TensorFlag, numel_of, tensor_at
from viewer.task import Progress, Task

_STEP: Final = 2_000
"""Nodes between two yields: about a millisecond."""


@dataclass(slots=True)
class DTypeShare:
    """Tensors of one dtype."""

    dtype: DType
    tensors: int = 0
    elements: int = 0
    nbytes: int = 0


@dataclass(slots=True)
class SubtreeFacts:
    """Sums over some nodes and everything below them. A tensor under several names counts once.

    Attributes
    ----------
    nodes
        All nodes.
    names
        Nodes that show a tensor.
    tensors, elements, nbytes
        Tensors, their elements, and the bytes of these elements packed densely, with `loose_nbytes`.
    loose_nbytes
        Bytes of storages that are saved by themselves.
    parameters
        Tensors that are Parameters.
    storages, stored_nbytes
        The storages that the tensors lie in, and all their bytes.
    by_dtype
        Largest first.
    devices
        Tensors by the device that they were saved on.
    problems
        Nodes that show what cannot be read.
    """

    nodes: int = 0
    names: int = 0
    tensors: int = 0
    elements: int = 0
    nbytes: int = 0
    loose_nbytes: int = 0
    parameters: int = 0
    storages: int = 0
    stored_nbytes: int = 0
    by_dtype: list[DTypeShare] = field(default_factory=list)
    devices: dict[str, int] = field(default_factory=dict)
    problems: list[int] = field(default_factory=list)


def levels_below(nodes: NodeTable, root: int) -> Iterator[range]:
    """The nodes below `root`, one range for each depth: nodes are numbered breadth first."""
    level = range(root, root + 1)
    while level:
        counts = nodes.n_children[level.start : level.stop]
        n_below = sum(counts)
        if not n_below:
            return
        parent = next(node for node, count in zip(level, counts, strict=True) if count)
        first = nodes.first_child[parent]
        level = range(first, first + n_below)
        yield level


def subtree_task(checkpoint: Checkpoint, roots: Sequence[int]) -> Task[SubtreeFacts]:
    """Add up `roots` and what lies below them.

    What a tensor is made of (the indices and values of a sparse one, attributes of a wrapped one) is part of that
    tensor and no tensor of its own; where the tensor has no storage, its bytes are those of its parts.
    """
    counter = _Counter(checkpoint)
    for root in roots:
        for level in chain((range(root, root + 1),), levels_below(checkpoint.nodes, root)):
            for start in range(level.start, level.stop, _STEP):
                counter.count(range(start, min(start + _STEP, level.stop)))
                yield Progress(counter.facts.nodes, 0, "nodes")
    return counter.total()


class _Counter:
    """The sums so far."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.facts = SubtreeFacts()
        self._shares: dict[int, DTypeShare] = {}
        self._seen: set[int] = set()
        self._seen_storages: set[int] = set()
        self._part_of: dict[int, DTypeShare | None] = {}
        """By node, of tensors with children and of all below them: the share that the parts' bytes go to."""

    def count(self, level: range) -> None:
        """Count these nodes."""
        nodes, facts = self.checkpoint.nodes, self.facts
        facts.nodes += len(level)
        for node in level:
            kind = nodes.kind[node]
            if kind == Kind.TENSOR:
                self._count_tensor(node)
                continue
            if kind == Kind.PROBLEM:
                facts.problems.append(node)
            elif kind == Kind.STORAGE:
                number = nodes.value[node]
                assert isinstance(number, int)
                self._count_storage(number)
                facts.loose_nbytes += self.checkpoint.storages.nbytes[number]
            if self._part_of and nodes.parent[node] in self._part_of:
                self._part_of[node] = self._part_of[nodes.parent[node]]

    def total(self) -> SubtreeFacts:
        """The sums, once all is counted."""
        facts = self.facts
        facts.tensors = sum(share.tensors for share in self._shares.values())
        facts.storages = len(self._seen_storages)
        facts.by_dtype = sorted(self._shares.values(), key=_largest_first)
        facts.elements = sum(share.elements for share in facts.by_dtype)
        facts.nbytes = sum(share.nbytes for share in facts.by_dtype) + facts.loose_nbytes
        return facts

    def _count_tensor(self, node: int) -> None:
        nodes, tensors, storages = self.checkpoint.nodes, self.checkpoint.tensors, self.checkpoint.storages
        number = nodes.value[node]
        assert isinstance(number, int)
        storage = tensors.storage[number]
        if number in tensors.problem or (storage != NO_STORAGE and storage in storages.problem):
            self.facts.problems.append(node)
        parent = nodes.parent[node]
        is_part = parent in self._part_of
        known = number in self._seen
        self._seen.add(number)
        nbytes = numel_of(tensors.shape[number]) * DTYPES[tensors.dtype[number]].itemsize
        if storage != NO_STORAGE:
            self._count_storage(storage)
        if is_part:
            whole = self._part_of[parent]
            self._part_of[node] = whole
            if whole is not None and storage != NO_STORAGE and not known:
                whole.nbytes += nbytes
            return
        share = self._shares.setdefault(tensors.dtype[number], DTypeShare(DTYPES[tensors.dtype[number]]))
        if nodes.n_children[node]:
            self._part_of[node] = share if storage == NO_STORAGE else None
        self.facts.names += 1
        if known:
            return
        share.tensors += 1
        share.elements += numel_of(tensors.shape[number])
        share.nbytes += nbytes if storage != NO_STORAGE else 0
        self.facts.parameters += bool(tensors.flags[number] & TensorFlag.PARAMETER)
        device = tensor_at(tensors, storages, number).device
        self.facts.devices[device] = self.facts.devices.get(device, 0) + 1

    def _count_storage(self, storage: int) -> None:
        if storage not in self._seen_storages:
            self._seen_storages.add(storage)
            self.facts.stored_nbytes += self.checkpoint.storages.nbytes[storage]


def names_task(checkpoint: Checkpoint, wanted: frozenset[int], *, besides: int | None = None) -> Task[list[int]]:
    """The nodes that show one of the tensors `wanted`, in the order of the node table."""
    nodes = checkpoint.nodes
    found: list[int] = []
    for start in range(0, len(nodes), 8 * _STEP):
        stop = min(start + 8 * _STEP, len(nodes))
        found += [
            node
            for node in range(start, stop)
            if nodes.kind[node] == Kind.TENSOR and nodes.value[node] in wanted and node != besides
        ]
        yield Progress(stop, len(nodes), "nodes")
    return found


def sharing_task(checkpoint: Checkpoint, node: int) -> Task[list[int]]:
    """The other nodes whose tensors lie in the same storage as that of `node`."""
    number = checkpoint.nodes.value[node]
    assert isinstance(number, int)
    storage = checkpoint.tensors.storage[number]
    if storage == NO_STORAGE:
        return []
    wanted = frozenset(n for n, other in enumerate(checkpoint.tensors.storage) if other == storage)
    return (yield from names_task(checkpoint, wanted, besides=node))


def _largest_first(share: DTypeShare) -> tuple[int, str]:
    return -share.nbytes, share.dtype.name
