"""Processes that compute a part of a large comparison.

The arithmetic on a block is some hundred numpy calls of ten microseconds, and every one of them asks for the
interpreter when it is done: two threads hand it to each other so often that they take longer than one (7 ns per
element against 5, where two processes take 3). So large tensors that differ go to processes. They are fresh
interpreters with this module as their main, read their orders from a pipe, read the files themselves, and end when
the pipe does.

What travels is pickled, and none of it can be an object that a file chose. Orders hold our own dataclasses, in which
all that comes from a file are texts, numbers, and tuples and dicts of them (`TensorRef.extra`); files hold no classes
of this program, and unknown ones are stand-ins in the tree, which does not travel (`_files_of`). The pipes are
anonymous: a helper hears only the process that started it, and that one hears only its helpers. Should any of this
ever fail, the other end still builds nothing but what `_ADMITTED` lists.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import IO, Any, Final

from viewer import errors
from viewer.checkpoint.document import Checkpoint
from viewer.checkpoint.nodes import NodeTable
from viewer.checkpoint.tensors import STORED, StorageTable, TensorRef, TensorTable
from viewer.compare.pair import PairComparer, Rooms
from viewer.compare.results import Tolerance
from viewer.compare.tally import Tally
from viewer.errors import ViewerError
from viewer.formats.storage_bytes import StorageReader
from viewer.interpreter import module_command

_LENGTH: Final = struct.Struct("<Q")
_READY: Final = "ready"

_ADMITTED: Final = {
    "array": {"array", "_array_reconstructor"},
    "pathlib": {"PosixPath", "WindowsPath"},
    "pathlib._local": {"PosixPath", "WindowsPath"},  # Python 3.13
    "viewer.checkpoint.document": {"Checkpoint", "FileFacts"},
    "viewer.checkpoint.dtypes": {"DType"},
    "viewer.checkpoint.nodes": {"NodeTable"},
    "viewer.checkpoint.tensors": {
        "Assembly", "Piece", "StorageRef", "StorageTable", "TensorFlag", "TensorRef", "TensorTable",
    },
    "viewer.compare.helper": {"Order", "Sides"},
    "viewer.compare.options": {"Tolerance"},
    "viewer.compare.tally": {"Tally"},
    "viewer.errors": {
        "_rebuild",
        *(name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ViewerError)),
    },
}  # fmt: skip
"""All classes and functions that messages are made of, by module."""


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


class HelperLost(Exception):
    """A helper ended, or could not be started."""


def can_travel(tensor: TensorRef) -> bool:
    """Whether a helper can read a tensor by what the TensorRef says alone."""
    return tensor.storage is not None and tensor.storage.encoding == STORED and tensor.dtype.kind != "quantized"


class Helper:
    """One helper process; used by one thread at a time. Raises HelperLost where it cannot be started."""

    def __init__(self, a: Checkpoint, b: Checkpoint) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter with our own code
                module_command("viewer.compare.helper"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            raise HelperLost(str(error)) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders: IO[bytes] = self._process.stdin
        self._answers: IO[bytes] = self._process.stdout
        self._sides = Sides(_files_of(a), _files_of(b))

    def wait_until_ready(self) -> None:
        """Wait for the interpreter to start and to import numpy; raises HelperLost when it ends before."""
        self._send(self._sides)
        self._receive()

    def tallies(self, order: Order) -> list[Tally | None]:
        """What `PairComparer.tally_block` gives for each block.

        Raises
        ------
        ViewerError
            As it raises there.
        HelperLost
            When the process has ended.
        """
        self._send(order)
        answer = self._receive()
        if isinstance(answer, ViewerError):
            raise answer
        assert isinstance(answer, list)
        return answer

    def end(self) -> None:
        """End the process, which has nothing to lose; whoever waits for it gets HelperLost."""
        self._process.kill()

    def close(self) -> None:
        """End the process, wait for its end, and close the pipes. No other thread may be using it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._orders, self._answers):
            with contextlib.suppress(OSError):  # what the process has not read is lost with it
                pipe.close()

    def _send(self, message: Sides | Order) -> None:
        try:
            _send(self._orders, message)
        except OSError as error:
            raise HelperLost("it ended") from error

    def _receive(self) -> object:
        try:
            return _receive(self._answers)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise HelperLost("it ended") from error


def _files_of(checkpoint: Checkpoint) -> Checkpoint:
    """What a StorageReader needs of a checkpoint."""
    return replace(
        checkpoint,
        nodes=NodeTable(),
        tensors=TensorTable(),
        storages=StorageTable(),
        globals=[],
        warnings=[],
        facts={},
        blobs=[],
    )


def _send(pipe: IO[bytes], message: object) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


class _Messages(pickle.Unpickler):
    """Builds what `_ADMITTED` lists and refuses everything else."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if global_name in _ADMITTED.get(module_name, ()):
            return super().find_class(module_name, global_name)
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is no part of a message")


def _receive(pipe: IO[bytes]) -> object:
    """The next message. Raises EOFError, and UnpicklingError for what is none."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (nbytes,) = _LENGTH.unpack(head)
    data = pipe.read(nbytes)
    if len(data) < nbytes:
        raise EOFError
    return _Messages(io.BytesIO(data)).load()


def main() -> None:
    """Be a helper, over standard input and output, until the other end closes."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that started this one
    orders = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing but answers may come between answers
    with contextlib.suppress(EOFError, BrokenPipeError):
        sides = _receive(orders)
        assert isinstance(sides, Sides)
        import numpy  # noqa: F401 - the first order would wait for it

        _send(answers, _READY)
        with StorageReader(sides.a) as reader_a, StorageReader(sides.b) as reader_b:
            current, comparer = -1, None
            rooms = Rooms()
            while True:
                order = _receive(orders)
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
                    _send(answers, _tallies(comparer, order.starts, rooms, norms_only=order.norms_only))
                except ViewerError as error:
                    comparer = None
                    _send(answers, error)


def _tallies(comparer: PairComparer, starts: Sequence[int], rooms: Rooms, *, norms_only: bool) -> list[Tally | None]:
    return [comparer.tally_block(start, rooms, norms_only=norms_only) for start in starts]
