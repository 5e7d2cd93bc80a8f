"""What is said to the processes that help with a pass over a large tensor, and by them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.helper_process import OF_CHECKPOINTS, Admitted
from viewer.tensors.layout import Block
from viewer.tensors.moments import Facts

READY: Final = "ready"


@dataclass(frozen=True, slots=True)
class ScanOrder:
    """A pass of `viewer.tensors.scan`.

    Attributes
    ----------
    checkpoint
        Its files alone.
    edges, inside, is_finite
        For each stream: of its Binner (None for none), and of its StreamScan.
    facts, careful
        As in `scan_task`.
    """

    checkpoint: Checkpoint
    tensor: TensorRef
    edges: tuple[array[float] | None, ...]
    inside: tuple[bool, ...]
    is_finite: tuple[bool, ...]
    facts: bool
    careful: bool


@dataclass(frozen=True, slots=True)
class PatternOrder:
    """A pass of `viewer.tensors.pattern_scan`, with the table of the dtype."""

    checkpoint: Checkpoint
    tensor: TensorRef


@dataclass(frozen=True, slots=True)
class JobOrder:
    """A job of the pass that was ordered before.

    Attributes
    ----------
    known
        As in `place_extremes`, for each stream or table: extremes and first NaN of what comes before.
    """

    blocks: tuple[Block, ...]
    known: tuple[Facts, ...]


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """What a job found.

    Attributes
    ----------
    facts
        For each stream or table.
    counts
        int64 in the order of this machine: of each stream, or of all patterns.
    """

    facts: tuple[Facts, ...]
    counts: tuple[bytes, ...]


ADMITTED: Final[Admitted] = {
    **OF_CHECKPOINTS,
    "viewer.tensors.exact": {"Moments"},
    "viewer.tensors.helper_orders": {"JobAnswer", "JobOrder", "PatternOrder", "ScanOrder"},
    "viewer.tensors.layout": {"Block"},
    "viewer.tensors.moments": {"Facts"},
}
