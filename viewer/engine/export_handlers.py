"""Which task answers which request of the save lane."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.engine.export_requests import (
    CountCasts,
    Explain,
    Export,
    NameContent,
    PlanExport,
    RemoveAbandoned,
    Unpack,
    Verify,
)
from viewer.engine.protocol import Request
from viewer.task import Progress, Task


def plan_export(request: PlanExport, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.export.save import check_sources, plan_task

    check_sources(checkpoint.files)
    return (yield from plan_task(checkpoint.path, request.options))


def export(request: Export, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.export.save import export_task

    return export_task(checkpoint.path, request.target, request.options, force=request.force, opened=checkpoint.files)


def count_casts(request: CountCasts, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.export.save import casts_task, check_sources

    check_sources(checkpoint.files)
    return (yield from casts_task(checkpoint.path, request.options))


def remove_left(request: RemoveAbandoned) -> Task[Any]:
    from viewer.export.files import remove_abandoned

    remove_abandoned(request.folder)
    yield Progress(1, 1)
    return None


def name_content(request: NameContent, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.export.digest import digest_task
    from viewer.export.save import check_sources

    check_sources(checkpoint.files)
    return (yield from digest_task(checkpoint.path, tensors=request.tensors))


def verify(_request: Verify, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.export.save import check_sources
    from viewer.export.verify import verify_task

    check_sources(checkpoint.files)
    return (yield from verify_task(checkpoint.path))


def unpack(request: Unpack) -> Task[Any]:
    from viewer.formats.wrapped import unpack_task

    return unpack_task(request.path, request.target, overwrite=request.overwrite)


def explain(_request: Explain, a: Checkpoint, b: Checkpoint) -> Task[Any]:
    from viewer.export.explain import explain_task
    from viewer.export.save import check_sources

    check_sources([*a.files, *b.files])
    return (yield from explain_task(a.path, b.path))


EXPORT_HANDLERS: Final[Mapping[type[Request], Callable[..., Task[Any]]]] = {
    PlanExport: plan_export,
    CountCasts: count_casts,
    RemoveAbandoned: remove_left,
    Export: export,
    NameContent: name_content,
    Verify: verify,
    Explain: explain,
    Unpack: unpack,
}
