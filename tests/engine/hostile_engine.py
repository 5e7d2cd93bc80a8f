"""Engines that lie: they say the token and then send what the client must not believe."""

from __future__ import annotations

import os
import pickle
import sys
import time
from pathlib import Path

from viewer.engine.admitted import ADMITTED
from viewer.engine.decoding import Decoder
from viewer.engine.framing import MESSAGE, PART, pack_frame, pack_message, read_frame, unpack
from viewer.engine.protocol import Accepted, Event, Hello, Result

ROOT = Path(__file__).parents[2]
HEADER_NBYTES = 13


class _Canary:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"touch {self.path}",)


def _frame_of_pickle(payload: bytes) -> bytes:
    header = b"\1" + len(payload).to_bytes(4, "little") + (1).to_bytes(8, "little")
    assert len(header) == HEADER_NBYTES
    return header + payload


def _event(job: int, event: Event) -> bytes:
    return pack_message(job, event, ADMITTED)


def lies(canary: str = "") -> dict[str, bytes]:
    """By name: what is sent in answer to job 1. One of them would create the file `canary`."""
    return {
        "reduce": _frame_of_pickle(pickle.dumps(_Canary(canary))),
        "a name": _frame_of_pickle(b"cbuiltins\neval\n."),
        "a name on the stack": _frame_of_pickle(b"\x80\x04\x8c\x02os\x8c\x06system\x93."),
        "a persistent id": _frame_of_pickle(b"Pos.system\n."),
        "an extension": _frame_of_pickle(b"\x80\x02\x82\x01."),
        "no pickle": _frame_of_pickle(b"\xff" * 40),
        "half a frame": _event(1, Accepted(1))[:-5],
        "a line of text": b"Traceback (most recent call last):\n",
        "a huge frame": b"\1\xff\xff\xff\xff" + bytes(8),
        "a class that is not admitted": pack_frame(MESSAGE, 1, ("object", "subprocess:Popen", [1])),
        "a module that is not admitted": pack_frame(PART, 1, ("object", "os:stat_result", [1])),
        "a function of an admitted module": pack_frame(MESSAGE, 1, ("object", "viewer.errors:_rebuild", [])),
        "too few fields": pack_frame(MESSAGE, 1, ("object", "viewer.engine.protocol:Result", [1])),
        "a part that never came": pack_frame(MESSAGE, 1, ("parts", "list", (0,))),
        "a number as event": pack_frame(MESSAGE, 1, 5),
        "an event of another job": _event(1, Result(2, "hello")),
        "a request as event": pack_frame(MESSAGE, 1, ("object", "viewer.engine.protocol:Ping", ["x"])),
    }


def main() -> None:
    name = sys.argv[2]
    frame = read_frame(sys.stdin.buffer.read)
    assert frame is not None
    hello = Decoder(ADMITTED).decode(unpack(frame.payload))
    assert isinstance(hello, Hello)
    if name == "no token":
        os.write(1, b"garbage " * 20_000)
    else:
        os.write(1, hello.token)
        sys.stdin.buffer.read(1)
        os.write(1, lies(sys.argv[3])[name])
    if name != "half a frame":
        time.sleep(600)


def hostile_command(name: str, canary: Path) -> list[str]:
    boot = "import sys; sys.path.insert(0, sys.argv[1]); from tests.engine.hostile_engine import main; main()"
    return [sys.executable, "-I", "-c", boot, str(ROOT), name, str(canary)]
