"""The tensors of a whole file, added up by part and by device, the largest and the wasteful. No Qt; a task.

A tensor is counted once: what is the same elements of one storage under several names (tied weights) is one tensor.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import NO_STORAGE, numel_of, span_of
from viewer.gui.details.facts import usage
from viewer.task import Progress, Task

_STEP: Final = 1_000
"""Tensors between two yields: some milliseconds."""
N_LARGEST: Final = 10
N_WASTEFUL: Final = 10


@dataclass(slots=True)
class Sum:
    """Tensors that have something in common.

    Attributes
    ----------
    name
        What they have in common.
    node
        The entry that holds them all; None where there is none.
    """

    name: str
    node: int | None = None
    tensors: int = 0
    elements: int = 0
    nbytes: int = 0


@dataclass(frozen=True, slots=True)
class Waste:
    """A storage that holds more than its tensors show.

    Attributes
    ----------
    node
        The first tensor that lies in it.
    tensors
        How many do.
    used, stored
        Bytes that they show, at most, and bytes of the storage.
    """

    node: int
    tensors: int
    used: int
    stored: int

    @property
    def wasted(self) -> int:
        return self.stored - self.used


@dataclass(slots=True)
class WholeFacts:
    """A whole file.

    Attributes
    ----------
    tensors, elements, nbytes
        Each tensor once.
    tied
        Further tensors that are the same elements as one before them.
    part_of
        The entry whose parts `parts` are: the outermost one that holds several.
    parts, devices
        Largest first.
    largest
        Node and bytes of the largest tensors.
    wasteful
        Storages that hold more than is used, the greatest waste first; not all of them.
    n_wasteful, wasted
        All of them, and the bytes that none of their tensors shows.
    node_of
        By tensor number, the first node that shows it.
    """

    tensors: int = 0
    elements: int = 0
    nbytes: int = 0
    tied: int = 0
    part_of: int = 0
    parts: list[Sum] = field(default_factory=list)
    devices: list[Sum] = field(default_factory=list)
    largest: list[tuple[int, int]] = field(default_factory=list)
    wasteful: list[Waste] = field(default_factory=list)
    n_wasteful: int = 0
    wasted: int = 0
    node_of: dict[int, int] = field(default_factory=dict)


def whole_task(checkpoint: Checkpoint) -> Task[WholeFacts]:
    """Add up all tensors of a file."""
    return (yield from _Whole(checkpoint).run())


class _Whole:
    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self.facts = WholeFacts()
        self._shown: list[tuple[int, int, int]] = []
        """Node, bytes and elements of each tensor, once."""
        self._largest: list[tuple[int, int]] = []
        """Bytes and negative node of the largest so far."""
        self._loose: set[object] = set()
        """Storages that are shown by themselves, as a whole."""
        self._views: dict[int, list[int]] = {}
        """By storage, the tensors in it."""
        self._node_of = self.facts.node_of

    def run(self) -> Generator[Progress, None, WholeFacts]:
        yield from self._gather()
        yield from self._sum_parts()
        yield from self._find_waste()
        self.facts.largest = [(-node, nbytes) for nbytes, node in sorted(self._largest, reverse=True)]
        return self.facts

    def _gather(self) -> Generator[Progress, None, None]:
        nodes, tensors, storages = self.checkpoint.nodes, self.checkpoint.tensors, self.checkpoint.storages
        devices: dict[str, Sum] = {}
        seen: set[tuple[object, ...]] = set()
        is_part: set[int] = set()  # tensors with entries inside, and those entries
        for node in range(len(nodes)):
            kind = nodes.kind[node]
            if is_part and nodes.parent[node] in is_part:
                is_part.add(node)
            if node % (8 * _STEP) == 0:
                yield Progress(node, len(nodes), "nodes")
            if kind == Kind.STORAGE:
                self._loose.add(nodes.value[node])
            if kind != Kind.TENSOR:
                continue
            number = nodes.value[node]
            assert isinstance(number, int)
            storage = tensors.storage[number]
            if number not in self._node_of:
                self._node_of[number] = node
                if storage != NO_STORAGE:
                    self._views.setdefault(storage, []).append(number)
            if node in is_part:
                continue
            if nodes.n_children[node] and storage == NO_STORAGE:
                is_part.add(node)
            identity = _identity(self.checkpoint, number)
            if identity in seen:
                self.facts.tied += 1
                continue
            seen.add(identity)
            elements = numel_of(tensors.shape[number])
            nbytes = elements * DTYPES[tensors.dtype[number]].itemsize if storage != NO_STORAGE else 0
            self._shown.append((node, nbytes, elements))
            self.facts.elements += elements
            self.facts.nbytes += nbytes
            if nbytes:  # of equally large ones the first in the file
                (heapq.heappush if len(self._largest) < N_LARGEST else heapq.heappushpop)(
                    self._largest, (nbytes, -node)
                )
            device = (
                storages.location[storage]
                if storage != NO_STORAGE
                else str(tensors.extra.get(number, {}).get("device", "cpu"))
            )
            _add(devices.setdefault(device, Sum(device)), nbytes, elements)
            if len(self._shown) % _STEP == 0:
                yield Progress(node, len(nodes), "nodes")
        self.facts.tensors = len(self._shown)
        self.facts.devices = sorted(devices.values(), key=_largest_first)

    def _sum_parts(self) -> Generator[Progress, None, None]:
        """By entry of the outermost container that holds tensors in several; by the first part of dotted names where
        its entries are the tensors themselves."""
        nodes = self.checkpoint.nodes
        top = yield from self._outermost()
        self.facts.part_of = top
        parts: dict[object, Sum] = {}
        n_common = yield from self._n_common(top)
        for seen, (node, nbytes, elements) in enumerate(self._shown):
            below = node
            while nodes.parent[below] not in (top, -1):
                below = nodes.parent[below]
            key = nodes.key[below]
            if below == node and isinstance(key, str) and "." in key:
                names = key.split(".")
                prefix = ".".join(names[: min(n_common + 1, len(names) - 1)])
                part = parts.setdefault((top, prefix), Sum(prefix))
            else:
                part = parts.setdefault(below, Sum(_key_text(self.checkpoint, below), below))
            _add(part, nbytes, elements)
            if seen % _STEP == _STEP - 1:
                yield Progress(seen, len(self._shown), "tensors")
        self.facts.parts = sorted(parts.values(), key=_largest_first)

    def _n_common(self, top: int) -> Generator[Progress, None, int]:
        """How many first parts all dotted names in `top` share ("module." of a wrapped model)."""
        nodes = self.checkpoint.nodes
        common: list[str] | None = None
        for seen, (node, _, _) in enumerate(self._shown):
            key = nodes.key[node]
            if nodes.parent[node] != top or not isinstance(key, str):
                return 0
            if common is None:
                common = key.split(".")[:-1]
            while common and not key.startswith(".".join(common) + "."):
                common.pop()
            if not common:
                return 0
            if seen % _STEP == _STEP - 1:
                yield Progress(seen, len(self._shown), "tensors")
        return len(common or ())

    def _outermost(self) -> Generator[Progress, None, int]:
        """The lowest entry that everything lies in."""
        nodes = self.checkpoint.nodes
        chain: list[int] | None = None  # from the root down
        for seen, (node, _, _) in enumerate(self._shown):
            above = [nodes.parent[node]]
            while above[-1] > 0:
                above.append(nodes.parent[above[-1]])
            above.reverse()
            if chain is None:
                chain = above
            else:
                same = 0
                for ours, theirs in zip(chain, above, strict=False):
                    if ours != theirs:
                        break
                    same += 1
                chain = chain[:same]
            if len(chain) <= 1:
                break
            if seen % _STEP == _STEP - 1:
                yield Progress(seen, len(self._shown), "tensors")
        return max(chain[-1], 0) if chain else 0

    def _find_waste(self) -> Generator[Progress, None, None]:
        checkpoint, storages = self.checkpoint, self.checkpoint.storages
        found: list[Waste] = []
        for seen, (storage, numbers) in enumerate(self._views.items()):
            stored = storages.nbytes[storage]
            if storage not in self._loose and storage not in storages.problem:
                used = _used(checkpoint, numbers, stored)
                if used < stored:
                    found.append(Waste(self._node_of[numbers[0]], len(numbers), used, stored))
            if seen % _STEP == _STEP - 1:
                yield Progress(seen, len(self._views), "storages")
        self.facts.n_wasteful = len(found)
        self.facts.wasted = sum(waste.wasted for waste in found)
        self.facts.wasteful = heapq.nlargest(N_WASTEFUL, found, key=_wasted)


def _used(checkpoint: Checkpoint, numbers: Sequence[int], stored: int) -> int:
    """Bytes of a storage that tensors show. Of several tensors, what lies between the first and the last element of
    one counts as shown, so the true use may be less."""
    if len(numbers) == 1:
        tensors, number = checkpoint.tensors, numbers[0]
        itemsize = DTYPES[tensors.dtype[number]].itemsize
        if span_of(tensors.shape[number], tensors.stride[number]) == numel_of(tensors.shape[number]):
            return min(stored, numel_of(tensors.shape[number]) * itemsize)
        found = usage(checkpoint.tensor(number))
        return stored if found is None else found.used
    ranges = []
    for number in numbers:
        tensors = checkpoint.tensors
        itemsize = DTYPES[tensors.dtype[number]].itemsize
        start = tensors.storage_offset[number] * itemsize
        ranges.append((start, start + span_of(tensors.shape[number], tensors.stride[number]) * itemsize))
    used = reached = 0
    for start, stop in sorted(ranges):
        if stop > reached:
            used += stop - max(start, reached)
            reached = stop
    return min(used, stored)


def _identity(checkpoint: Checkpoint, number: int) -> tuple[object, ...]:
    """Equal for tensors that are the same elements of one storage."""
    tensors = checkpoint.tensors
    storage, shape = tensors.storage[number], tensors.shape[number]
    if storage == NO_STORAGE or 0 in shape:
        return (number,)
    return (storage, tensors.storage_offset[number], shape, tensors.stride[number], tensors.dtype[number])


def _key_text(checkpoint: Checkpoint, node: int) -> str:
    key = checkpoint.nodes.key[node]
    return key if isinstance(key, str) and key else checkpoint.path_of(node)


def _add(total: Sum, nbytes: int, elements: int) -> None:
    total.tensors += 1
    total.nbytes += nbytes
    total.elements += elements


def _wasted(waste: Waste) -> int:
    return waste.wasted


def _largest_first(total: Sum) -> tuple[int, str]:
    return -total.nbytes, total.name
