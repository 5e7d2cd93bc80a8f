"""Arrays that are used again for every chunk: fresh memory costs a page fault per 4 KiB, more than the sums do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


_HUGE_PAGE: Final = 2 << 20
_LARGE_NBYTES: Final = 1 << 20
"""Arrays from here on lie in huge pages where the system has them: a pass over one touches a page table entry per
4 KiB otherwise, which took a tenth of the time of all passes."""


def work_bytes(nbytes: int) -> npt.NDArray[np.uint8]:
    """Uninitialised bytes to work in, on huge pages where they are many.

    numpy asks the system for huge pages where it allocates 4 MiB or more (`numpy/_core/src/multiarray/alloc.c`), and
    they begin at multiples of their size.
    """
    import numpy as np

    if nbytes < _LARGE_NBYTES:
        return np.empty(nbytes, np.uint8)
    room = np.empty(nbytes + 2 * _HUGE_PAGE, np.uint8)
    start = -room.ctypes.data % _HUGE_PAGE
    return room[start : start + nbytes]


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
            buffer = self._arrays[name] = work_bytes(nbytes)
        return buffer[:nbytes].view(kind)
