"""The quick answer for huge files: zip archives keep a CRC-32 of every record, so a pair of storages can be told to
have the same checksum without reading a byte of them. That is not yet equality, and is never called so."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import NO_STORAGE, TensorFlag
from viewer.compare.align import NOTHING
from viewer.compare.results import Rows, Status
from viewer.errors import ViewerError
from viewer.formats.limits import LIMITS
from viewer.formats.source import FileSource, changed_since
from viewer.formats.zip_directory import read_directory

_RESOLVED: Final = int(TensorFlag.CONJ | TensorFlag.NEG)
_FOLDER: Final = "/data/"
"""Where torch puts storages in an archive (`torch/serialization.py`, `_save`)."""


def storage_checksums(checkpoint: Checkpoint) -> dict[int, int]:
    """CRC-32 by storage number, as the directory of a torch zip has them; empty for other containers.

    Archives may be written without checksums; their directory then has 0, which says nothing.
    """
    if not checkpoint.container.startswith("torch zip") or len(checkpoint.files) != 1:
        return {}
    storages = checkpoint.storages
    try:
        with FileSource(checkpoint.files[0].path) as source:
            if changed_since(checkpoint.files[0], source.facts) is not None:
                return {}
            directory = read_directory(source, LIMITS)
    except (ViewerError, OSError):
        return {}  # the file may be gone or damaged: then there is no quick answer
    by_key: dict[str, int] = {}
    for record, name in enumerate(directory.names):
        key = name.rpartition(_FOLDER)[2] if _FOLDER in name else ""
        if key:
            by_key[key] = NOTHING if key in by_key else record
    found: dict[int, int] = {}
    for number, key in enumerate(storages.key):
        record = by_key.get(key, NOTHING)
        if record == NOTHING or number in storages.problem:
            continue
        if directory.unpacked[record] == storages.nbytes[number] and directory.crc[record]:
            found[number] = directory.crc[record]
    return found


def mark_same_checksums(a: Checkpoint, b: Checkpoint, rows: Rows) -> None:
    """Set `Rows.same_checksum` of unread pairs that show the same part of storages with equal checksums."""
    if not any(rows.is_value):
        return
    left = storage_checksums(a)
    right = (left if b is a else storage_checksums(b)) if left else {}
    if not left or not right:
        return
    tensors_a, tensors_b = a.tensors, b.tensors
    kind_a, kind_b, tensor = a.nodes.kind, b.nodes.kind, int(Kind.TENSOR)
    for row, (node_a, node_b) in enumerate(zip(rows.node_a, rows.node_b, strict=True)):
        if not rows.is_value[row] or rows.status[row] != Status.UNREAD:
            continue
        if kind_a[node_a] != tensor or kind_b[node_b] != tensor:
            continue
        number_a, number_b = a.nodes.value[node_a], b.nodes.value[node_b]
        assert isinstance(number_a, int)
        assert isinstance(number_b, int)
        storage_a, storage_b = tensors_a.storage[number_a], tensors_b.storage[number_b]
        if NO_STORAGE in (storage_a, storage_b):
            continue
        checksum = left.get(storage_a)
        rows.same_checksum[row] = (
            checksum is not None
            and checksum == right.get(storage_b)
            and a.storages.nbytes[storage_a] == b.storages.nbytes[storage_b]
            and a.storages.big_endian[storage_a] == b.storages.big_endian[storage_b]
            and tensors_a.dtype[number_a] == tensors_b.dtype[number_b]
            and tensors_a.stride[number_a] == tensors_b.stride[number_b]
            and tensors_a.storage_offset[number_a] == tensors_b.storage_offset[number_b]
            and tensors_a.flags[number_a] & _RESOLVED == tensors_b.flags[number_b] & _RESOLVED
            and tensors_a.extra.get(number_a) == tensors_b.extra.get(number_b)
        )
