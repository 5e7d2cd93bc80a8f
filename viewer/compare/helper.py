"""Processes that compute a part of a large comparison (see `viewer.helper_process`): 5 ns per element in one thread,
7 in two, and 3 in two processes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.tensors import TensorRef
from viewer.compare.pair import PairComparer, Rooms
from viewer.compare.results import Tolerance
from viewer.compare.tally import Tally
from viewer.errors import ViewerError
from viewer.formats.storage_bytes import StorageReader, files_of
from viewer.helper_process import OF_CHECKPOINTS, Admitted, HelperProcess, Orders

_READY: Final = "ready"

_ADMITTED: Final[Admitted] = {
    **OF_CHECKPOINTS,
    "viewer.compare.helper": {"Order", "Sides"},
    "viewer.compare.options": {"Tolerance"},
    "viewer.compare.tally": {"Tally"},
}


@dataclass(frozen=True, slots=True)
class Sides:
    """What stays the same for all orders: the files of both sides."""

    a: Checkpoint
    b: Checkpoint


@dataclass(frozen=True, slots=True)
class Order:
    """Some blocks of one pair, as `PairComparer` takes them.

    Attributes
    ----------
    pair
        The same for all orders of one pair.
    starts
        Where the blocks begin.
    """

    pair: int
    a: TensorRef
    b: TensorRef
    tolerance: Tolerance | None
    count_steps: bool
    starts: tuple[int, ...]
    norms_only: bool


class Helper:
    """One helper process; used by one thread at a time. Raises HelperLost where it cannot be started."""

    def __init__(self, a: Checkpoint, b: Checkpoint) -> None:
        self._process = HelperProcess("viewer.compare.helper", _ADMITTED)
        self._sides = Sides(files_of(a), files_of(b))

    def wait_until_ready(self) -> None:
        """Wait for the interpreter to start and to import numpy; raises HelperLost when it ends before."""
        self._process.send(self._sides)
        self._process.receive()

    def tallies(self, order: Order) -> list[Tally | None]:
        """What `PairComparer.tally_block` gives for each block.

        Raises
        ------
        ViewerError
            As it raises there.
        HelperLost
            When the process has ended.
        """
        self._process.send(order)
        answer = self._process.receive()
        assert isinstance(answer, list)
        return answer

    def end(self) -> None:
        """End the process, which has nothing to lose; whoever waits for it gets HelperLost."""
        self._process.end()

    def close(self) -> None:
        """End the process, and wait for its end. No other thread may be using it."""
        self._process.close()


def main() -> None:
    """Be a helper until the other end closes."""
    orders = Orders(_ADMITTED)
    with contextlib.suppress(EOFError, BrokenPipeError):
        sides = orders.next()
        assert isinstance(sides, Sides)
        import numpy  # noqa: F401 - the first order would wait for it

        orders.answer(_READY)
        with StorageReader(sides.a) as reader_a, StorageReader(sides.b) as reader_b:
            current, comparer = -1, None
            rooms = Rooms()
            while True:
                order = orders.next()
                assert isinstance(order, Order)
                try:
                    if comparer is None or order.pair != current:
                        current = order.pair
                        comparer = PairComparer(
                            (sides.a, order.a, reader_a),
                            (sides.b, order.b, reader_b),
                            order.tolerance,
                            count_steps=order.count_steps,
                        )
                    orders.answer(_tallies(comparer, order.starts, rooms, norms_only=order.norms_only))
                except ViewerError as error:
                    comparer = None
                    orders.answer(error)


def _tallies(comparer: PairComparer, starts: Sequence[int], rooms: Rooms, *, norms_only: bool) -> list[Tally | None]:
    return [comparer.tally_block(start, rooms, norms_only=norms_only) for start in starts]
