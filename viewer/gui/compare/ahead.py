"""Loads the modules of a comparison a few at a time, before the first one is asked for: together they take as long as
ten frames."""

from __future__ import annotations

import importlib
import pkgutil

from viewer.task import Progress, Task


def modules_task() -> Task[None]:
    """Import each module of this package; a step is one of them."""
    import viewer.gui.compare as package

    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
        yield Progress(0, 0, "modules")
