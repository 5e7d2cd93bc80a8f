"""Frames on a pipe: a header of fixed size, then a pickle of plain data (see `encoding`).

The policy of the reading side: a frame is at most `FRAME_LIMIT` bytes, and its pickle names nothing. `find_class`
refuses every name, so no opcode of a hostile frame finds anything to call. What a hostile engine can still do is to
lie in values, or to make the window's process slow or short of memory.
"""

from __future__ import annotations

import gc
import io
import os
import pickle
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, Never

from viewer.engine.admitted import AdmittedClasses
from viewer.engine.encoding import Encoder
from viewer.engine.faults import ProtocolError

FRAME_LIMIT: Final = 64 << 20
"""Parts are about 1 MiB; a frame grows beyond that only by a single huge integer."""

MESSAGE: Final = 1
"""A whole message, or the last frame of one: job 0 where it concerns none."""
PART: Final = 2
"""A part of the message that the same job sends later."""

_HEADER: Final = struct.Struct("<BIQ")  # kind, nbytes, job


class Frame(NamedTuple):
    kind: int
    job: int
    payload: bytes


def pack_frame(kind: int, job: int, encoded: object) -> bytes:
    """The bytes of a frame; raises ProtocolError when it would be too long."""
    payload = pickle.dumps(encoded, protocol=5)
    if len(payload) > FRAME_LIMIT:
        raise ProtocolError(f"a message of {len(payload):,} bytes is longer than a frame may be")
    return _HEADER.pack(kind, len(payload), job) + payload


def pack_message(job: int, message: object, admitted: AdmittedClasses) -> bytes:
    """All frames of a message, its parts first; raises TypeError for what may not cross the pipe."""
    frames: list[bytes] = []

    def add_part(encoded: object) -> int:
        frames.append(pack_frame(PART, job, encoded))
        return len(frames) - 1

    frames.append(pack_frame(MESSAGE, job, Encoder(admitted, add_part).encode(message)))
    return b"".join(frames)


def read_frame(read: Callable[[int], bytes]) -> Frame | None:
    """The next frame; None at the end of the pipe.

    Parameters
    ----------
    read
        Gives as many bytes as asked for, fewer only at the end, as `BufferedReader.read` does.
    """
    header = read(_HEADER.size)
    if not header:
        return None
    if len(header) < _HEADER.size:
        raise ProtocolError("the pipe ended within a header")
    kind, nbytes, job = _HEADER.unpack(header)
    if kind not in (MESSAGE, PART) or nbytes > FRAME_LIMIT:
        raise ProtocolError(f"a frame began with {header.hex()}, which is no header")
    payload = read(nbytes)
    if len(payload) < nbytes:
        raise ProtocolError("the pipe ended within a frame")
    return Frame(kind, job, payload)


def unpack(payload: bytes) -> object:
    """The plain data of a frame; raises ProtocolError for any other bytes."""
    try:
        with gc_paused():
            return _PlainUnpickler(io.BytesIO(payload)).load()
    except ProtocolError:
        raise
    except Exception as error:
        raise ProtocolError(f"a frame cannot be read: {type(error).__name__}: {str(error)[:200]}") from error


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> Never:
        raise ProtocolError(f"a frame names {module_name[:100]}.{global_name[:100]}")

    def persistent_load(self, _pid: object) -> Never:
        raise ProtocolError("a frame holds a persistent id")


@contextmanager
def gc_paused() -> Iterator[None]:
    """No garbage collection meanwhile: a load of 20,000 tuples would set it off again and again, in vain."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class FrameWriter:
    """Writes frames to a file descriptor, whole and one after the other, from any thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def write(self, frame: bytes) -> None:
        """Blocks while the pipe is full; raises OSError once the other side is gone."""
        rest = memoryview(frame)
        with self._lock:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
