"""The numbers of `TensorBrief` for many tensors, with the files opened once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.errors import DeviceProblem, FileChanged, ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task
from viewer.tensors.brief import TensorBrief
from viewer.tensors.reading import iter_chunks

if TYPE_CHECKING:
    import torch

_PROGRESS_EVERY: Final = 64
_PROGRESS_NBYTES: Final = 8 << 20


def brief_task(
    checkpoint: Checkpoint, numbers: Iterable[int], *, device: str = "cpu"
) -> Task[dict[int, TensorBrief]]:
    """Numbers about each of these tensors, by tensor number. One that cannot be read has a `problem`.

    Raises
    ------
    DeviceProblem, FileChanged
        These concern all tensors.
    """
    wanted = list(dict.fromkeys(numbers))
    sizes = [_nbytes(checkpoint.tensor(number)) for number in wanted]
    total, done, reported = sum(sizes), 0, 0
    briefs: dict[int, TensorBrief] = {}
    yield Progress(0, total)
    with StorageReader(checkpoint) as reader:
        for nth, (number, size) in enumerate(zip(wanted, sizes, strict=True)):
            try:
                briefs[number] = yield from _one_task(checkpoint, number, device, reader, done, total)
            except (DeviceProblem, FileChanged):
                raise
            except ViewerError as error:
                briefs[number] = TensorBrief(number, problem=error.fault)
            done += size
            if nth % _PROGRESS_EVERY == 0 or done - reported > _PROGRESS_NBYTES:
                reported = done
                yield Progress(done, total)
    return briefs


def _nbytes(tensor: TensorRef) -> int:
    # An expanded view claims any number of elements; what is behind it is its storage.
    return min(tensor.nbytes, tensor.storage.nbytes) if tensor.storage is not None else 0


class _Sums:
    """Sums over the chunks of one tensor."""

    def __init__(self, *, is_complex: bool, is_integer: bool) -> None:
        self.is_complex = is_complex
        self.is_integer = is_integer
        self.nan = self.inf = self.zeros = self.negative = 0
        self.squares = 0.0
        self.beyond = 0.0  # norm of the chunks whose squares overflow
        self.min: float | int | None = None

    def add(self, chunk: torch.Tensor) -> None:
        import torch

        if self.is_integer:
            self._add_integers(chunk)
            return
        reals = torch.view_as_real(chunk) if self.is_complex else chunk
        values = reals.to(torch.float64)
        squares = float(torch.dot(values.reshape(-1), values.reshape(-1)))
        if not math.isfinite(squares):
            values = self._finite(values)
            squares = float(torch.dot(values, values))
            if not math.isfinite(squares):  # squares of doubles beyond 1e154
                largest = float(values.abs().max())
                self.beyond = math.hypot(self.beyond, largest * float(torch.linalg.vector_norm(values / largest)))
                squares = 0.0
        self.squares += squares
        if self.is_complex:
            self.zeros += chunk.numel() - int(torch.count_nonzero(chunk))
            return
        self.zeros += values.numel() - int(torch.count_nonzero(values))
        if values.numel():
            low = float(values.min())
            self.min = low if self.min is None else min(self.min, low)
            if low < 0:
                self.negative += int((values < 0).sum())

    def _finite(self, values: torch.Tensor) -> torch.Tensor:
        """The finite values; the others are counted, a complex number once."""
        import torch

        nan, inf = torch.isnan(values), torch.isinf(values)
        if self.is_complex:
            self.nan += int(nan.any(-1).sum())
            self.inf += int((inf.any(-1) & ~nan.any(-1)).sum())
        else:
            self.nan += int(nan.sum())
            self.inf += int(inf.sum())
        return values[~(nan | inf)]

    def _add_integers(self, chunk: torch.Tensor) -> None:
        import torch

        self.zeros += chunk.numel() - int(torch.count_nonzero(chunk.ne(0)))
        # torch has no min for uint16 … uint64; their values are not negative.
        if chunk.numel() and not chunk.dtype.is_signed:
            self.min = 0
        elif chunk.numel():
            low = int(chunk.min())
            self.min = low if self.min is None else min(self.min, low)
            if low < 0:
                self.negative += int((chunk < 0).sum())

    @property
    def norm(self) -> float | None:
        if self.is_integer or self.nan or self.inf:
            return None
        return math.hypot(math.sqrt(self.squares), self.beyond)


def _one_task(
    checkpoint: Checkpoint, number: int, device: str, reader: StorageReader, done: int, total: int
) -> Task[TensorBrief]:
    tensor = checkpoint.tensor(number)
    kind = tensor.dtype.kind
    sums = _Sums(is_complex=kind == "complex", is_integer=kind in ("int", "uint", "bool", "bits"))
    count = read = reported = 0
    value: bool | int | float | complex | None = None
    for chunk in iter_chunks(checkpoint, tensor, device=device, reader=reader):
        sums.add(chunk)
        count += chunk.numel()
        if tensor.numel == 1:
            value = chunk[0].item()
        read += chunk.numel() * tensor.dtype.itemsize
        if read - reported > _PROGRESS_NBYTES:
            reported = read
            yield Progress(min(done + read, total), total)
    return TensorBrief(number, count, sums.nan, sums.inf, sums.zeros, sums.negative, sums.norm, sums.min, value)
