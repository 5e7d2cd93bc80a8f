"""The engine's requests without an engine: for the command line, which waits anyway."""

from __future__ import annotations

from collections.abc import Callable

from viewer.checkpoint.document import Checkpoint
from viewer.engine.handlers import HANDLERS
from viewer.engine.protocol import Request
from viewer.task import Progress, run


def run_request(
    request: Request, *documents: Checkpoint, on_progress: Callable[[Progress], None] | None = None
) -> object:
    """Do in this thread what the engine would do, and return the result, with its blobs.

    Parameters
    ----------
    documents
        The checkpoints that stand for `request.documents`, in that order.

    Raises
    ------
    ViewerError
        As the task raises it; other exceptions pass as they are.
    """
    return run(HANDLERS[type(request)](request, *documents), on_progress)
