"""Is a file sound, and is it canonical? Every byte is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import Kind
from viewer.errors import FileChanged, ViewerError
from viewer.export.canonical import FOLDER, FORM_WITH_STRIDES, Prepared, prepared
from viewer.export.options import ExportOptions
from viewer.export.pickle_compare import compare_pickles
from viewer.export.record_bytes import RecordSource
from viewer.export.streams import hash_task
from viewer.export.verify_results import Fault, NonFinite, VerifyReport
from viewer.export.zip_check import ZipCheck, zip_check_task
from viewer.formats.content import Content, content_task
from viewer.formats.limits import LIMITS
from viewer.formats.opening import open_task
from viewer.formats.source import FileSource
from viewer.formats.storage_bytes import StorageReader
from viewer.formats.zip_directory import ZipDirectory, read_directory
from viewer.task import Task

_MOST: Final = 1_000
_NAMED: Final = 3
_CHUNK_NBYTES: Final = 1 << 20


def verify_task(path: str | os.PathLike[str]) -> Task[VerifyReport]:
    """Read all of a file: its checksums, ranges and values; say what is wrong, and how it differs from the canonical
    form of its content.

    Raises
    ------
    ViewerError
        When nothing of it can be read.
    """
    checkpoint = yield from open_task(path)
    faults = list(_structure_faults(checkpoint))
    notes = list(checkpoint.warnings)
    records = checksums = 0
    sha256 = ""
    for facts in checkpoint.files:
        with FileSource(facts.path) as source:
            if len(checkpoint.files) == 1:
                sha256 = yield from hash_task(_chunks(source), source.nbytes)
            check = (yield from zip_check_task(source)) if _has_directory(source) else None
            source.check_unchanged()
        if check is not None:
            records += len(check.directory)
            checksums += check.checked
            faults += _checksum_faults(checkpoint, check)
            if check.without:
                notes.append(f"{check.without:,} records are stored without a checksum")
    if not records:
        notes.append("the container keeps no checksums: a changed value cannot be told from a meant one")
    nonfinite, tensors = yield from _values_task(checkpoint, faults)
    canonical, digest, deviations = yield from _canonical_task(path, checkpoint, sha256)
    return VerifyReport(
        checkpoint.path,
        checkpoint.container,
        checkpoint.nbytes,
        sha256,
        records,
        checksums,
        tensors,
        _shared(checkpoint),
        faults,
        nonfinite,
        notes,
        canonical,
        deviations,
        digest,
    )


def _chunks(source: FileSource) -> Iterator[bytes]:
    for at in range(0, source.nbytes, _CHUNK_NBYTES):
        yield source.read(at, min(_CHUNK_NBYTES, source.nbytes - at))


def _has_directory(source: FileSource) -> bool:
    try:
        return len(read_directory(source, LIMITS)) > 0
    except ViewerError:
        return False


def _structure_faults(checkpoint: Checkpoint) -> Iterator[Fault]:
    """What opening could not read: rows with a message, tensors and storages with a problem."""
    nodes = checkpoint.nodes
    told: set[int] = set()
    for node in range(len(nodes)):
        if nodes.kind[node] == Kind.PROBLEM:
            yield Fault("structure", checkpoint.path_of(node), str(nodes.value[node]))
        elif nodes.kind[node] == Kind.TENSOR:
            number = nodes.value[node]
            assert isinstance(number, int)
            problem = checkpoint.tensors.problem.get(number)
            if problem is not None and number not in told:
                told.add(number)
                yield Fault("range", checkpoint.path_of(node), problem)
        if len(told) >= _MOST:
            return


def _checksum_faults(checkpoint: Checkpoint, check: ZipCheck) -> Iterator[Fault]:
    storages = checkpoint.storages
    by_start = {storages.offset[number]: number for number in range(len(storages)) if storages.encoding[number] <= 1}
    names = _names_by_storage(checkpoint)
    for number, problem in check.wrong.items():
        record = check.directory.names[number]
        storage = by_start.get(check.start.get(number, -1))
        if storage is None:
            yield Fault("checksum", "", f"the record {record}: {problem}")
            continue
        shown = names.get(storage, [])
        others = f" and {len(shown) - 1:,} more tensors" if len(shown) > 1 else ""
        yield Fault("checksum", shown[0] if shown else "", f"the record {record}{others}: {problem}")


def _names_by_storage(checkpoint: Checkpoint) -> dict[int, list[str]]:
    names: dict[int, list[str]] = {}
    for node in checkpoint.nodes.tree_order():
        ref = checkpoint.tensor_of_node(node)
        if ref is not None and ref.storage is not None:
            names.setdefault(ref.storage.number, []).append(checkpoint.path_of(node))
    return names


def _shared(checkpoint: Checkpoint) -> int:
    """Tensors that share a storage with another tensor."""
    counts: dict[int, int] = {}
    for storage in checkpoint.tensors.storage:
        if storage >= 0:
            counts[storage] = counts.get(storage, 0) + 1
    return sum(count for count in counts.values() if count > 1)


def _values_task(checkpoint: Checkpoint, faults: list[Fault]) -> Task[tuple[list[NonFinite], int]]:
    """Read every tensor once; returns those with elements that are not finite, and how many were read."""
    from viewer.tensors.nonfinite import nonfinite_task

    found: list[NonFinite] = []
    seen: set[object] = set()
    count = 0
    with StorageReader(checkpoint) as reader:
        for node in checkpoint.nodes.tree_order():
            ref = checkpoint.tensor_of_node(node)
            if ref is None or ref.problem is not None:
                continue
            place = ref.storage.number if ref.storage is not None else None
            key = (place, ref.storage_offset, ref.shape, ref.stride, ref.dtype.name)
            if key in seen:
                continue
            seen.add(key)
            count += 1
            try:
                nan, inf = yield from nonfinite_task(checkpoint, ref, reader)
            except FileChanged:
                raise
            except ViewerError as error:
                faults.append(Fault("values", checkpoint.path_of(node), error.fault))
                continue
            if (nan or inf) and len(found) < _MOST:
                found.append(NonFinite(checkpoint.path_of(node), nan, inf))
    return found, count


def _canonical_task(
    path: str | os.PathLike[str], checkpoint: Checkpoint, sha256: str
) -> Task[tuple[bool, str, list[str]]]:
    """Whether the file is canonical, the name of its content, and how it deviates."""
    content = yield from content_task(path)
    ready = prepared(content, ExportOptions(objects="keep"))
    if ready.obstacles:
        obstacle = ready.obstacles[0]
        place = obstacle.path or "the root"
        return False, "", [f"its content has no canonical form: {place}: {obstacle.text}"]
    digest = yield from _digest_task(ready)
    form = ready
    if checkpoint.container == "safetensors":
        form = prepared(content, ExportOptions(objects="keep", flavour="safetensors"))
    elif _keeps_strides(content):
        form = prepared(content, ExportOptions(objects="keep", keep_strides=True))
    if form.obstacles:
        return False, digest, [f"{form.obstacles[0].path}: {form.obstacles[0].text}"]
    wanted = digest if form is ready else (yield from _digest_task(form))
    if wanted == sha256:
        return True, digest, []
    return False, digest, _deviations(form)


def _digest_task(ready: Prepared) -> Task[str]:
    with RecordSource(ready.checkpoint) as source:
        return (yield from hash_task(ready.stream(source), ready.nbytes))


def _keeps_strides(content: Content) -> bool:
    """Whether the file says that it is written with the strides kept."""
    files = content.checkpoint.files
    if len(files) != 1:
        return False
    with FileSource(files[0].path) as source:
        try:
            directory = read_directory(source, LIMITS)
            number = directory.by_name.get(f"{FOLDER}.canonical")
            if number is None or directory.packed[number] != len(FORM_WITH_STRIDES):
                return False
            # The form writes 64-byte aligned data behind the header; the record is found by its content.
            return FORM_WITH_STRIDES in source.read(directory.header[number], 256)
        except ViewerError:
            return False


def _deviations(form: Prepared) -> list[str]:
    """Why a file is not the canonical form of its content."""
    checkpoint = form.checkpoint
    points: list[str] = []
    if len(checkpoint.files) != 1:
        points.append("it is several files")
    elif checkpoint.container not in ("torch zip", "safetensors"):
        points.append(f"the container is {checkpoint.container}")
    elif checkpoint.container == "torch zip":
        with FileSource(checkpoint.files[0].path) as source:
            points += _zip_points(source, read_directory(source, LIMITS), form)
    points += [finding.text for finding in form.findings if finding.kind in ("changed", "separated", "note")]
    return points or ["fields of headers, padding or directory are not as the form has them"]


def _zip_points(source: FileSource, directory: ZipDirectory, form: Prepared) -> Iterator[str]:
    folders = {name.partition("/")[0] for name in directory.names}
    if folders != {FOLDER.rstrip("/")}:
        yield f"the archive's folder is {', '.join(sorted(folders)[:_NAMED])}, not {FOLDER.rstrip('/')}"
    if any(directory.method):
        yield "records are compressed"
    wanted = [*(f"{name}" for name in ("data.pkl", ".canonical", "byteorder", "version"))]
    wanted += [f"data/{number}" for number in range(len(form.records))]
    there = [name.partition("/")[2] for name in directory.names]
    extra = [name for name in there if name not in set(wanted)]
    missing = [name for name in wanted if name not in set(there)]
    if extra:
        yield f"further records: {_listed(extra)}"
    if missing:
        yield f"records are missing: {_listed(missing)}"
    if not extra and not missing and there != wanted:
        yield "the records stand in another order"
    pickled = directory.by_name.get(next((name for name in directory.names if name.endswith("/data.pkl")), ""))
    if pickled is not None and not directory.method[pickled]:
        yield from _pickle_points(source, directory, pickled, form)


def _pickle_points(source: FileSource, directory: ZipDirectory, number: int, form: Prepared) -> Iterator[str]:
    from viewer.formats.zip_records import locate

    start, _ = locate(source, directory, number)
    data = source.read(start, directory.packed[number])
    for text, amount in compare_pickles(data, form.pickle).items():
        yield f"pickle: {text} ({amount.a_nbytes:,} bytes, canonical {amount.b_nbytes:,})"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} … ({len(names):,})"
