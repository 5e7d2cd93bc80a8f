"""One checkpoint out of several: shards of a model, files of a training folder, members of an archive.

The columns of the parts are laid end to end, and a new tree is grown over them: branches of ours, and below them
nodes of the parts with everything that hangs on them.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from viewer.checkpoint.document import Checkpoint, FileFacts, GlobalUse
from viewer.checkpoint.nodes import Key, Kind, NodeTable
from viewer.checkpoint.tensors import CHUNKED, INLINE, NO_STORAGE, Assembly, StorageTable, TensorTable
from viewer.errors import LimitExceeded
from viewer.formats.content import ContentLimits
from viewer.formats.grafts import PlacedGraft
from viewer.formats.limits import LIMITS, Limits

_TENSOR: Final = int(Kind.TENSOR)
_TENSOR_NUMBERS: Final = frozenset(
    {
        "scales", "zero_points", "indices", "values", "crow_indices", "col_indices", "ccol_indices", "row_indices",
        "sizes", "strides", "storage_offsets", "offsets", "lengths",
    }
)  # fmt: skip
"""Facts in `TensorTable.extra` that may be the number of another tensor (quantized, sparse and nested ones)."""


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
    has_links: bool
    numbers: dict[int, int] = field(default_factory=dict)
    """New node number by the part's own, where it has links."""


class Composer:
    """Gathers parts, then grows the tree over them."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.limits = limits
        self.files: list[FileFacts] = []
        self.tensors = TensorTable()
        self.storages = StorageTable()
        self.blobs: list[bytes] = []
        self.chunks: list[Assembly] = []
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
        has_links = Kind.LINK in checkpoint.nodes.kind
        base = _Base(checkpoint, len(self.tensors), len(self.storages), has_links)
        self._parts.append(base)
        _append_tensors(self.tensors, checkpoint.tensors, base.storage)
        moves = {INLINE: len(self.blobs), CHUNKED: len(self.chunks)}
        _append_storages(self.storages, checkpoint.storages, len(self.files), moves)
        self.chunks += [_moved(assembly, base.storage) for assembly in checkpoint.chunks]
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
            chunks=self.chunks,
        )

    def _grow(self, root: Twig) -> NodeTable:
        """Breadth first, so that children are consecutive and come after their parents."""
        rows = _Rows(self._parts, self.limits)
        grafts = [(0, root)] if isinstance(root, Graft) else []
        rows.append("", root, -1)
        at = 0
        while at < len(rows.open):
            number, twig = rows.open[at]
            first = len(rows.kinds)
            if isinstance(twig, Branch):
                for key, child in twig.children.items():
                    if isinstance(child, Graft):
                        grafts.append((len(rows.kinds), child))
                    rows.append(key, child, number)
            elif isinstance(twig, Graft):
                theirs = self._parts[twig.part].checkpoint.nodes
                for node in theirs.children(twig.node):
                    rows.append(theirs.key[node], Graft(twig.part, node), number)
            rows.families.append((number, first, len(rows.kinds) - first))
            at += 1
        nodes = rows.table()
        if isinstance(self.limits, ContentLimits):
            self.limits.grafts.append((nodes, [self._placed(number, graft) for number, graft in grafts]))
        return nodes

    def _placed(self, number: int, graft: Graft) -> PlacedGraft:
        base = self._parts[graft.part]
        return PlacedGraft(number, base.checkpoint.nodes, graft.node, base.tensor, base.storage)


class _Rows:
    """The columns of the new tree as lists: those are the fastest to extend by one entry."""

    def __init__(self, parts: list[_Base], limits: Limits) -> None:
        self.parts = parts
        self.limits = limits
        self.kinds: list[int] = []
        self.types: list[int] = []
        self.parents: list[int] = []
        self.keys: list[Key] = []
        self.values: list[object] = []
        self.families: list[tuple[int, int, int]] = []  # parent, first child, how many
        self.open: list[tuple[int, Twig]] = []  # nodes that have children, in order
        self.type_ids: dict[str, int] = {}
        self.links: list[tuple[int, _Base, int]] = []  # node, whose, and the part's own number of the target

    def append(self, key: Key, twig: Twig, parent: int) -> None:
        number = len(self.kinds)
        if number >= self.limits.nodes:
            raise LimitExceeded(
                f"the files hold more than {self.limits.nodes:,} entries together", advice="Open them one by one"
            )
        value: object
        if isinstance(twig, Graft):
            base, node = self.parts[twig.part], twig.node
            theirs = base.checkpoint.nodes
            kind, value, type_name = theirs.kind[node], theirs.value[node], theirs.types[theirs.type_id[node]]
            if kind == _TENSOR:
                assert isinstance(value, int)
                value += base.tensor
            elif kind == Kind.STORAGE:
                assert isinstance(value, int)
                value += base.storage
            elif kind == Kind.LINK:
                assert isinstance(value, int)
                self.links.append((number, base, value))
            if base.has_links:
                base.numbers.setdefault(node, number)
            if theirs.n_children[node]:
                self.open.append((number, twig))
        elif isinstance(twig, Branch):
            kind, value, type_name = twig.kind, None, twig.type_name
            if twig.children:
                self.open.append((number, twig))
        else:
            kind, value, type_name = twig.kind, twig.value, twig.type_name
        self.kinds.append(kind)
        self.types.append(self.type_ids.setdefault(type_name, len(self.type_ids)))
        self.parents.append(parent)
        self.keys.append(key)
        self.values.append(value)

    def table(self) -> NodeTable:
        for number, base, target in self.links:
            moved = base.numbers.get(target)
            if moved is None:
                self.kinds[number] = Kind.PROBLEM
                self.values[number] = "shared with a part of the file that is not shown here"
            else:
                self.values[number] = moved
        count = len(self.kinds)
        first_child, n_children = array("q", bytes(8 * count)), array("q", bytes(8 * count))
        for parent, first, number in self.families:
            first_child[parent] = first
            n_children[parent] = number
        return NodeTable(
            kind=array("B", self.kinds),
            type_id=array("L", self.types),
            parent=array("q", self.parents),
            first_child=first_child,
            n_children=n_children,
            key=self.keys,
            value=self.values,
            types=list(self.type_ids),
        )


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


def _append_storages(
    whole: StorageTable, part: StorageTable, first_file: int, offset_moves: Mapping[int, int]
) -> None:
    """Append the columns; `offset_moves` has, by encoding, what an offset that is no place in a file moves by."""
    base = len(whole)
    whole.key += part.key
    whole.dtype += part.dtype
    whole.nbytes += part.nbytes
    whole.location += part.location
    whole.encoding += part.encoding
    whole.file += array("L", [file + first_file for file in part.file])
    if any(part.encoding.count(encoding) for encoding in offset_moves):
        moves = [offset_moves.get(encoding, 0) for encoding in part.encoding]
        whole.offset += array("q", [at + move for at, move in zip(part.offset, moves, strict=True)])
    else:
        whole.offset += part.offset
    whole.length += part.length
    whole.big_endian += part.big_endian
    whole.problem.update({number + base: problem for number, problem in part.problem.items()})
    whole.crc.update({number + base: crc for number, crc in part.crc.items()})


def _moved(assembly: Assembly, first_storage: int) -> Assembly:
    pieces = tuple(replace(piece, storage=piece.storage + first_storage) for piece in assembly.pieces)
    return replace(assembly, pieces=pieces)
