"""How far Adam would move a parameter with the stored moments."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.errors import ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task
from viewer.tensors.brief import UpdateScale
from viewer.tensors.reading import read_values

if TYPE_CHECKING:
    import torch

_ELEMENTS: Final = 1 << 18


def update_scale_task(
    checkpoint: Checkpoint,
    moments: tuple[int, int],
    *,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    step: float,
    device: str = "cpu",
) -> Task[UpdateScale]:
    """How far Adam's next step would move a parameter if its gradient stayed as the moments have it.

    Parameters
    ----------
    moments
        Tensor numbers of exp_avg and of exp_avg_sq (or max_exp_avg_sq), of one shape.

    Weight decay is left out. Bias correction is that of the stored step (torch/optim/adam.py: _single_tensor_adam).
    """
    import torch

    first, second = (checkpoint.tensor(number) for number in moments)
    if first.shape != second.shape:
        raise ViewerError("the two moments have different shapes", path=checkpoint.path)
    correction1, correction2 = (1 - beta**step if step > 0 else 1.0 for beta in betas)
    squares, denominators, largest, count = 0.0, 0.0, 0.0, 0
    yield Progress(0, first.numel, "elements")
    with StorageReader(checkpoint) as reader:
        for start in range(0, max(first.numel, 1), _ELEMENTS):
            parts = [_values(checkpoint, tensor, start, device, reader) for tensor in (first, second)]
            mean, variance = parts[0] / correction1, parts[1] / correction2
            move = lr * mean / (torch.sqrt(variance) + eps)
            squares += float(torch.dot(move, move))
            denominators += float(variance.sum())
            if move.numel():
                largest = max(largest, float(move.abs().max()))
            count += move.numel()
            yield Progress(count, first.numel, "elements")
    formula = (
        f"lr · m̂ / (√v̂ + eps) with lr {lr:.6g}, eps {eps:.6g}, m̂ = exp_avg / {correction1:.6g}, "
        f"v̂ = exp_avg_sq / {correction2:.6g} (step {step:g})"
    )
    return UpdateScale(
        formula,
        math.sqrt(squares / count) if count else 0.0,
        largest,
        math.sqrt(max(denominators / count, 0.0)) if count else 0.0,
        count,
    )


def _values(
    checkpoint: Checkpoint, tensor: TensorRef, start: int, device: str, reader: StorageReader
) -> torch.Tensor:
    import torch

    return read_values(checkpoint, tensor, start=start, count=_ELEMENTS, device=device, reader=reader).to(
        torch.float64
    )
