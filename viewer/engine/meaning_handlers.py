"""Which task answers which request of `meaning_requests`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.engine.meaning_requests import Brief, Check, Recognise, ScaleUpdate, ViewModel
from viewer.engine.protocol import Request
from viewer.task import Task


def recognise(_request: Recognise, checkpoint: Checkpoint, model: Checkpoint | None = None) -> Task[Any]:
    from viewer.checkpoint.meaning.recognise import recognise_task

    return recognise_task(checkpoint, model)


def view_model(request: ViewModel, checkpoint: Checkpoint) -> Task[Any]:
    from viewer.checkpoint.meaning.module_tree import module_tree_task

    return module_tree_task(checkpoint, request.node, folded=request.folded)


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


MEANING_HANDLERS: Final[Mapping[type[Request], Callable[..., Task[Any]]]] = {
    Recognise: recognise,
    ViewModel: view_model,
    Check: check,
    Brief: brief,
    ScaleUpdate: scale_update,
}
