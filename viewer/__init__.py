"""Look into PyTorch checkpoints without running them.

`open_checkpoint(path)` gives the structure of a file: its tree, tensors, storages, the classes that it names, and
warnings. Importing this package costs nothing, and neither torch nor Qt is imported until values or a window are
asked for.

>>> from viewer import open_checkpoint
>>> checkpoint = open_checkpoint("model.pth")       # doctest: +SKIP
>>> checkpoint.container                            # doctest: +SKIP
'torch zip'
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewer.checkpoint.document import Checkpoint

__version__ = "0.1.0"
__all__ = ["__version__", "open_checkpoint"]


def open_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Read the structure of a checkpoint; nothing in it is executed and no tensor data is read.

    Raises
    ------
    viewer.errors.ViewerError
        When nothing can be shown: the file is missing, is something else, or is broken beyond its first bytes. A file
        of which a part can be shown is returned, with `warnings`.
    """
    from viewer.formats.opening import open_task
    from viewer.task import run

    return run(open_task(path))
