"""Which task answers which request. The rooms that do the work are imported when they are first asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from viewer.checkpoint.document import Checkpoint
from viewer.engine.protocol import (
    Brief,
    Check,
    ListDevices,
    OpenFile,
    Ping,
    Recognise,
    Request,
    ScaleUpdate,
    Summarise,
    WarmUp,
)
from viewer.errors import ViewerError
from viewer.task import Progress, Task

Handler: TypeAlias = Callable[..., Task[Any]]
"""Takes the request, and then the documents that it names, in that order."""


def open_file(request: OpenFile) -> Task[Checkpoint]:
    from viewer.formats.opening import open_task

    return open_task(request.path)


def summarise(request: Summarise, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.tensors.summary import summarise_task

    return summarise_task(
        checkpoint,
        request.tensor,
        device=request.device,
        bins=request.bins,
        value_range=request.value_range,
    )


def recognise(_request: Recognise, checkpoint: Checkpoint, model: Checkpoint | None = None) -> Task[Any]:
    from viewer.checkpoint.meaning.recognise import recognise_task

    return recognise_task(checkpoint, model)


def check(request: Check, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.checks.run import check_task

    return check_task(checkpoint, device=request.device, with_values=request.with_values)


def brief(request: Brief, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.tensors.brief_task import brief_task

    return brief_task(checkpoint, request.tensors, device=request.device)


def scale_update(request: ScaleUpdate, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.tensors.update_scale import update_scale_task

    return update_scale_task(
        checkpoint,
        (request.exp_avg, request.exp_avg_sq),
        lr=request.lr,
        betas=request.betas,
        eps=request.eps,
        step=request.step,
        device=request.device,
    )


def list_devices(_request: ListDevices) -> Task[Any]:
    from viewer.tensors.devices import list_devices

    yield Progress(0, 1, "devices")
    return list_devices()


def warm_up(_request: WarmUp) -> Task[None]:
    # The import is the lane's own preparation (see `prepare_compute`).
    yield Progress(1, 1, "imports")


def ping(request: Ping) -> Task[str]:
    yield Progress(1, 1, "answers")
    return request.text


HANDLERS: Final[Mapping[type[Request], Handler]] = {
    OpenFile: open_file,
    Summarise: summarise,
    Recognise: recognise,
    Check: check,
    Brief: brief,
    ScaleUpdate: scale_update,
    ListDevices: list_devices,
    WarmUp: warm_up,
    Ping: ping,
}


def prepare_compute() -> None:
    """Import torch ahead of the compute lane's first job: more than a second, with no place to stop."""
    from viewer.tensors.devices import torch_device

    try:
        torch_device("cpu")
    except ImportError as error:
        raise ViewerError(
            f"torch cannot be imported, and without it no values can be computed ({error})",
            advice="Install it in the environment that Checkpoint Viewer runs in",
        ) from error
