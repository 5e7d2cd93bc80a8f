"""Single elements as exact Python scalars: for the command line, for tables, for copying."""

from __future__ import annotations

from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.errors import LimitExceeded
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task
from viewer.tensors.reading import read_values
from viewer.tensors.results import Scalar, ValueRange

MAX_VALUES: Final = 10_000_000
"""Elements that may become Python objects in one answer: about 300 MB of them."""

_AT_ONCE: Final = 65_536


def values_task(
    checkpoint: Checkpoint, number: int, count: int, *, start: int = 0, device: str = "cpu"
) -> Task[ValueRange]:
    """Elements with flat indexes from `start` on, at most `count` and those there are, as Python scalars.

    Every value is exact: a bool, an int, or the float or complex of Python that equals it. Types that pack several
    values into a byte give each value; quantized ones give their real numbers, with the stored integers beside them.

    Raises
    ------
    LimitExceeded
        When `count` passes MAX_VALUES.
    MalformedFile, FileChanged, DeviceProblem
        As `read_values`.
    """
    tensor = checkpoint.tensor(number)
    total = tensor.numel * (2 if tensor.dtype.name == "float4_e2m1fn_x2" else 1)
    start = max(start, 0)
    count = max(min(count, total - start), 0)
    if count > MAX_VALUES:
        raise LimitExceeded(
            f"{count:,} values at once are more than memory should hold as text",
            path=checkpoint.path,
            advice=f"Ask for at most {MAX_VALUES:,}",
        )
    values: list[Scalar] = []
    stored: list[int] | None = [] if tensor.dtype.kind == "quantized" else None
    with StorageReader(checkpoint) as reader:
        # Once even for none, so that a tensor that cannot be read says so.
        for at in range(start, max(start + count, start + 1), _AT_ONCE):
            part = min(_AT_ONCE, start + count - at)
            values += read_values(checkpoint, tensor, start=at, count=part, device=device, reader=reader).tolist()
            if stored is not None:
                stored += read_values(
                    checkpoint, tensor, start=at, count=part, device=device, quantized="stored", reader=reader
                ).tolist()
            yield Progress(len(values), count, "values")
    return ValueRange(
        number, tensor.dtype.name, start, total, tuple(values), None if stored is None else tuple(stored)
    )
