"""Tensors that stand under a name of one side alone and hold the same bytes as one of the other side alone."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.checkpoint.tensors import TensorRef, numel_of
from viewer.compare.align import NOTHING
from viewer.compare.pairs import BLOCK_NBYTES, SideReader
from viewer.compare.results import RenamePair, Rows, Status
from viewer.compare.structure import tensor_problem
from viewer.errors import FileChanged, ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task
from viewer.tensors.scratch import Scratch

_DIGEST_NBYTES: Final = 20
_Alike = tuple[tuple[int, ...], int]


def renamed_by_content_task(a: Checkpoint, b: Checkpoint, rows: Rows) -> Task[list[RenamePair]]:
    """Pairs of rows, REMOVED and ADDED, whose tensors have one dtype, one shape and the same bytes, which no third
    tensor has. Only tensors are read for which the other side alone has one of their shape.

    Raises
    ------
    FileChanged
        When a file is not the one any more that was opened.
    """
    left, right = _by_shape(a, rows, Status.REMOVED), _by_shape(b, rows, Status.ADDED)
    shared = left.keys() & right.keys()
    sides = [
        (checkpoint, [row for alike in shared for row in found[alike]], nodes)
        for checkpoint, found, nodes in ((a, left, rows.node_a), (b, right, rows.node_b))
    ]
    total = sum(_tensor(checkpoint, nodes[row]).nbytes for checkpoint, some, nodes in sides for row in some)
    done = 0
    digests: list[dict[bytes, list[int]]] = []
    for checkpoint, some, nodes in sides:
        found: defaultdict[bytes, list[int]] = defaultdict(list)
        with StorageReader(checkpoint) as reader:
            for row in some:
                tensor = _tensor(checkpoint, nodes[row])
                yield Progress(done, total)
                try:
                    digest = yield from _digest_task(checkpoint, tensor, reader, done, total)
                    found[digest].append(row)
                except FileChanged:
                    raise
                except ViewerError:
                    pass  # unreadable values are like no others
                done += tensor.nbytes
        digests.append(found)
    return [
        RenamePair(some[0], digests[1][digest][0], "the same content")
        for digest, some in digests[0].items()
        if len(some) == 1 and len(digests[1].get(digest, ())) == 1
    ]


def _by_shape(checkpoint: Checkpoint, rows: Rows, status: Status) -> dict[_Alike, list[int]]:
    nodes, tensors = checkpoint.nodes, checkpoint.tensors
    found: defaultdict[_Alike, list[int]] = defaultdict(list)
    for row, node in enumerate(rows.node_a if status == Status.REMOVED else rows.node_b):
        if rows.status[row] != status or node == NOTHING or nodes.kind[node] != Kind.TENSOR:
            continue
        number = nodes.value[node]
        assert isinstance(number, int)
        # One-element tensors (steps, counters) are all alike.
        if numel_of(tensors.shape[number]) > 1 and not tensor_problem(checkpoint, number):
            found[tensors.shape[number], tensors.dtype[number]].append(row)
    return found


def _tensor(checkpoint: Checkpoint, node: int) -> TensorRef:
    tensor = checkpoint.tensor_of_node(node)
    assert tensor is not None
    return tensor


def _digest_task(
    checkpoint: Checkpoint, tensor: TensorRef, reader: StorageReader, before: int, total: int
) -> Task[bytes]:
    """A digest of dtype, shape and values; progress as a part of all."""
    side = SideReader(checkpoint, tensor, reader)
    digest = hashlib.blake2b(f"{tensor.dtype.name}{tensor.shape}".encode(), digest_size=_DIGEST_NBYTES)
    step = max(BLOCK_NBYTES * side.element.per_byte // side.element.itemsize, 1)
    scratch = Scratch()
    for start in range(0, side.source.count, step):
        units = side.read(start, min(step, side.source.count - start), None, scratch)
        digest.update(units.data)
        yield Progress(min(before + (start + step) * side.element.itemsize, total), total)
    return digest.digest()
