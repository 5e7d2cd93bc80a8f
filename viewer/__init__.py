"""Look into PyTorch checkpoints without running them.

`open_checkpoint(path)` gives the structure of a file: its tree, tensors, storages, the classes that it names, and
warnings. `compare(a, b)` tells what differs between two, and `export_canonical(source, target)` writes the canonical
form of one. Importing this package costs nothing, and neither torch nor Qt is imported until values or a window are
asked for.

>>> from viewer import open_checkpoint
>>> checkpoint = open_checkpoint("model.pth")       # doctest: +SKIP
>>> checkpoint.container                            # doctest: +SKIP
'torch zip'
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewer.checkpoint.document import Checkpoint
    from viewer.compare.comparison import Comparison
    from viewer.export.options import ExportOptions, ExportResult

__version__ = "0.1.0"
__all__ = ["__version__", "compare", "export_canonical", "open_checkpoint"]


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


def compare(
    a: str | os.PathLike[str] | Checkpoint,
    b: str | os.PathLike[str] | Checkpoint,
    *,
    select: str | tuple[str, str] = "",
    rules: Iterable[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    structure_only: bool = False,
) -> Comparison:
    """What differs between two checkpoints, or between two parts of one.

    Parameters
    ----------
    a, b
        Files, or checkpoints that are open already.
    select
        The path of the part to compare, or one path for each side.
    rules
        Renames, as `--map` of the command line takes them: "REGEX=>REPLACEMENT".
    rtol, atol
        Numbers are close when |a - b| <= atol + rtol * max(|a|, |b|); None for exact comparison.
    structure_only
        Read no values.

    Raises
    ------
    viewer.errors.ViewerError
        When a file cannot be shown, nothing is at the selected path, or a rule is none.
    """
    from viewer.compare import compare_checkpoints

    return compare_checkpoints(a, b, select=select, rules=rules, rtol=rtol, atol=atol, structure_only=structure_only)


def export_canonical(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    options: ExportOptions | None = None,
    *,
    force: bool = False,
) -> ExportResult:
    """Write the canonical form of a checkpoint (docs/canonical-format.md): same content, same bytes.

    Parameters
    ----------
    source
        Nothing in it is executed.
    target
        Written beside itself, read back, compared bit by bit with the source, and then put in place.
    options
        Flavour, part, what becomes of objects of unknown classes …; a `.pth` of all by default.
    force
        Whether a file that is there is replaced.

    Raises
    ------
    viewer.errors.ViewerError
        When the file cannot be read or written, or the export not be made as asked (`viewer.export.options.
        ExportRefused`); the target is then as it was.
    """
    from viewer.export.save import export_task
    from viewer.task import run

    return run(export_task(source, target, options, force=force))
