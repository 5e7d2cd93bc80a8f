"""Distributed checkpoints in safetensors files: `shard-<rank>-model-<n>-of-<m>.safetensors`, pieces of tensors.

torch.distributed.checkpoint's HuggingFaceStorageWriter writes them (torch/distributed/checkpoint/_hf_utils.py). The
metadata of each file says, under `DCP_SHARDING_INFO`, where its piece of each tensor begins. Nothing says how large
the whole is: as in torch's own reader, it reaches as far as the pieces do. (Consolidated, such a checkpoint is an
ordinary one with an index.)
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final

from viewer.checkpoint.document import Checkpoint, FileFacts
from viewer.checkpoint.dtypes import DTYPES
from viewer.checkpoint.tensors import CHUNKED, Assembly, Piece, contiguous_stride, numel_of
from viewer.errors import ViewerError
from viewer.formats.distributed import drop_tensors
from viewer.formats.folders import Listing, some
from viewer.formats.limits import Limits
from viewer.formats.pickle import PickleSession, Problem, TensorStandIn
from viewer.formats.pieces import tiling_problem
from viewer.formats.reading import Budget, Reading
from viewer.formats.safetensors import METADATA, SafetensorsReader
from viewer.formats.source import FileSource
from viewer.formats.tensor_problems import mark_tensors
from viewer.formats.tree import build_nodes
from viewer.task import Progress, Task

_NAME: Final = re.compile(r"shard-(\d{1,9})-model-(\d{1,9})-of-(\d{1,9})\.safetensors")
_INFO: Final = "DCP_SHARDING_INFO"
_OFFSETS: Final = "saved_offsets"
_MOST_FILES: Final = 10_000
_MAX_NUMEL: Final = 1 << 58
"""So that the bytes of 16-byte elements are a number that columns hold."""


def shard_names(listing: Listing) -> list[str]:
    """The files of such a checkpoint in a folder."""
    return [name for name in listing.files if _NAME.fullmatch(name)]


def shards_task(listing: Listing, limits: Limits) -> Task[Checkpoint]:
    """Read the structure of the checkpoint that the files of a folder make up."""
    names = shard_names(listing)
    gathering = _Gathering(PickleSession(limits))
    for done, name in enumerate(names):
        yield Progress(done, len(names), "shards")
        try:
            with FileSource(listing.folder / name) as source:
                yield from gathering.file_task(source)
                source.check_unchanged()
        except ViewerError as error:
            gathering.session.warn(str(error))
            gathering.lost.append(name)
    gathering.note_missing(names)
    members = gathering.members()
    session = gathering.session
    session.complete_storages()
    mark_tensors(session.tensors, session.storages)
    return Checkpoint(
        path=listing.folder,
        container="torch distributed (safetensors)",
        files=gathering.files,
        nodes=build_nodes(members, session.tensors, limits),
        tensors=session.tensors,
        storages=session.storages,
        globals=[],
        warnings=session.warnings,
        facts={"shards": f"{len(gathering.files):,}", "shapes": "as far as the pieces in these files reach"},
        blobs=session.blobs,
        chunks=gathering.chunks,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a tensor, or the whole of it."""

    file: int
    start: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: int
    storage: int
    problem: str | None


