"""Arrays that are used again for every chunk: fresh memory costs a page fault per 4 KiB, more than the sums do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Scratch:
    """Named work arrays of one thread. An array is valid until the same name is asked for again."""

    def __init__(self) -> None:
        self._arrays: dict[str, npt.NDArray[np.uint8]] = {}

    def array(self, name: str, dtype: str, count: int) -> npt.NDArray[Any]:
        """An uninitialised 1-D array of `count` elements."""
        import numpy as np

        kind = np.dtype(dtype)
        nbytes = kind.itemsize * count
        buffer = self._arrays.get(name)
        if buffer is None or buffer.nbytes < nbytes:
            buffer = self._arrays[name] = np.empty(nbytes, np.uint8)
        return buffer[:nbytes].view(kind)
