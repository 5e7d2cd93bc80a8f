"""Two checkpoints, or two parts of one, side by side: what was added, removed and changed, where, and by how much.

The structure is compared first and needs no tensor data; values follow tensor by tensor. What is found is plain data
(`viewer.compare.results`) that imports neither torch nor numpy, so that the window can hold it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewer.checkpoint.document import Checkpoint
    from viewer.compare.comparison import Comparison


def compare_checkpoints(
    a: str | os.PathLike[str] | Checkpoint,
    b: str | os.PathLike[str] | Checkpoint,
    *,
    select: str | tuple[str, str] = "",
    rules: Iterable[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    structure_only: bool = False,
) -> Comparison:
    """What `viewer.compare` does."""
    from viewer.compare.names import parse_rule
    from viewer.compare.results import CompareOptions, Tolerance
    from viewer.compare.task import run_compare
    from viewer.formats.opening import open_task
    from viewer.task import run

    left, right = (run(open_task(side)) if isinstance(side, (str, os.PathLike)) else side for side in (a, b))
    options = CompareOptions(
        *((select, select) if isinstance(select, str) else select),
        rules=tuple(parse_rule(rule) for rule in rules),
        tolerance=None if rtol is None and atol is None else Tolerance(rtol or 0.0, atol or 0.0),
        structure_only=structure_only,
    )
    return run(run_compare(left, right, options))


class _CallablePackage(ModuleType):
    """Importing a module of this package binds the name `viewer.compare` to it, where the function of that name was;
    so the package can be called as the function can."""

    __call__ = staticmethod(compare_checkpoints)


sys.modules[__name__].__class__ = _CallablePackage
