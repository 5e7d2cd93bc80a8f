"""Folders of torch.distributed.checkpoint: `.metadata` says what was saved, `__<rank>_<n>.distcp` files hold it.

Each item of a .distcp file is what `torch.save` wrote for one piece of a tensor or for one object, end to end
(torch/distributed/checkpoint/filesystem.py:_write_item), and is read in place by the reader of torch's zip. A tensor
in one piece is shown as it was saved; one in several is a CHUNKED storage, put together when it is read. Names were
made of nested keys by joining them with dots (_nested_dict.py), and `planner_data` has the keys: the tree is nested
again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Final

from viewer.checkpoint.document import Checkpoint, FileFacts
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.tensors import (
    CHUNKED,
    UNREADABLE,
    Assembly,
    Piece,
    TensorFlag,
    TensorTable,
    contiguous_stride,
    numel_of,
)
from viewer.errors import MalformedFile, ViewerError
from viewer.formats.byte_source import SlicedSource
from viewer.formats.distributed_metadata import PLAIN_CLASSES, Item, Metadata, TensorEntry, metadata_of
from viewer.formats.distributed_templates import Templates
from viewer.formats.folders import CHUNK_SUFFIX, METADATA_NAME, Listing, leaves_folder, some
from viewer.formats.limits import Limits
from viewer.formats.nested import child_task, reader_of
from viewer.formats.pickle import PickleSession, Problem, TensorStandIn
from viewer.formats.pickle_stream import load_pickle_task
from viewer.formats.pieces import layout_problem, tiling_problem
from viewer.formats.reading import Budget, Reading
from viewer.formats.source import FileSource
from viewer.formats.tensor_problems import mark_tensors
from viewer.formats.torch_legacy import session_for
from viewer.formats.tree import build_nodes
from viewer.task import Progress, Task

_MAX_ITEMS: Final = 2_000_000
_MAX_NUMEL: Final = 1 << 58
"""So that the bytes of 16-byte elements are a number that columns hold."""
_MAX_RAW_NBYTES: Final = 64 << 10
_PACKED: Final = ("quint4x2", "quint2x4")
"""Several values in a byte, through all dimensions: a box of values is no box of bytes."""
_MAX_NESTING: Final = 200
_PROGRESS_STEP: Final = 64

_ItemKey = tuple[str, tuple[int, ...]]


def distributed_task(listing: Listing, limits: Limits) -> Task[Checkpoint]:
    """Read the structure of a distributed checkpoint."""
    session = session_for(limits)
    files: list[FileFacts] = []
    with FileSource(listing.folder / METADATA_NAME) as source:
        loaded = yield from load_pickle_task(session, source, 0, METADATA_NAME)
        files.append(source.facts)
    metadata = metadata_of(loaded.root)
    if loaded.problem:
        session.warn(f"{METADATA_NAME}: {loaded.problem}")
    session.forget()
    gathering = _Gathering(listing, session, metadata, files)
    yield from gathering.items_task()
    members = yield from gathering.members_task()
    session.complete_storages()
    mark_tensors(session.tensors, session.storages)
    gathering.note_strays()
    return Checkpoint(
        path=listing.folder,
        container="torch distributed",
        files=files,
        nodes=build_nodes(nest(members, metadata.paths), session.tensors, limits),
        tensors=session.tensors,
        storages=session.storages,
        globals=[replace(use, harmless=use.harmless or use.dotted in PLAIN_CLASSES) for use in session.globals()],
        warnings=session.warnings,
        facts=gathering.facts(),
        blobs=session.blobs,
        chunks=gathering.chunks,
    )


class _Gathering:
    """What is gathered while the items of one folder are read."""

    def __init__(self, listing: Listing, session: PickleSession, metadata: Metadata, files: list[FileFacts]) -> None:
        self.listing = listing
        self.session = session
        self.metadata = metadata
        self.files = files
        self.chunks: list[Assembly] = []
        self.roots: dict[_ItemKey, object] = {}
        self.pieces: dict[_ItemKey, Piece | str] = {}
        self.missing: set[str] = set()
        self._templates = Templates(session)
        self._in_pieces = 0

    def items_task(self) -> Task[None]:
        """Read the structure of all items, file by file."""
        by_file: dict[str, list[Item]] = defaultdict(list)
        for item in self.metadata.items.values():
            by_file[item.file].append(item)
        total, done = len(self.metadata.items), 0
        reading = Reading(self.session, Budget(self.session.limits.inflated_nbytes, members=_MAX_ITEMS))
        for name, items in sorted(by_file.items()):
            try:
                if leaves_folder(name):
                    raise MalformedFile(f".metadata points outside its folder ({name[:200]}), where nothing is read")
                source = FileSource(self.listing.folder / name)
            except ViewerError as error:
                there = leaves_folder(name) or name in self.listing.files
                problem = error.fault if there else f"missing: {name} not found beside {METADATA_NAME}"
                self.missing.add(name)
                self.roots.update({(item.name, item.start): Problem(problem) for item in items})
                done += len(items)
                continue
            with source:
                number = len(self.files)
                self.files.append(source.facts)
                for item in sorted(items, key=lambda item: item.offset):
                    if done % _PROGRESS_STEP == 0:
                        yield Progress(done, total, "items")
                    done += 1
                    yield from self._item_task(source, number, item, reading)
                source.check_unchanged()
        if self.missing:
            self.session.warn(
                f"{len(self.missing):,} of {len(by_file):,} files cannot be read: {some(sorted(self.missing))}"
            )

    def members_task(self) -> Task[dict[str, object]]:
        """What stands under each name."""
        members: dict[str, object] = {}
        entries = self.metadata.entries
        for done, (name, entry) in enumerate(entries.items()):
            if done % _PROGRESS_STEP == 0:
                yield Progress(done, len(entries), "entries")
            if isinstance(entry, str):
                members[name] = Problem(entry)
            elif entry is None:
                members[name] = self.roots.get((name, ()), Problem(f"{METADATA_NAME} does not say where it lies"))
            else:
                members[name] = self._tensor(name, entry)
        return members

    def note_strays(self) -> None:
        known = {facts.path.name for facts in self.files}
        stray = [name for name in self.listing.with_suffix(CHUNK_SUFFIX) if name not in known]
        if stray:
            self.session.warn(f"in the folder but not in {METADATA_NAME}, so not shown: {some(stray)}")
        lost = [name for name, _ in self.metadata.items if name not in self.metadata.entries]
        if lost:
            self.session.warn(f"{len(lost):,} items have no entry in {METADATA_NAME}: {some(lost)}")

    def facts(self) -> dict[str, str]:
        facts = {"files of items": f"{len(self.files) - 1:,}", "items": f"{len(self.metadata.items):,}"}
        if self._in_pieces:
            facts["tensors in pieces"] = f"{self._in_pieces:,}, put together as they are read"
        if self.metadata.version:
            facts["format version"] = self.metadata.version
        return facts

    def _item_task(self, source: FileSource, number: int, item: Item, reading: Reading) -> Task[None]:
        session, key = self.session, (item.name, item.start)
        first_tensor, first_storage = len(session.tensors), len(session.storages)
        root: object = None if item.transforms else self._repeated(source, item, reading)
        if root is None:
            before = session.mark()
            root = yield from self._root_task(source, item, reading)
            self._templates.learn(source, item, before, root)
        storages = session.storages
        for storage in range(first_storage, len(storages)):
            storages.file[storage] = number
        entry = self.metadata.entries.get(item.name)
        if isinstance(entry, TensorEntry) and not entry.in_one_piece:
            self.pieces[key] = self._piece(root, item.start, entry)
            drop_tensors(session.tensors, first_tensor)
        else:
            self.roots[key] = root

    def _repeated(self, source: FileSource, item: Item, reading: Reading) -> TensorStandIn | None:
        if item.offset + item.nbytes > source.nbytes or reading.budget.members <= 0:
            return None
        made = self._templates.repeat(source, item)
        reading.budget.members -= made is not None
        return made

    def _root_task(self, source: FileSource, item: Item, reading: Reading) -> Task[object]:
        if item.transforms:
            return Problem(f"it was written through {', '.join(item.transforms)}, which is not undone here")
        missing = item.offset + item.nbytes - source.nbytes
        if missing > 0:
            return Problem(f"{item.file} is incomplete: {min(missing, item.nbytes):,} of its bytes are missing")
        part_source = SlicedSource(source, item.offset, item.nbytes)
        reader = reader_of(part_source)
        if reader is not None:
            try:
                part = yield from child_task(part_source, reader, reading)
            except ViewerError as error:
                return Problem(error.fault)
            for warning in part.warnings:
                self.session.warn(f"{item.name}: {warning}")
            return part.root
        if item.nbytes <= _MAX_RAW_NBYTES:
            return part_source.read(0, item.nbytes)
        return Problem(f"{item.nbytes:,} bytes of a kind that is not known")

    def _piece(self, root: object, start: tuple[int, ...], entry: TensorEntry) -> Piece | str:
        """A tensor that was read as a piece of another; or why it is none."""
        tensors, storages = self.session.tensors, self.session.storages
        if not isinstance(root, TensorStandIn):
            return root.message if isinstance(root, Problem) else "it holds no tensor"
        number = root.number
        storage, shape = tensors.storage[number], tensors.shape[number]
        if storage < 0 or tensors.dtype[number] != entry.dtype:
            return "it has another dtype or layout than the whole"
        if tensors.flags[number] & (TensorFlag.CONJ | TensorFlag.NEG):
            return "it is kept as a lazy conjugate or negative"
        if DTYPES[entry.dtype].name in _PACKED:
            return "it is of a packed dtype, which is shown in one piece only"
        problem = tensors.problem.get(number) or storages.problem.get(storage)
        if problem is not None:
            return problem
        piece = Piece(storage, tensors.storage_offset[number], tensors.stride[number], start, shape)
        return layout_problem(piece, DTYPES[entry.dtype].itemsize) or piece

    def _tensor(self, name: str, entry: TensorEntry) -> object:
        if entry.in_one_piece:
            root = self.roots.get((name, entry.boxes[0][0]))
            if isinstance(root, TensorStandIn) and self._is(root.number, entry):
                return root
            problem = root.message if isinstance(root, Problem) else "index and file disagree about it"
            return self._unreadable(name, entry, problem if root is not None else f"{METADATA_NAME} gives no place")
        pieces: list[Piece] = []
        for start, shape in dict.fromkeys(entry.boxes):
            if 0 in shape:
                continue
            problem_or_piece = self._piece_at(name, start, shape)
            if isinstance(problem_or_piece, str):
                return self._unreadable(name, entry, f"the piece at {start}: {problem_or_piece}")
            pieces.append(problem_or_piece)
        problem = tiling_problem(entry.shape, [(piece.start, piece.shape) for piece in pieces])
        orders = {self.session.storages.big_endian[piece.storage] for piece in pieces}
        if not problem and len(orders) > 1:
            problem = "its pieces differ in byte order"
        if problem:
            return self._unreadable(name, entry, problem)
        return self._assembled(name, entry, pieces, big_endian=orders == {1})

    def _piece_at(self, name: str, start: tuple[int, ...], shape: tuple[int, ...]) -> Piece | str:
        piece = self.pieces.get((name, start))
        if piece is None:
            root = self.roots.get((name, start))  # of a file that is missing
            return root.message if isinstance(root, Problem) else f"{METADATA_NAME} gives no place"
        if isinstance(piece, Piece) and piece.shape != shape:
            return f"the file holds a shape of {piece.shape}, {METADATA_NAME} says {shape}"
        return piece

    def _is(self, number: int, entry: TensorEntry) -> bool:
        tensors = self.session.tensors
        return tensors.dtype[number] == entry.dtype and tensors.shape[number] == entry.shape

    def _new_tensor(self, name: str, entry: TensorEntry) -> tuple[int, int]:
        """A dense tensor over a storage of its own, UNREADABLE so far; their numbers."""
        nbytes = numel_of(entry.shape) * DTYPES[entry.dtype].itemsize
        session = self.session
        storage = session.add_storage(name, entry.dtype, nbytes, "cpu")
        session.complete_storages()
        return storage, session.add_tensor(entry.dtype, entry.shape, contiguous_stride(entry.shape), storage)

    def _unreadable(self, name: str, entry: TensorEntry, problem: str) -> object:
        """The row of a tensor whose values cannot be read: dtype and shape are known all the same."""
        if max((*contiguous_stride(entry.shape), numel_of(entry.shape))) > _MAX_NUMEL:
            return Problem(f"a shape of {entry.shape} is more than any tensor has; {problem}")
        storage, number = self._new_tensor(name, entry)
        assert self.session.storages.encoding[storage] == UNREADABLE
        self.session.storages.problem[storage] = problem
        self.session.tensors.problem[number] = problem
        return TensorStandIn(number)

    def _assembled(self, name: str, entry: TensorEntry, pieces: list[Piece], *, big_endian: bool) -> object:
        storage, number = self._new_tensor(name, entry)
        storages = self.session.storages
        del storages.problem[storage]
        storages.encoding[storage] = CHUNKED
        storages.offset[storage] = len(self.chunks)
        storages.length[storage] = storages.nbytes[storage]
        storages.big_endian[storage] = int(big_endian)
        if pieces:
            storages.file[storage] = storages.file[pieces[0].storage]
            storages.location[storage] = storages.location[pieces[0].storage]
        self.chunks.append(Assembly(entry.shape, DTYPES[entry.dtype].itemsize, tuple(pieces)))
        names = list(dict.fromkeys(self.files[storages.file[piece.storage]].path.name for piece in pieces))
        self.session.tensors.extra[number] = {"pieces": f"{len(pieces):,} in {some(names) or 'no file'}"}
        self._in_pieces += 1
        return TensorStandIn(number)


def drop_tensors(tensors: TensorTable, first: int) -> None:
    """Forget the tensors from number `first` on: the pieces of a tensor are none of their own."""
    for column in (tensors.dtype, tensors.storage, tensors.storage_offset, tensors.flags):
        del column[first:]
    del tensors.shape[first:], tensors.stride[first:]
    for by_number in (tensors.layout, tensors.extra, tensors.problem):
        for number in [number for number in by_number if number >= first]:
            del by_number[number]


def nest(members: dict[str, object], paths: dict[str, tuple[str | int, ...]]) -> dict[object, object]:
    """Put what stands under flat names where the paths say; what has no path, or one that is taken, stays on top.

    Numbers in a path are positions in a list (_nested_dict.py turns keys of dicts into text).
    """
    root: dict[object, object] = {}
    ours: set[int] = {id(root)}
    groups: list[dict[object, object]] = [root]
    parents: list[tuple[dict[object, object], object]] = []
    for name, member in members.items():
        path: tuple[object, ...] = paths.get(name, (name,))
        at = root
        if len(path) > _MAX_NESTING:
            path = (name,)
        for key in path[:-1]:
            inner = at.get(key)
            if inner is None:
                inner = {}
                at[key] = inner
                ours.add(id(inner))
                groups.append(inner)
                parents.append((at, key))
            elif id(inner) not in ours:
                at, path = root, (name,)
                break
            assert isinstance(inner, dict)
            at = inner
        if path[-1] in at:
            at, path = root, (name,)
        at[path[-1]] = member
    for parent, key in reversed(parents):
        group = parent[key]
        assert isinstance(group, dict)
        if all(type(key) is int for key in group) and set(group) == set(range(len(group))):
            parent[key] = [group[position] for position in range(len(group))]
    return root
