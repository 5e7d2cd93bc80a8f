"""The bytes of a checkpoint's storages, read by position when somebody asks for them.

One reader serves any number of threads. A range is read only from the very file whose structure was read: the file is
compared with the facts noted then, once when it is opened and again at every call.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from types import TracebackType
from typing import Self

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import NodeTable
from viewer.checkpoint.tensors import (
    CHUNKED,
    DEFLATED,
    INLINE,
    STORED,
    StorageRef,
    StorageTable,
    TensorRef,
    TensorTable,
)
from viewer.errors import FileChanged, MalformedFile, ViewerError
from viewer.formats.inflate import InflatedStorage
from viewer.formats.pieces import AssemblyReader
from viewer.formats.source import FileSource, changed_since

_KEPT_STREAMS = 4
"""Deflated storages that are read at a time; each keeps up to 16 MiB of inflated blocks."""

_KEPT_FILES = 64
"""Files that are open at a time; a process may have some hundreds, and models come in thousands of shards."""


class StorageReader:
    """Reads storages of one checkpoint. Thread-safe; a context manager.

    Parameters
    ----------
    checkpoint
        Not changed. Its `blobs` must be there for INLINE storages.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._sources: dict[int, FileSource] = {}
        self._streams: dict[int, InflatedStorage] = {}
        self._assemblies: dict[int, AssemblyReader] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files. No other thread may be reading."""
        with self._lock:
            self._streams.clear()
            self._assemblies.clear()
            for source in self._sources.values():
                source.close()
            self._sources.clear()

    def read_into(self, storage: StorageRef, offset: int, buffer: bytearray | memoryview) -> None:
        """Fill `buffer` with the bytes of `storage` from `offset` on, in the file's byte order.

        Parameters
        ----------
        offset
            In bytes, within the storage.
        buffer
            Writable and contiguous.

        Raises
        ------
        MalformedFile
            When the storage cannot be read, or does not reach that far.
        FileChanged
            When the file is not the one any more that was opened.
        """
        view = memoryview(buffer).cast("B")
        if offset < 0 or offset + len(view) > storage.nbytes:
            raise MalformedFile(
                f"bytes {offset:,} to {offset + len(view):,} of storage {storage.key} are needed, but it has "
                f"{storage.nbytes:,}",
                path=self._checkpoint.path,
            )
        if storage.encoding == STORED:
            source = self._sources.get(storage.file) or self._open(storage.file)
            source.read_into(storage.offset + offset, view)
            source.check_open_file()  # afterwards: then what was read is of the file that was opened
        elif storage.encoding == DEFLATED:
            source = self._sources.get(storage.file) or self._open(storage.file)
            source.check_open_file()
            self._stream(source, storage).read_into(offset, view)
            source.check_open_file()
        elif storage.encoding == INLINE:
            view[:] = self._blob(storage)[offset : offset + len(view)]
        elif storage.encoding == CHUNKED:
            self._assembly(storage).read_into(offset, view)
        else:
            raise MalformedFile(
                storage.problem or f"storage {storage.key} cannot be read",
                path=self._checkpoint.path,
                advice="The other tensors are not affected",
            )

    def _open(self, number: int) -> FileSource:
        with self._lock:
            source = self._sources.get(number)
            if source is None:
                facts = self._checkpoint.files[number]
                try:
                    source = FileSource(facts.path)
                except ViewerError as error:
                    if not isinstance(error.__cause__, FileNotFoundError):
                        raise
                    # Of all tensors in it, where "there is no such file" would be said of each.
                    raise FileChanged(
                        "the file was moved or deleted since it was opened",
                        path=facts.path,
                        advice="Open it again from where it is now",
                    ) from error
                changed = changed_since(facts, source.facts)
                if changed is not None:
                    source.close()
                    raise changed
                self._sources[number] = source
                if len(self._sources) > _KEPT_FILES:
                    # Not closed here: another thread may be reading. It closes itself when the last one lets go.
                    del self._sources[next(iter(self._sources))]
            return source

    def _assembly(self, storage: StorageRef) -> AssemblyReader:
        with self._lock:
            assembly = self._assemblies.get(storage.number)
            if assembly is None:
                chunks = self._checkpoint.chunks
                if storage.offset >= len(chunks):
                    raise ViewerError(
                        f"where the pieces of storage {storage.key} lie is known to the process that opened the "
                        "file, not to this one",
                        path=self._checkpoint.path,
                    )
                assembly = AssemblyReader(chunks[storage.offset], self._read_piece)
                self._assemblies = {storage.number: assembly}  # one is kept: tensors are read one after the other
            return assembly

    def _read_piece(self, storage: int, offset: int, view: memoryview) -> None:
        self.read_into(self._checkpoint.storage(storage), offset, view)

    def _stream(self, source: FileSource, storage: StorageRef) -> InflatedStorage:
        with self._lock:
            stream = self._streams.pop(storage.number, None)
            if stream is None:
                stream = InflatedStorage(source, storage.offset, storage.length, storage.nbytes)
            self._streams[storage.number] = stream  # the last one used stands last
            if len(self._streams) > _KEPT_STREAMS:
                del self._streams[next(iter(self._streams))]
            return stream

    def _blob(self, storage: StorageRef) -> memoryview:
        blobs = self._checkpoint.blobs
        if storage.offset >= len(blobs):
            raise ViewerError(
                f"the bytes of storage {storage.key} are kept by the process that opened the file, not by this one",
                path=self._checkpoint.path,
            )
        blob = memoryview(blobs[storage.offset])
        if len(blob) < storage.nbytes:
            raise MalformedFile(
                f"storage {storage.key} holds {len(blob):,} of its {storage.nbytes:,} bytes",
                path=self._checkpoint.path,
            )
        return blob


def files_of(checkpoint: Checkpoint) -> Checkpoint:
    """What a StorageReader in another process needs of a checkpoint: nothing of its tree."""
    return replace(
        checkpoint,
        nodes=NodeTable(),
        tensors=TensorTable(),
        storages=StorageTable(),
        globals=[],
        warnings=[],
        facts={},
        blobs=[],
    )


def can_travel(tensor: TensorRef) -> bool:
    """Whether another process can read a tensor by what the TensorRef says alone."""
    return tensor.storage is not None and tensor.storage.encoding == STORED and tensor.dtype.kind != "quantized"
