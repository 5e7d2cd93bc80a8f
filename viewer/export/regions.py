"""A file cut into regions, each with what its bytes are for: the ground on which two files are compared.

The regions of a file follow each other without a gap from its first byte to its last.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import STORED
from viewer.errors import ViewerError
from viewer.formats.limits import LIMITS
from viewer.formats.pickle.scan import scan_pickle
from viewer.formats.source import FileSource
from viewer.formats.zip_directory import ZipDirectory, read_directory
from viewer.formats.zip_format import LOCAL_NBYTES
from viewer.formats.zip_records import layout_of, locate_task
from viewer.task import run

RegionKind: TypeAlias = Literal[
    "record header", "record name", "padding", "checksum", "directory", "pickle", "values", "record", "count",
    "header", "machine", "key list", "rest",
]  # fmt: skip

_MAX_PICKLE: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a file.

    Attributes
    ----------
    key
        What makes it the same part in another file: the name of a record without its folder, the path of the first
        tensor that lies in the values.
    """

    kind: RegionKind
    key: str
    start: int
    end: int

    @property
    def nbytes(self) -> int:
        return self.end - self.start


def regions_of(source: FileSource, checkpoint: Checkpoint) -> list[Region]:
    """The regions of a file that holds a whole checkpoint."""
    try:
        directory = read_directory(source, LIMITS)
    except ViewerError:
        directory = None
    if directory is not None and len(directory):
        found = _zip_regions(source, directory, checkpoint)
    elif checkpoint.container == "safetensors":
        found = _safetensors_regions(source, checkpoint)
    else:
        found = _stream_regions(source, checkpoint)
    return _filled(found, source.nbytes)


def storage_paths(checkpoint: Checkpoint) -> dict[int, str]:
    """By storage number: the path of the first tensor that shows it."""
    nodes, tensors = checkpoint.nodes, checkpoint.tensors
    paths: dict[int, str] = {}
    for node in nodes.tree_order():
        ref = checkpoint.tensor_of_node(node)
        if ref is not None and ref.storage is not None and ref.storage.number not in paths:
            paths[ref.storage.number] = checkpoint.path_of(node)
    for number in set(tensors.storage):
        if number >= 0:
            paths.setdefault(number, f"storage {checkpoint.storages.key[number]}")
    return paths


def _by_offset(checkpoint: Checkpoint) -> dict[int, tuple[int, str]]:
    """By offset in the file: length and path of the storages that lie in it."""
    storages = checkpoint.storages
    return {
        storages.offset[number]: (storages.length[number], path)
        for number, path in storage_paths(checkpoint).items()
        if storages.encoding[number] <= 1 and storages.file[number] == 0
    }


def _zip_regions(source: FileSource, directory: ZipDirectory, checkpoint: Checkpoint) -> list[Region]:
    ranges = run(locate_task(source, directory, layout_of(source, directory), range(len(directory))))
    values = _by_offset(checkpoint)
    found: list[Region] = []
    order = sorted(range(len(directory)), key=directory.header.__getitem__)
    for number in order:
        at, start = directory.header[number], ranges.start.get(number)
        if start is None:
            continue
        inner = _inner(directory.names[number])
        is_values = start in values
        key = values[start][1] if is_values else inner
        name_n = len(directory.raw_name(number))
        found.append(Region("record header", key, at, at + LOCAL_NBYTES))
        found.append(Region("record name", key, at + LOCAL_NBYTES, at + LOCAL_NBYTES + name_n))
        found.append(Region("padding", key, at + LOCAL_NBYTES + name_n, start))
        kind: RegionKind = "values" if is_values else "pickle" if inner.endswith(".pkl") else "record"
        end = start + directory.packed[number]
        found.append(Region(kind, key, start, end))
        if directory.flags[number] & 8:
            found.append(Region("checksum", key, end, min(end + _descriptor_nbytes(source, end), directory.end)))
    found.append(Region("directory", "", directory.end, source.nbytes))
    return found


def _inner(name: str) -> str:
    return name.partition("/")[2] or name


def _descriptor_nbytes(source: FileSource, at: int) -> int:
    """Bytes of a data descriptor: with or without its signature, sizes of 4 or 8 bytes."""
    data = source.read(at, min(28, source.nbytes - at))
    signed = data.startswith(b"PK\x07\x08")
    for nbytes in (12, 20):
        end = nbytes + 4 * signed
        if data[end : end + 2] == b"PK":
            return end
    return 16 if signed else 12


def _safetensors_regions(source: FileSource, checkpoint: Checkpoint) -> list[Region]:
    start = 8 + int.from_bytes(source.read(0, 8), "little")
    found = [Region("count", "header length", 0, 8), Region("header", "", 8, min(start, source.nbytes))]
    return found + [
        Region("values", path, at, at + nbytes) for at, (nbytes, path) in _by_offset(checkpoint).items() if nbytes
    ]


_LEGACY: Final[tuple[tuple[RegionKind, str], ...]] = (
    ("record", "magic number"),
    ("record", "protocol version"),
    ("machine", ""),
    ("pickle", "data.pkl"),
    ("key list", ""),
)


def _stream_regions(source: FileSource, checkpoint: Checkpoint) -> list[Region]:
    """Pickles in a row, and the values behind them."""
    found: list[Region] = []
    at = 0
    parts = _LEGACY if checkpoint.container == "torch legacy" else (("pickle", "data.pkl"),)
    data = source.read(0, min(source.nbytes, _MAX_PICKLE))
    for kind, key in parts:
        try:
            end = scan_pickle(data, at, LIMITS, "the pickle").end
        except ViewerError:
            break
        found.append(Region(kind, key, at, end))
        at = end
    for start, (nbytes, path) in _by_offset(checkpoint).items():
        found.append(Region("count", path, start - 8, start))
        found.append(Region("values", path, start, start + nbytes))
    return found


def _filled(found: list[Region], nbytes: int) -> list[Region]:
    """In order, without overlaps, and with the bytes between them as regions of their own."""
    filled: list[Region] = []
    gaps: defaultdict[str, int] = defaultdict(int)
    at = 0
    for region in sorted(found, key=_start):
        start, end = max(region.start, at), min(region.end, nbytes)
        if start > at:
            gaps["rest"] += 1
            filled.append(Region("rest", f"{gaps['rest']}", at, start))
        if end > start or (end == start and region.kind == "values"):
            filled.append(Region(region.kind, region.key, start, end))
        at = max(at, end)
    if at < nbytes:
        filled.append(Region("rest", "end", at, nbytes))
    return filled


def _start(region: Region) -> tuple[int, int]:
    return region.start, region.end


def is_stored(checkpoint: Checkpoint) -> bool:
    """Whether all values lie in the file as they are."""
    return all(encoding == STORED for encoding in checkpoint.storages.encoding)
