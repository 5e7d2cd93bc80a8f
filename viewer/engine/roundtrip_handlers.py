"""Which task answers the requests about saving and reloading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.engine.protocol import Request
from viewer.engine.roundtrip_requests import KeepCopy, RemoveScratch, TryRoundTrip
from viewer.task import Progress, Task


def try_round_trip(request: TryRoundTrip, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.roundtrip.task import roundtrip_task

    return roundtrip_task(
        checkpoint,
        request.node,
        device=request.device,
        ways=request.ways,
        check_bytes=request.check_bytes,
        large=request.large,
    )


def keep_copy(request: KeepCopy, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.roundtrip.task import keep_copy_task

    return keep_copy_task(checkpoint, request.node, request.way, Path(request.folder), device=request.device)


def remove_scratch(_request: RemoveScratch) -> Task[None]:
    from viewer.roundtrip.scratch import sweep

    sweep()
    yield Progress(1, 1)


ROUNDTRIP_HANDLERS: Final[Mapping[type[Request], Callable[..., Task[Any]]]] = {
    TryRoundTrip: try_round_trip,
    KeepCopy: keep_copy,
    RemoveScratch: remove_scratch,
}