@dataclass(slots=True)
class _Gathering:
    """What is gathered while the files of one folder are read."""

    session: PickleSession
    files: list[FileFacts] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    parts: dict[str, list[_Part]] = field(default_factory=dict)
    problems: dict[str, object] = field(default_factory=dict)
    chunks: list[Assembly] = field(default_factory=list)

    def file_task(self, source: FileSource) -> Task[None]:
        session = self.session
        tensors, storages = session.tensors, session.storages
        first_tensor, first_storage = len(tensors), len(storages)
        reading = Reading(session, Budget(session.limits.inflated_nbytes))
        part = yield from SafetensorsReader().part_task(source, reading)
        for warning in part.warnings:
            session.warn(f"{source.path.name}: {warning}")
        file = len(self.files)
        self.files.append(source.facts)
        for storage in range(first_storage, len(storages)):
            storages.file[storage] = file
        members = part.root if isinstance(part.root, dict) else {}
        starts = _starts(members.get(METADATA))
        for name, item in members.items():
            if isinstance(item, TensorStandIn):
                shape, problem = tensors.shape[item.number], tensors.problem.get(item.number)
                start = starts.get(str(name), (0,) * len(shape))
                kept = _Part(file, start, shape, tensors.dtype[item.number], tensors.storage[item.number], problem)
                self.parts.setdefault(str(name), []).append(kept)
            elif isinstance(item, Problem):
                self.problems[str(name)] = item
        drop_tensors(tensors, first_tensor)

    def note_missing(self, names: list[str]) -> None:
        """Say which files of the numbered ones are not there."""
        found = [tuple(map(int, match.groups())) for name in names if (match := _NAME.fullmatch(name))]
        models = {model for _, model, _ in found}
        total = max((total for *_, total in found), default=0)
        missing = [f"model {n} of {total}" for n in range(1, min(total, _MOST_FILES) + 1) if n not in models]
        if missing:
            self.session.warn(f"files are missing: {some(missing)}")
        if self.lost:
            self.session.warn(f"{len(self.lost):,} of {len(names):,} files cannot be read: {some(self.lost)}")

    def members(self) -> dict[object, object]:
        rows: dict[object, object] = {}
        rows.update(self.problems)
        rows.update({name: self._tensor(name, parts) for name, parts in self.parts.items()})
        return rows

    def _tensor(self, name: str, parts: list[_Part]) -> object:
        parts = list({(part.start, part.shape): part for part in reversed(parts)}.values())[::-1]  # replicated ones
        first = parts[0]
        if any(len(part.start) != len(part.shape) for part in parts) or len({len(part.shape) for part in parts}) > 1:
            return Problem("its pieces differ in their dimensions")
        shape = tuple(max(part.start[axis] + part.shape[axis] for part in parts) for axis in range(len(first.shape)))
        if max((*contiguous_stride(shape), numel_of(shape))) > _MAX_NUMEL:
            return Problem(f"a shape of {shape} is more than any tensor has")
        if len(parts) == 1 and first.shape == shape:
            number = self.session.add_tensor(first.dtype, shape, contiguous_stride(shape), first.storage)
            if first.problem is not None:
                self.session.tensors.problem[number] = first.problem
            return TensorStandIn(number)
        return self._assembled(name, shape, [part for part in parts if 0 not in part.shape])

    def _assembled(self, name: str, shape: tuple[int, ...], parts: list[_Part]) -> object:
        session, storages = self.session, self.session.storages
        dtype = parts[0].dtype if parts else self.parts[name][0].dtype
        itemsize = DTYPES[dtype].itemsize
        storage = session.add_storage(name, dtype, numel_of(shape) * itemsize, "cpu")
        session.complete_storages()
        number = session.add_tensor(dtype, shape, contiguous_stride(shape), storage)
        problem = next((part.problem for part in parts if part.problem), "") or (
            "its pieces differ in their dtype" if len({part.dtype for part in parts}) > 1 else ""
        )
        problem = problem or tiling_problem(shape, [(part.start, part.shape) for part in parts])
        if problem:
            storages.problem[storage] = session.tensors.problem[number] = problem
            return TensorStandIn(number)
        del storages.problem[storage]
        storages.encoding[storage] = CHUNKED
        storages.offset[storage] = len(self.chunks)
        storages.length[storage] = storages.nbytes[storage]
        if parts:
            storages.file[storage] = parts[0].file
        pieces = [Piece(part.storage, 0, contiguous_stride(part.shape), part.start, part.shape) for part in parts]
        self.chunks.append(Assembly(shape, itemsize, tuple(pieces)))
        names = [self.files[part.file].path.name for part in parts]
        session.tensors.extra[number] = {"pieces": f"{len(pieces):,} in {some(names) or 'no file'}"}
        return TensorStandIn(number)


def _starts(metadata: object) -> dict[str, tuple[int, ...]]:
    """Where the piece of each tensor begins, by the metadata of a file; what is not of that form is left out."""
    text = metadata.get(_INFO) if isinstance(metadata, dict) else None
    try:
        given = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    starts: dict[str, tuple[int, ...]] = {}
    for name, facts in given.items() if isinstance(given, dict) else ():
        offsets = facts.get(_OFFSETS) if isinstance(facts, dict) else None
        if isinstance(offsets, list) and all(type(at) is int and 0 <= at < 1 << 60 for at in offsets):
            starts[name] = tuple(offsets)
    return starts
