"""A long operation is a plain generator: it yields progress and returns its result.

Each yield is a place to stop, at most a few MiB of work after the last. The command line runs a task in its own
process, the engine runs the same task in a lane, and neither knows what the task does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a task is.

    Attributes
    ----------
    done, total
        In units of `unit`; `total` is 0 while it is not known.
    unit
        "bytes", or a plural noun ("tensors").
    partial
        What can be shown already; its type belongs to the task. None when there is nothing new.
    """

    done: int
    total: int
    unit: str = "bytes"
    partial: object = None


Task: TypeAlias = Generator[Progress, None, Result]


def run(task: Task[Result], on_progress: Callable[[Progress], None] | None = None) -> Result:
    """Run a task to its end in this thread and return its result.

    An exception in `on_progress` closes the task, so its clean-up runs, and passes on.
    """
    try:
        while True:
            progress = next(task)
            if on_progress is not None:
                on_progress(progress)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    finally:
        task.close()
