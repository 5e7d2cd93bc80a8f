"""Helper processes: fresh interpreters that compute a part of something large, for the process that started them.

Arithmetic on blocks is some hundred calls of numpy or torch of ten microseconds to a millisecond, and every one of
them asks for the interpreter when it is done: two threads hand it to each other so often that they take up to twice
the time of one, where two processes take half. So large tensors go to processes. They have a module of this package
as their main, read their orders from a pipe, read the files themselves, and end when the pipe does.

What travels is pickled, and none of it can be an object that a file chose. Orders hold our own dataclasses, in which
all that comes from a file are texts, numbers, and tuples and dicts of them (`TensorRef.extra`); files hold no classes
of this program, and unknown ones are stand-ins in the tree, which does not travel (`formats.storage_bytes.files_of`).
The pipes are anonymous: a helper hears only the process that started it, and that one hears only its helpers. Should
any of this ever fail, the other end still builds nothing but what is admitted.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping
from typing import IO, Any, Final, TypeAlias

from viewer import errors
from viewer.errors import ViewerError
from viewer.interpreter import module_command

Admitted: TypeAlias = Mapping[str, set[str]]
"""All classes and functions that messages are made of, by module."""

_LENGTH: Final = struct.Struct("<Q")

OF_CHECKPOINTS: Final[Admitted] = {
    "array": {"array", "_array_reconstructor"},
    "pathlib": {"PosixPath", "WindowsPath"},
    "pathlib._local": {"PosixPath", "WindowsPath"},  # Python 3.13
    "viewer.checkpoint.document": {"Checkpoint", "FileFacts"},
    "viewer.checkpoint.dtypes": {"DType"},
    "viewer.checkpoint.nodes": {"NodeTable"},
    "viewer.checkpoint.tensors": {
        "Assembly", "Piece", "StorageRef", "StorageTable", "TensorFlag", "TensorRef", "TensorTable",
    },
    "viewer.errors": {
        "_rebuild",
        *(name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, ViewerError)),
    },
}  # fmt: skip
"""What every helper needs to be told of files and tensors, and the errors that it answers with."""


class HelperLost(Exception):
    """A helper ended, or could not be started."""


class HelperProcess:
    """One helper; used by one thread at a time. Raises HelperLost where it cannot be started.

    Parameters
    ----------
    module
        Whose `main` it runs; that makes an `Orders`.
    admitted
        The same there.
    """

    def __init__(self, module: str, admitted: Admitted) -> None:
        self._admitted = admitted
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter with our own code
                module_command(module),
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

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: object) -> None:
        """Give an order; raises HelperLost when the process has ended."""
        try:
            _send(self._orders, message)
        except OSError as error:
            raise HelperLost("it ended") from error

    def receive(self) -> object:
        """The next answer.

        Raises
        ------
        ViewerError
            What the helper met instead of an answer.
        HelperLost
            When the process has ended.
        """
        try:
            answer = _receive(self._answers, self._admitted)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            raise HelperLost("it ended") from error
        if isinstance(answer, ViewerError):
            raise answer
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


class Orders:
    """The helper's end, over its standard input and output: nothing but answers may come between answers."""

    def __init__(self, admitted: Admitted) -> None:
        self._admitted = admitted
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that started this one
        self._orders = sys.stdin.buffer
        self._answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def next(self) -> object:
        """The next order; raises EOFError at the end."""
        return _receive(self._orders, self._admitted)

    def answer(self, message: object) -> None:
        """Send an answer, or a ViewerError in its place; raises BrokenPipeError when nobody listens any more."""
        _send(self._answers, message)


def _send(pipe: IO[bytes], message: object) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


class _Messages(pickle.Unpickler):
    """Builds what is admitted and refuses everything else."""

    def __init__(self, data: bytes, admitted: Admitted) -> None:
        super().__init__(io.BytesIO(data))
        self._admitted = admitted

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if global_name in self._admitted.get(module_name, ()):
            return super().find_class(module_name, global_name)
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is no part of a message")


def _receive(pipe: IO[bytes], admitted: Admitted) -> object:
    """The next message. Raises EOFError, and UnpicklingError for what is none."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (nbytes,) = _LENGTH.unpack(head)
    data = pipe.read(nbytes)
    if len(data) < nbytes:
        raise EOFError
    return _Messages(data, admitted).load()
