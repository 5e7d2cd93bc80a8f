"""The name of a content: the SHA-256 of its canonical bytes, which are made and hashed, and not written."""

from __future__ import annotations

import hashlib
import os

from viewer.export.canonical import Prepared, prepare_task, tensor_paths
from viewer.export.options import Digest, ExportOptions, TensorDigest
from viewer.export.record_bytes import RecordSource
from viewer.export.save import check_sources, refuse_obstacles
from viewer.export.streams import STEP_NBYTES, hash_task
from viewer.task import Progress, Task


def digest_task(
    path: str | os.PathLike[str], options: ExportOptions | None = None, *, tensors: bool = False
) -> Task[Digest]:
    """The digest of a file's content, as `export` would write it with these options.

    Parameters
    ----------
    options
        By default objects of unknown classes are kept: they are part of what the file says.
    tensors
        Whether to hash each tensor by itself as well.
    """
    ready = yield from prepare_task(path, options or ExportOptions(objects="keep"))
    refuse_obstacles(ready)
    with RecordSource(ready.checkpoint) as source:
        sha256 = yield from hash_task(ready.stream(source), ready.nbytes, share=2 if tensors else 1)
        listed = (yield from tensor_digests_task(ready, source)) if tensors else []
    check_sources(ready.checkpoint.files)
    return Digest(ready.checkpoint.path, sha256, ready.nbytes, ready.findings, listed)


def tensor_digests_task(ready: Prepared, source: RecordSource) -> Task[list[TensorDigest]]:
    """The SHA-256 of the elements of every tensor, in the order of the tree; of one that is shared, computed once.

    Progress is the second half of a task that hashed the whole before.
    """
    listed: list[TensorDigest] = []
    known: dict[int, str] = {}
    done = told = ready.nbytes
    for path, value in tensor_paths(ready):
        record = value.record
        assert record is not None
        if id(record) not in known:
            digest = hashlib.sha256()
            for chunk in source.chunks(record):
                digest.update(chunk)
                done += len(chunk)
                if done - told >= STEP_NBYTES:
                    told = done
                    yield Progress(done, 2 * ready.nbytes)
            known[id(record)] = digest.hexdigest()
        listed.append(TensorDigest(path, record.dtype.name, record.shape, known[id(record)]))
    return listed
