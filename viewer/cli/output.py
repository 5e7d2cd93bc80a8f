"""Standard output and standard error: encodings, closed pipes, and the one line that an error is.

Exit codes: 0 done (of a file of which only a part can be shown: done, with a warning); 2 one line on standard error
says why not; 130 interrupted with Ctrl+C; 141 the reader of our output closed it (`| head`). 130 and 141 are what a
shell reports of a program that the signal itself ended. Commands that compare or check use 1 for "differs" or
"found something".
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterable
from typing import Final

from viewer.report.wording import printable

EXIT_DONE: Final = 0
EXIT_FOUND: Final = 1
EXIT_TROUBLE: Final = 2
EXIT_INTERRUPTED: Final = 130
EXIT_PIPE_CLOSED: Final = 141

_BATCH: Final = 1 << 16
_PLAIN = str.maketrans({"├": "|", "└": "`", "│": "|", "─": "-", "×": "x", "…": "..."})


def print_error(message: str) -> None:
    """One line on standard error, whatever a file name or a message holds."""
    if sys.stderr is None:  # a windowed program on Windows has none
        return
    line = printable(f"checkpoint-viewer: {' '.join(message.splitlines())}")
    encoding = sys.stderr.encoding or "ascii"
    print(line.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr, flush=True)


def write_all(pieces: Iterable[str]) -> None:
    """Write to standard output in large batches, and all of it before returning.

    Drawing characters become ASCII where the output's encoding lacks them, other characters escapes.
    """
    stdout = sys.stdout
    if stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    if isinstance(stdout, io.TextIOWrapper):
        stdout.reconfigure(errors="backslashreplace")
    translate = not _can_draw(stdout.encoding)
    batch: list[str] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece)
        if size >= _BATCH:
            _write(batch, translate)
            batch.clear()
            size = 0
    _write(batch, translate)
    stdout.flush()


def _write(batch: list[str], translate: bool) -> None:
    text = "".join(batch)
    sys.stdout.write(text.translate(_PLAIN) if translate else text)


def _can_draw(encoding: str | None) -> bool:
    try:
        "├└│─×…".encode(encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def abandon_stdout() -> None:
    """Let the interpreter's own flush at exit go nowhere, where it would fail again or wait for a reader."""
    try:
        descriptor = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return  # none, or not a real file: nothing will fail at exit
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
