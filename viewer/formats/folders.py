"""What a folder holds: one checkpoint in several files, or several checkpoints of which one is to be chosen.

Asked in this order: torch.distributed.checkpoint (`.metadata`), a training folder (DeepSpeed, transformers' Trainer),
an index of shards, pieces of tensors in safetensors files, one checkpoint file. A folder with several unrelated
checkpoints is not guessed at: it is refused with their names.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.errors import LimitExceeded, MalformedFile, NotACheckpoint, ViewerError
from viewer.formats.limits import Limits
from viewer.task import Progress, Task

METADATA_NAME: Final = ".metadata"
"""torch/distributed/checkpoint/filesystem.py:_metadata_fn."""
CHUNK_SUFFIX: Final = ".distcp"
INDEX_SUFFIX: Final = ".index.json"
CHECKPOINT_SUFFIXES: Final = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".npz", ".ptl", ".pt2")

_MAX_ENTRIES: Final = 100_000
_NAMED: Final = 5
"""Names spelled out in one message."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The names in a folder, sorted.

    Attributes
    ----------
    folder
        Absolute.
    files, folders
        Links are what they lead to.
    """

    folder: Path
    files: list[str]
    folders: list[str]

    def with_suffix(self, *suffixes: str) -> list[str]:
        return [name for name in self.files if name.lower().endswith(suffixes)]


def folder_of(path: str | os.PathLike[str]) -> Path | None:
    """The folder that a path stands for, absolute: itself, or the distributed checkpoint that a file is a part of.

    None where the path is a file to be opened by itself, or nothing.
    """
    try:
        given = Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps ".." and so reads worse
        if given.is_dir():
            return given
        is_part = given.name == METADATA_NAME or given.suffix == CHUNK_SUFFIX
        return given.parent if is_part and (given.parent / METADATA_NAME).is_file() else None
    except (OSError, ValueError):  # ValueError: a NUL in the path; whoever opens the file says what is wrong
        return None


def list_folder(folder: Path) -> Listing:
    """Look into a folder, not below it.

    Raises
    ------
    ViewerError
        When it cannot be read or has too many entries.
    """
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, _MAX_ENTRIES + 1):
                (folders if _is_folder(entry) else files).append(entry.name)
    except OSError as error:
        raise ViewerError(
            f"the folder cannot be read ({error.strerror or error})",
            path=folder,
            advice="Check its permissions, or open a file in it",
        ) from error
    if len(files) + len(folders) > _MAX_ENTRIES:
        raise LimitExceeded(
            f"the folder has more than {_MAX_ENTRIES:,} entries", path=folder, advice="Open a file in it"
        )
    return Listing(folder, sorted(files), sorted(folders))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads back to itself: opened by its name, it is refused in words


def folder_task(folder: Path, limits: Limits) -> Task[Checkpoint]:
    """Read the structure of what a folder holds; raises as `viewer.formats.opening.open_task` does."""
    from viewer.formats.distributed import distributed_task
    from viewer.formats.training_folder import is_training_folder, training_task

    yield Progress(0, 0, "files")
    listing = list_folder(folder)
    try:
        if METADATA_NAME in listing.files:
            return (yield from distributed_task(listing, limits))
        if is_training_folder(listing):
            return (yield from training_task(listing, limits))
        return (yield from _plain_folder_task(listing, limits))
    except ViewerError as error:
        raise error.about(folder) from error.__cause__
    except (MemoryError, RecursionError) as error:
        raise LimitExceeded(
            "reading the folder takes more memory than there is", path=folder, advice="Close other programs"
        ) from error


def index_task(listing: Listing, limits: Limits) -> Task[Checkpoint | None]:
    """The sharded checkpoint whose index is in a folder; None where there is no index.

    Of several, the first that can be read is shown: those for safetensors before others, the plain names first.
    """
    from viewer.formats.opening import open_task

    indexes = sorted(
        listing.with_suffix(INDEX_SUFFIX), key=lambda name: (".safetensors" not in name, len(name), name)
    )
    failed: list[str] = []
    for name in indexes:
        try:
            checkpoint = yield from open_task(listing.folder / name, limits)
        except (MalformedFile, NotACheckpoint) as error:
            failed.append(str(error))
            continue
        others = [other for other in indexes if other != name]
        if others:
            checkpoint.warnings.append(f"the folder has several indexes: {name} is shown, not {some(others)}")
        return checkpoint
    if failed:
        raise MalformedFile(". ".join(failed), path=listing.folder)
    return None


def _plain_folder_task(listing: Listing, limits: Limits) -> Task[Checkpoint]:
    """By an index, or else the only checkpoint file."""
    from viewer.formats.distributed_safetensors import shard_names, shards_task
    from viewer.formats.opening import open_task

    sharded = yield from index_task(listing, limits)
    if sharded is not None:
        return sharded
    if shard_names(listing):
        return (yield from shards_task(listing, limits))
    names = listing.with_suffix(*CHECKPOINT_SUFFIXES)
    if len(names) == 1:
        checkpoint = yield from open_task(listing.folder / names[0], limits)
        checkpoint.facts.setdefault("file in the folder", names[0])
        return checkpoint
    raise _without_checkpoint(listing, names)


def _without_checkpoint(listing: Listing, names: list[str]) -> NotACheckpoint:
    if names:
        return NotACheckpoint(
            f"this folder holds {len(names):,} checkpoint files and no index that makes them one",
            path=listing.folder,
            advice=f"Open one of them: {some(names)}",
        )
    inner = [name for name in listing.folders if _looks_like_checkpoint(listing.folder / name)]
    if inner:
        return NotACheckpoint(
            "this folder holds no checkpoint itself, but folders in it do",
            path=listing.folder,
            advice=f"Open one of them: {some(inner)}",
        )
    return NotACheckpoint(
        "this folder holds no checkpoint",
        path=listing.folder,
        advice="Choose a checkpoint file, or a folder that holds one",
    )


def _looks_like_checkpoint(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(
                entry.name in (METADATA_NAME, "latest")
                or entry.name.lower().endswith((*CHECKPOINT_SUFFIXES, INDEX_SUFFIX))
                for entry in islice(entries, 1000)
            )
    except OSError:
        return False


def leaves_folder(name: str) -> bool:
    """Whether a file name that another file gives leads out of their folder.

    By its text alone: a link in the folder may lead elsewhere, as in a download cache.
    """
    if "\\" in name or PureWindowsPath(name).drive or "\0" in name:
        return True
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or not path.parts


def some(names: list[str]) -> str:
    """A list of names as part of a sentence, at most a few of them."""
    return ", ".join(names[:_NAMED]) + (f" … ({len(names):,})" if len(names) > _NAMED else "")
