"""Which task answers which request. The rooms that do the work are imported when they are first asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from viewer.checkpoint.document import Checkpoint
from viewer.engine.compare_handlers import COMPARE_HANDLERS
from viewer.engine.export_handlers import EXPORT_HANDLERS
from viewer.engine.meaning_handlers import MEANING_HANDLERS
from viewer.engine.protocol import (
    ListDevices,
    OpenFile,
    Ping,
    Request,
    Summarise,
    WarmUp,
)
from viewer.engine.roundtrip_handlers import ROUNDTRIP_HANDLERS
from viewer.engine.values_handlers import VALUES_HANDLERS
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
    **COMPARE_HANDLERS,
    **MEANING_HANDLERS,
    **VALUES_HANDLERS,
    ListDevices: list_devices,
    WarmUp: warm_up,
    Ping: ping,
    **EXPORT_HANDLERS,
    **ROUNDTRIP_HANDLERS,
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
