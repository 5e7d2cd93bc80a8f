"""A checkpoint: the tree, its tensors and storages, and the facts about the file. Plain data, cheap to pickle."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from viewer.checkpoint.nodes import Kind, NodeTable
from viewer.checkpoint.paths import format_path, resolve_path
from viewer.checkpoint.tensors import (
    Assembly,
    StorageRef,
    StorageTable,
    TensorRef,
    TensorTable,
    storage_at,
    tensor_at,
)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """A file as it was when it was opened; a range in it is trusted only while these stay the same."""

    path: Path
    nbytes: int
    mtime_ns: int
    inode: int
    device: int


@dataclass(frozen=True, slots=True)
class GlobalUse:
    """A class or function that a pickle of the file names.

    Attributes
    ----------
    module, name
        As the file writes them.
    harmless
        True where it is in the documented table of names that only build plain data or tensors. It is never imported
        either way.
    count
        How many times the file's pickles name it.
    node
        The first node that shows an instance of it or its name; -1 where none does, and for harmless names.
    """

    module: str
    name: str
    harmless: bool
    count: int = 1
    node: int = -1

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(slots=True)
class Checkpoint:
    """What was found in a file or folder.

    Attributes
    ----------
    path
        What was opened.
    container
        In words, for the status line: "torch zip", "torch legacy", "safetensors" …
    files
        Every file that storages lie in; `files[0]` is usually `path`.
    nodes, tensors, storages
        The columns.
    globals
        What the pickles name, sorted by module and name.
    warnings
        Sentences about what could not be read or is out of the ordinary.
    facts
        Further facts by name ("byte order", "format version", "serialization id" …), in the order to show them.
    blobs
        Bytes of INLINE storages. Only the process that read the file has them.
    chunks
        How CHUNKED storages are put together; there, too.
    """

    path: Path
    container: str
    files: list[FileFacts]
    nodes: NodeTable
    tensors: TensorTable = field(default_factory=TensorTable)
    storages: StorageTable = field(default_factory=StorageTable)
    globals: list[GlobalUse] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    blobs: list[bytes] = field(default_factory=list)
    chunks: list[Assembly] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Bytes of all files together."""
        return sum(file.nbytes for file in self.files)

    def tensor(self, number: int) -> TensorRef:
        return tensor_at(self.tensors, self.storages, number)

    def storage(self, number: int) -> StorageRef:
        return storage_at(self.storages, number)

    def tensor_of_node(self, node: int) -> TensorRef | None:
        """The tensor that a node shows; None where it shows something else."""
        if self.nodes.kind[node] != Kind.TENSOR:
            return None
        number = self.nodes.value[node]
        assert isinstance(number, int)
        return self.tensor(number)

    def path_of(self, node: int) -> str:
        """The path string of a node (see `viewer.checkpoint.paths`)."""
        return format_path(self.nodes.keys_to(node))

    def find(self, path: str) -> int:
        """The node at a path; raises BadPath."""
        return resolve_path(self.nodes, path)

    def without_blobs(self) -> Checkpoint:
        """The same, sharing all columns, without what only reading values needs: what the window is given."""
        return replace(self, blobs=[], chunks=[])
