"""How many elements of a tensor are no numbers, or infinite: one quick pass, for checking whole files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.formats.storage_bytes import StorageReader
from viewer.task import Progress, Task
from viewer.tensors.elements import pattern_values
from viewer.tensors.scratch import Scratch
from viewer.tensors.source import ElementSource

if TYPE_CHECKING:
    import numpy.typing as npt

_CHUNK_NBYTES: Final = 1 << 20
_STEP_NBYTES: Final = 8 << 20


def nonfinite_task(checkpoint: Checkpoint, tensor: TensorRef, reader: StorageReader) -> Task[tuple[int, int]]:
    """The numbers of NaNs and of infinities; (0, 0) for dtypes that have none. Progress is in bytes of the tensor.

    Of a complex element either part counts.

    Raises
    ------
    MalformedFile, FileChanged
        When the values cannot be read.
    """
    import numpy as np

    nans = infinities = done = told = 0
    if tensor.dtype.kind not in ("float", "complex") or tensor.layout != "strided" or tensor.storage is None:
        return 0, 0
    scratch = Scratch()
    table = pattern_values(tensor.dtype.name) if tensor.dtype.itemsize <= 2 else None
    with ElementSource(checkpoint, tensor, reader=reader) as source:
        for block in source.logical_blocks(max(_CHUNK_NBYTES // source.element.itemsize, 1)):
            units = source.read(block, scratch)
            found = _nonfinite(units, table)
            if found.size:
                nans += int(np.count_nonzero(np.isnan(found)))
                infinities += int(np.count_nonzero(np.isinf(found)))
            done += units.nbytes
            if done - told >= _STEP_NBYTES:
                told = done
                yield Progress(done, tensor.nbytes)
    return nans, infinities


def _nonfinite(units: npt.NDArray[Any], table: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """The elements that are not finite."""
    import numpy as np

    if table is None:
        found: npt.NDArray[Any] = units[~np.isfinite(units)]
    else:
        found = table[units[~np.isfinite(table)[units]]]
    return found
