"""The export of one file: read, write beside the target, read back, compare, put in place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from viewer.checkpoint.document import FileFacts
from viewer.errors import FileChanged, ViewerError
from viewer.export.canonical import Prepared, prepare_task, prepared
from viewer.export.comparing import first_difference_task
from viewer.export.files import NewFile
from viewer.export.options import Cast, ExportOptions, ExportPlan, ExportRefused, ExportResult, Finding
from viewer.export.record_bytes import RecordSource
from viewer.export.streams import STEP_NBYTES, hash_task
from viewer.export.values import tensors_in
from viewer.formats.content import content_task
from viewer.formats.source import FileSource, changed_since
from viewer.task import Progress, Task

_LISTED: Final = 8
_DAMAGED: Final = "the source keeps another checksum (CRC-32) for these values: they were damaged before"
_LISTED_DAMAGED: Final = 1_000
_STEP_S: Final = 0.05
"""Between two places to stop while the disk is waited for."""


def plan_task(path: str | os.PathLike[str], options: ExportOptions) -> Task[ExportPlan]:
    """What an export would write, leave out and change; nothing is written and no tensor data is read."""
    ready = yield from prepare_task(path, options)
    return ready.plan


def export_task(
    path: str | os.PathLike[str],
    target: str | os.PathLike[str],
    options: ExportOptions | None = None,
    *,
    force: bool = False,
    opened: list[FileFacts] | None = None,
) -> Task[ExportResult]:
    """Write the canonical form of a file's content to `target`.

    Parameters
    ----------
    force
        Whether a file that is there may be replaced.
    opened
        The files as they were when a person opened them; the export is refused when they are others by now.

    Raises
    ------
    ExportRefused
        When it cannot be made as asked.
    ViewerError
        When reading or writing fails. In every case, and when it is cancelled, the target is as it was and no other
        file is left.
    """
    ready = yield from prepare_task(path, options or ExportOptions())
    checkpoint = ready.checkpoint
    if opened is not None and opened != checkpoint.files:
        raise FileChanged(
            "the file changed on disk since it was opened", path=checkpoint.path, advice="Open it again"
        )
    refuse_obstacles(ready)
    with NewFile(target, force=force, sources=checkpoint.files, nbytes=ready.nbytes) as file:
        with RecordSource(checkpoint) as source:
            sha256 = yield from hash_task(ready.stream(source), ready.nbytes, file.write, share=2)
            casts = _casts(ready, source)
            yield from _each_step(source.sum_rest(ready.records), Progress(ready.nbytes, 2 * ready.nbytes))
            ready.findings += [Finding("note", record.path, _DAMAGED) for record in source.damaged[:_LISTED_DAMAGED]]
        file.finish()
        yield from _compare_task(ready, file)
        check_sources(checkpoint.files)
        while not file.wait(_STEP_S):
            yield Progress(2 * ready.nbytes, 2 * ready.nbytes)
        file.commit()
        return ExportResult(file.target, ready.nbytes, sha256, ready.plan, casts, file.replaces)


def casts_task(path: str | os.PathLike[str], options: ExportOptions) -> Task[list[Cast]]:
    """Count what a cast would change, tensor by tensor; reads what is to be cast, and writes nothing."""
    ready = yield from prepare_task(path, options)
    cast = [record for record in ready.records if record.tensor is not None and record.dtype != record.tensor.dtype]
    total = sum(record.nbytes for record in cast)
    done = told = 0
    yield Progress(0, total)
    with RecordSource(ready.checkpoint) as source:
        for record in cast:
            for chunk in source.chunks(record):
                done += len(chunk)
                if done - told >= STEP_NBYTES:
                    told = done
                    yield Progress(done, total)
        return _casts(ready, source)


def _each_step(counts: Iterator[int], progress: Progress) -> Task[None]:
    """Work off what counts bytes, with places to stop."""
    since = 0
    for count in counts:
        since += count
        if since >= STEP_NBYTES:
            since = 0
            yield progress


def refuse_obstacles(ready: Prepared) -> None:
    """Raise ExportRefused when something cannot be written."""
    obstacles = ready.obstacles
    if not obstacles:
        return
    listed = "; ".join(f"{found.path or 'the root'}: {found.text}" for found in obstacles[:_LISTED])
    more = f" … and {len(obstacles) - _LISTED:,} more" if len(obstacles) > _LISTED else ""
    advice = "Leave them out with --objects drop, or select another part"
    if ready.options.flavour == "safetensors":
        advice = "Write .pth, leave them out with --objects drop, or select another part"
    elif ready.options.objects == "refuse":
        advice = "Choose --objects drop, plain (their state as dicts and lists) or keep (name the class again)"
    raise ExportRefused(f"not everything can be written: {listed}{more}", path=ready.checkpoint.path, advice=advice)


def check_sources(files: list[FileFacts]) -> None:
    """Raise FileChanged when a file is not what it was when it was opened."""
    for facts in files:
        with FileSource(facts.path) as source:
            changed = changed_since(facts, source.facts)
            if changed is not None:
                raise changed


def _casts(ready: Prepared, source: RecordSource) -> list[Cast]:
    casts = []
    for value in tensors_in(ready.root):
        record = value.record
        tally = source.tallies.pop(id(record), None) if record is not None else None
        if record is None or record.tensor is None or tally is None:
            continue
        names = record.tensor.dtype.name, record.dtype.name
        casts.append(
            Cast(record.path, *names, record.numel, tally.changed, tally.largest_error, tally.became_infinite)
        )
    return casts


def _compare_task(ready: Prepared, file: NewFile) -> Task[None]:
    """Read the written file with the same reader as any other, and compare every bit with the source."""
    options = ExportOptions(objects="keep", keep_strides=ready.options.keep_strides)
    try:
        again = prepared((yield from content_task(file.path)), options)
    except ViewerError as error:
        raise _differs(file, f"it cannot be read back ({error.fault})") from error
    if again.pickle != ready.pickle or len(again.records) != len(ready.records):
        raise _differs(file, "its structure is not what was written")
    pairs = list(zip(ready.records, again.records, strict=True))
    found = yield from first_difference_task(
        ready.checkpoint, again.checkpoint, pairs, ready.nbytes, 2 * ready.nbytes
    )
    if found is not None:
        raise _differs(file, f"the values of {found.path or 'the root'} differ from the source")
    yield Progress(2 * ready.nbytes, 2 * ready.nbytes)


def _differs(file: NewFile, what: str) -> ViewerError:
    return ViewerError(
        f"the file that was written is not what it should be: {what}",
        path=file.target,
        advice="The disk or the memory of this machine may be failing; nothing was replaced",
    )
