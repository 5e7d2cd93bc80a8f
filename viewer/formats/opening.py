"""From a path to a checkpoint: which reader knows the file, told by its content."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from viewer.checkpoint.document import Checkpoint
from viewer.errors import LimitExceeded, NotACheckpoint, ViewerError
from viewer.formats.folders import folder_of, folder_task
from viewer.formats.limits import LIMITS, Limits
from viewer.formats.nested_sizes import note_nested_sizes
from viewer.formats.numpy_files import NpyReader
from viewer.formats.placing import place_globals
from viewer.formats.raw_pickle import RawPickleReader
from viewer.formats.safetensors import SafetensorsReader
from viewer.formats.sharded import IndexReader
from viewer.formats.sniff import HEAD_NBYTES, refuse
from viewer.formats.source import FileSource
from viewer.formats.tar_archive import TarReader
from viewer.formats.torch_legacy import LegacyReader
from viewer.formats.wrapped import CompressedReader
from viewer.formats.zero3 import note_partitioned
from viewer.formats.zip_archive import ZipReader
from viewer.task import Progress, Task


class Reader(Protocol):
    """One container. A further one is a module with such a class, and a row in READERS."""

    @property
    def name(self) -> str:
        """For messages and logs."""
        ...

    def sniff(self, head: bytes, source: FileSource) -> bool:
        """True where the file is this container's. `head` is its first bytes; more may be read from `source`."""
        ...

    def read(self, source: FileSource, limits: Limits) -> Task[Checkpoint]:
        """Read the structure. Raises ViewerError where nothing can be shown."""
        ...


READERS: Final[tuple[Reader, ...]] = (
    ZipReader(),
    LegacyReader(),
    NpyReader(),
    CompressedReader(),
    TarReader(),
    SafetensorsReader(),
    IndexReader(),
    ZipReader(name="zip behind other bytes", behind_junk=True),
    RawPickleReader(),
)
"""In the order in which they are asked: sure signatures first, guesses last."""


def open_task(path: str | os.PathLike[str], limits: Limits = LIMITS) -> Task[Checkpoint]:
    """Read the structure of a checkpoint; no tensor data is read and nothing that the file names is imported.

    Parameters
    ----------
    path
        A file, or a folder that holds a checkpoint in several files.

    Raises
    ------
    ViewerError
        When nothing can be shown. It names the file.
    """
    folder = folder_of(path)
    if folder is not None:
        with _collector_resting():
            return _placed((yield from folder_task(folder, limits)))
    with FileSource(path) as source, _collector_resting():
        yield Progress(0, source.nbytes)
        try:
            checkpoint = yield from _read_task(source, limits)
            source.check_unchanged()
        except ViewerError as error:
            raise error.about(source.path) from error.__cause__
        except (MemoryError, RecursionError) as error:
            raise LimitExceeded(
                "reading the file takes more memory than there is", path=source.path, advice="Close other programs"
            ) from error
        return _placed(checkpoint)


def _placed(checkpoint: Checkpoint) -> Checkpoint:
    note_nested_sizes(checkpoint)
    note_partitioned(checkpoint)
    checkpoint.globals = place_globals(checkpoint.globals, checkpoint.nodes)
    return checkpoint


@contextmanager
def _collector_resting() -> Iterator[None]:
    """No garbage collection while a graph is built, walked once and dropped.

    Nearly all of it lives until then, and each collection would walk all of it: 0.2 of 0.5 s for 40,000 tensors.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():
                # To the oldest generation at once: what was built is no garbage, and going through it, as the next
                # allocation would have the collector do, takes 11 ms for 40,000 tensors.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _read_task(source: FileSource, limits: Limits) -> Task[Checkpoint]:
    if source.nbytes == 0:
        raise NotACheckpoint(
            "the file is empty (0 bytes)", path=source.path, advice="The copy or download went wrong: fetch it again"
        )
    head = source.read(0, min(source.nbytes, HEAD_NBYTES))
    for reader in READERS:
        if reader.sniff(head, source):
            return (yield from reader.read(source, limits))
    raise refuse(head, source)
