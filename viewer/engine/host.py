"""What the engine process asks of the operating system: its pipes, its bounds, its rank among the processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

BACKGROUND_NICE: Final = 5
"""Of the compute and save lanes on Linux: with two cores and two threads of torch, the window still gets its turn."""

_OOM_SCORE: Final = "500"
"""Of -1000 … 1000: when memory runs out, the kernel ends the engine, which can be restarted, and not the window."""


def take_over_pipes() -> tuple[int, int]:
    """Keep standard input and output for frames, and point the standard ones elsewhere.

    Whatever a library prints goes to standard error, which the client keeps for its messages; whatever reads standard
    input finds it empty. The descriptors returned are not inherited by processes that a library may start.

    Returns
    -------
    tuple[int, int]
        For reading and for writing.
    """
    read_fd, write_fd = os.dup(0), os.dup(1)
    nothing_fd = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing_fd, 0)
    os.close(nothing_fd)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(read_fd, os.O_BINARY)
        msvcrt.setmode(write_fd, os.O_BINARY)
    return read_fd, write_fd


def settle_in(memory_nbytes: int) -> None:
    """Set the bounds of this process; none of them is needed for it to work."""
    # Ctrl+C in a terminal reaches the whole process group; the engine ends when its pipe does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        if memory_nbytes > 0:
            bound_memory(memory_nbytes)
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)


def bound_memory(nbytes: int) -> None:
    """Let an allocation beyond `nbytes` of data end in MemoryError instead of swapping the machine (Linux).

    RLIMIT_DATA, not RLIMIT_AS: the latter counts mapped files and the hundreds of MB that torch reserves unused.
    """
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = nbytes if hard == resource.RLIM_INFINITY else min(nbytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def default_memory_nbytes() -> int:
    """Four fifths of the machine's memory; 0, which means no bound, where that is not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 4 // 5
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 0


def end_with_parent(wanted: bool = True) -> None:
    """Have the kernel kill this process when the thread that started it ends, or not (Linux).

    The end of the pipe does the same everywhere, but waits for a C call that holds the interpreter. The wish belongs
    to the calling thread, and ends with it: another thread's wish is not taken back.
    """
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1  # <sys/prctl.h>
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL if wanted else 0)


def lower_thread_priority() -> None:
    """Give way to the window (Linux, where threads have a nice value each)."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BACKGROUND_NICE)
