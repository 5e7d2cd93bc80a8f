"""One checkpoint out of several: shards of a model, files of a training folder, members of an archive.

The columns of the parts are laid end to end, and a new tree is grown over them: branches of ours, and below them
nodes of the parts with everything that hangs on them.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from viewer.checkpoint.document import Checkpoint, FileFacts, GlobalUse
from viewer.checkpoint.nodes import Key, Kind, NodeTable
from viewer.checkpoint.tensors import INLINE, NO_STORAGE, StorageTable, TensorTable
from viewer.errors import LimitExceeded
from viewer.formats.limits import LIMITS, Limits

_TENSOR_NUMBERS: Final = ("scales", "zero_points")
"""Facts in `TensorTable.extra` that may be the number of another tensor."""


@dataclass(frozen=True, slots=True)
class Graft:
    """A node of a part, with all that is below it. `part` is the number that `Composer.add` gave."""

    part: int
    node: int = 0


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of ours with children."""

    children: Mapping[Key, Twig]
    type_name: str = "group"
    kind: Kind = Kind.GROUP


@dataclass(frozen=True, slots=True)
class Leaf:
    """A node of ours without children; `value` as its kind asks (see `viewer.checkpoint.nodes.Kind`)."""

    kind: Kind
    type_name: str
    value: object

    @classmethod
    def problem(cls, message: str) -> Leaf:
        return cls(Kind.PROBLEM, "problem", message)


Twig: TypeAlias = Graft | Branch | Leaf


@dataclass(slots=True)
class _Base:
    """Where a part's columns begin in the whole."""

    checkpoint: Checkpoint
    tensor: int
    storage: int
    numbers: dict[int, int] = field(default_factory=dict)
    """New node number by the part's own."""


class Composer:
    """Gathers parts, then grows the tree over them."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self.files: list[FileFacts] = []
        self.tensors = TensorTable()
        self.storages = StorageTable()
        self.blobs: list[bytes] = []
        self.warnings: list[str] = []
        self._globals: Counter[tuple[str, str, bool]] = Counter()
        self._parts: list[_Base] = []

    def add(self, checkpoint: Checkpoint, label: str = "") -> int:
        """Lay a part's columns behind the others'; returns its number for `Graft`.

        Parameters
        ----------
        label
            What the part is called in its warnings; nothing where it speaks for the whole.
        """
        base = _Base(checkpoint, len(self.tensors), len(self.storages))
        self._parts.append(base)
        _append_tensors(self.tensors, checkpoint.tensors, base.storage)
        _append_storages(self.storages, checkpoint.storages, len(self.files), len(self.blobs))
        self.files += checkpoint.files
        self.blobs += checkpoint.blobs
        self.warnings += [f"{label}: {warning}" if label else warning for warning in checkpoint.warnings]
        for used in checkpoint.globals:
            self._globals[used.module, used.name, used.harmless] += used.count
        return len(self._parts) - 1

    def part(self, number: int) -> Checkpoint:
        return self._parts[number].checkpoint

    def finish(self, path: Path, container: str, root: Twig, facts: Mapping[str, str]) -> Checkpoint:
        """The whole, with `root` as its tree."""
        return Checkpoint(
            path=path,
            container=container,
            files=self.files,
            nodes=self._grow(root),
            tensors=self.tensors,
            storages=self.storages,
            globals=[GlobalUse(*name, count) for name, count in sorted(self._globals.items())],
            warnings=self.warnings,
            facts=dict(facts),
            blobs=self.blobs,
        )

    def _grow(self, root: Twig) -> NodeTable:
        """Breadth first, so that children are consecutive and come after their parents."""
        nodes = NodeTable()
        type_ids: dict[str, int] = {}
        level: list[Twig] = []
        links: list[tuple[int, _Base, int]] = []

        def append(key: Key, twig: Twig, parent: int) -> None:
            number = len(nodes.kind)
            if number >= self.limits.nodes:
                raise LimitExceeded(
                    f"the files hold more than {self.limits.nodes:,} entries together", advice="Open them one by one"
                )
            kind, type_name, value = self._row(twig)
            if isinstance(twig, Graft):
                base = self._parts[twig.part]
                base.numbers.setdefault(twig.node, number)
                if kind == Kind.LINK and isinstance(value, int):
                    links.append((number, base, value))
            nodes.kind.append(kind)
            nodes.type_id.append(type_ids.setdefault(type_name, len(type_ids)))
            nodes.parent.append(parent)
            nodes.first_child.append(0)
            nodes.n_children.append(0)
            nodes.key.append(key)
            nodes.value.append(value)
            level.append(twig)

        append("", root, -1)
        at = 0
        while at < len(level):
            twig = level[at]
            first = len(nodes.kind)
            if isinstance(twig, Branch):
                for key, child in twig.children.items():
                    append(key, child, at)
            elif isinstance(twig, Graft):
                theirs = self._parts[twig.part].checkpoint.nodes
                for node in theirs.children(twig.node):
                    append(theirs.key[node], Graft(twig.part, node), at)
            if len(nodes.kind) > first:
                nodes.first_child[at] = first
                nodes.n_children[at] = len(nodes.kind) - first
            at += 1
        nodes.types = list(type_ids)
        for number, base, target in links:
            moved = base.numbers.get(target)
            if moved is None:
                nodes.kind[number] = Kind.PROBLEM
                nodes.value[number] = "shared with a part of the file that is not shown here"
            else:
                nodes.value[number] = moved
        return nodes

    def _row(self, twig: Twig) -> tuple[int, str, object]:
        if isinstance(twig, Branch):
            return twig.kind, twig.type_name, None
        if isinstance(twig, Leaf):
            return twig.kind, twig.type_name, twig.value
        base = self._parts[twig.part]
        theirs = base.checkpoint.nodes
        kind, value = theirs.kind[twig.node], theirs.value[twig.node]
        if kind == Kind.TENSOR and isinstance(value, int):
            value += base.tensor
        elif kind == Kind.STORAGE and isinstance(value, int):
            value += base.storage
        return kind, theirs.type_name(twig.node), value


def _append_tensors(whole: TensorTable, part: TensorTable, first_storage: int) -> None:
    base = len(whole)
    whole.dtype += part.dtype
    whole.shape += part.shape
    whole.stride += part.stride
    whole.storage += array("q", [s if s == NO_STORAGE else s + first_storage for s in part.storage])
    whole.storage_offset += part.storage_offset
    whole.flags += part.flags
    whole.layout.update({number + base: layout for number, layout in part.layout.items()})
    whole.problem.update({number + base: problem for number, problem in part.problem.items()})
    for number, facts in part.extra.items():
        moved = {
            name: value + base if name in _TENSOR_NUMBERS and isinstance(value, int) else value
            for name, value in facts.items()
        }
        whole.extra[number + base] = moved


def _append_storages(whole: StorageTable, part: StorageTable, first_file: int, first_blob: int) -> None:
    base = len(whole)
    whole.key += part.key
    whole.dtype += part.dtype
    whole.nbytes += part.nbytes
    whole.location += part.location
    whole.encoding += part.encoding
    whole.file += array("L", [file + first_file for file in part.file])
    blob_moves = [first_blob if encoding == INLINE else 0 for encoding in part.encoding]
    whole.offset += array("q", [at + move for at, move in zip(part.offset, blob_moves, strict=True)])
    whole.length += part.length
    whole.big_endian += part.big_endian
    whole.problem.update({number + base: problem for number, problem in part.problem.items()})
