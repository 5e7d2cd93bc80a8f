"""What the `.metadata` pickle of a distributed checkpoint says, read out of the graph of stand-ins.

The classes are those of torch/distributed/checkpoint/metadata.py and filesystem.py (`_StorageInfo`). Nothing of what
is read is trusted: a field of another type than torch writes becomes the problem of its entry.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from viewer.checkpoint.dtypes import DTYPE_CODE
from viewer.errors import MalformedFile
from viewer.formats.pickle import ObjectStandIn, SequenceStandIn, StandInType

PLAIN_CLASSES: Final = frozenset(
    "torch.distributed.checkpoint." + name
    for name in (
        "metadata.Metadata",
        "metadata.MetadataIndex",
        "metadata.StorageMeta",
        "metadata.TensorStorageMetadata",
        "metadata.BytesStorageMetadata",
        "metadata.ChunkStorageMetadata",
        "metadata.TensorProperties",
        "metadata._MEM_FORMAT_ENCODING",
        "filesystem._StorageInfo",
        "filesystem._StoragePrefix",
    )
)
"""Dataclasses and an enumeration that hold plain data: what every such folder names."""
_MAX_EXTENT: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Item:
    """Where one saved item lies: a piece of a tensor, or an object.

    Attributes
    ----------
    start
        Of the piece in its tensor; () for objects.
    file
        Name relative to the folder.
    offset, nbytes
        The range in it.
    transforms
        What the bytes have to be put through before they can be read (compression).
    """

    name: str
    start: tuple[int, ...]
    file: str
    offset: int
    nbytes: int
    transforms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A tensor of the whole.

    Attributes
    ----------
    dtype
        Its code.
    boxes
        Start and shape of each piece.
    """

    dtype: int
    shape: tuple[int, ...]
    boxes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

    @property
    def in_one_piece(self) -> bool:
        return len(self.boxes) == 1 and self.boxes[0][1] == self.shape and not any(self.boxes[0][0])


@dataclass(slots=True)
class Metadata:
    """The whole of it.

    Attributes
    ----------
    entries
        By name: a tensor, None for an object, or a sentence for what cannot be understood.
    items
        By name and start of the piece.
    paths
        By name: the keys that lead to it in the state that was saved; empty where the file does not say.
    version
        As the file writes it, or "".
    """

    entries: dict[str, TensorEntry | str | None] = field(default_factory=dict)
    items: dict[tuple[str, tuple[int, ...]], Item] = field(default_factory=dict)
    paths: dict[str, tuple[str | int, ...]] = field(default_factory=dict)
    version: str = ""


def metadata_of(root: object) -> Metadata:
    """Read the loaded pickle; raises MalformedFile where it is something else."""
    fields = _fields(root)
    entries, items = fields.get("state_dict_metadata"), fields.get("storage_data")
    if not isinstance(entries, dict) or not isinstance(items, dict):
        raise MalformedFile(
            "its .metadata does not list what was saved and where",
            advice="It was written by something else than torch's file system writer, or is damaged",
        )
    metadata = Metadata()
    for name, entry in entries.items():
        if type(name) is str:
            metadata.entries[name] = _entry(entry)
    for index, info in items.items():
        item = _item(index, info)
        if item is not None:
            metadata.items[item.name, item.start] = item
    paths = fields.get("planner_data")
    if isinstance(paths, dict):
        for name, path in paths.items():
            if type(name) is str and type(path) is tuple and path and all(type(key) in (str, int) for key in path):
                metadata.paths[name] = path
    version = fields.get("version")
    metadata.version = version[:100] if isinstance(version, str) else ""
    return metadata


def _fields(item: object) -> dict[object, object]:
    """The attributes of an instance."""
    found: dict[object, object] = {}
    if isinstance(item, ObjectStandIn):
        for state in item.state or ():
            if isinstance(state, dict):
                found.update(state)
    return found


def _entry(item: object) -> TensorEntry | str | None:
    kind = item.type_name.rpartition(".")[2] if isinstance(item, ObjectStandIn) else ""
    if kind == "BytesStorageMetadata":
        return None
    if kind != "TensorStorageMetadata" or not isinstance(item, ObjectStandIn):
        return f"an entry of an unknown kind ({kind or type(item).__name__}) in .metadata"
    fields = _fields(item)
    dtype, shape, chunks = _dtype(fields.get("properties")), _extents(fields.get("size")), fields.get("chunks")
    if dtype is None or shape is None or not isinstance(chunks, list):
        return "its entry in .metadata lacks a known dtype, a shape or the list of its pieces"
    boxes = []
    for chunk in chunks:
        chunk_fields = _fields(chunk)
        start, extents = _extents(chunk_fields.get("offsets")), _extents(chunk_fields.get("sizes"))
        if start is None or extents is None:
            return "a piece of it has no place in .metadata"
        boxes.append((start, extents))
    return TensorEntry(dtype, shape, tuple(boxes))


def _dtype(properties: object) -> int | None:
    """Of TensorProperties, whose state is a tuple that begins with the dtype."""
    if not isinstance(properties, ObjectStandIn):
        return None
    for state in properties.state or ():
        first = state[0] if isinstance(state, tuple) and state else _fields(properties).get("dtype")
        if isinstance(first, StandInType):
            return DTYPE_CODE.get(first.dotted.removeprefix("torch."))
    return None


def _extents(item: object) -> tuple[int, ...] | None:
    """A torch.Size, tuple or list of plain sizes."""
    if isinstance(item, SequenceStandIn):
        item = item.given
    if not isinstance(item, tuple | list) or len(item) > 64:
        return None
    if not all(type(extent) is int and 0 <= extent <= _MAX_EXTENT for extent in item):
        return None
    return tuple(item)


def _item(index: object, info: object) -> Item | None:
    """A pair of storage_data; None where it is no place in a file."""
    name_fields, place = _fields(index), _fields(info)
    name, file = name_fields.get("fqn"), place.get("relative_path")
    offset, nbytes = place.get("offset"), place.get("length")
    if not (isinstance(name, str) and isinstance(file, str) and type(offset) is int and type(nbytes) is int):
        return None
    start = () if name_fields.get("offset") is None else _extents(name_fields["offset"])
    if start is None or offset < 0 or nbytes < 0:
        return None
    transforms = place.get("transform_descriptors")
    named = tuple(str(transform)[:50] for transform in transforms[:5]) if isinstance(transforms, list | tuple) else ()
    return Item(name, start, file, offset, nbytes, named)
