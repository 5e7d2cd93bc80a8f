"""The engine process as the client holds it: its pipes, what it prints, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from viewer.engine.admitted import AdmittedClasses
from viewer.engine.faults import ProtocolError
from viewer.engine.framing import Frame, pack_message, read_frame
from viewer.engine.protocol import Hello

NOISE_LIMIT: Final = 1 << 16
"""Bytes that may come before the engine's token: what start-up files of an interpreter print to standard output."""

LOG_NBYTES: Final = 1 << 14
"""Of what the engine prints, the end is kept: a traceback, or the stacks that faulthandler writes."""

_EXIT_S: Final = 1.0
"""How long a process may still run after it closed its pipe."""

_JOIN_S: Final = 0.5
"""Longest wait for the threads of an ended process: a process that it started may hold its standard error."""


class EngineProcess:
    """One running engine. Two daemon threads: one writes, so that no caller waits for a full pipe; one keeps the log.

    Raises OSError when the process cannot be started.
    """

    def __init__(self, command: Sequence[str], admitted: AdmittedClasses, memory_nbytes: int) -> None:
        self._token = os.urandom(16)
        self._log: deque[bytes] = deque()
        self._log_nbytes = 0
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._process = subprocess.Popen(  # noqa: S603 - our own command, without a shell
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A console program started by a window would open a console on Windows.
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._threads = [
            threading.Thread(target=self._write, name="engine-writer", daemon=True),
            threading.Thread(target=self._keep_log, name="engine-log", daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self.send(pack_message(0, Hello(self._token, memory_nbytes), admitted))

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, frames: bytes) -> None:
        """Queue the frames of a message; never blocks."""
        self._outbox.put(frames)

    def await_ready(self) -> bool:
        """Wait until the engine speaks; False when it ends first. Raises ProtocolError when it only prints."""
        assert self._process.stdout is not None
        seen = bytearray()
        while not seen.endswith(self._token):
            byte = self._process.stdout.read(1)
            seen += byte
            if not byte or len(seen) > NOISE_LIMIT:
                self._add_to_log(bytes(seen))
                if byte:
                    raise ProtocolError("it printed too much")
                return False
        self._add_to_log(bytes(seen[: -len(self._token)]))
        return True

    def read_frame(self) -> Frame | None:
        """The next frame; None when the engine has ended. Raises ProtocolError."""
        assert self._process.stdout is not None
        return read_frame(self._process.stdout.read)

    def kill(self) -> None:
        """End the process at once, also a stopped one. From any thread."""
        self._process.kill()

    def is_stopped(self) -> bool:
        """True while the engine is stopped (SIGSTOP), where the system tells (Linux). A debugger's stop is none."""
        try:
            status = Path(f"/proc/{self._process.pid}/stat").read_bytes()
        except OSError:
            return False
        return status.rpartition(b") ")[2][:1] == b"T"  # after the name, which may hold anything (man 5 proc)

    def wake(self) -> None:
        """Have a stopped engine go on, so that it can end as it should."""
        if sys.platform != "win32":
            self._process.send_signal(signal.SIGCONT)

    def hang_up(self) -> None:
        """Close the pipe to the engine when all that was queued is written; it then ends by itself."""
        self._outbox.put(None)

    def finish(self, *, at_once: bool) -> str:
        """Make sure that the process and its threads are gone, and say how it ended ("was ended by SIGKILL").

        `at_once` kills it; otherwise its pipe has ended, and it may take a moment to end as it will.
        """
        if not at_once:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_EXIT_S)
        self._process.kill()
        status = self._process.wait()
        self.hang_up()
        for thread in self._threads:
            thread.join(_JOIN_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return _how_it_ended(status, self.last_words())

    def last_words(self) -> str:
        """The last line that the engine printed; "" when it printed nothing."""
        lines = b"".join(self._log).decode(errors="replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            with pipe:
                while (frames := self._outbox.get()) is not None:
                    pipe.write(frames)
                    if self._outbox.empty():
                        pipe.flush()
        except OSError:  # it has ended; the reader notices and tells
            return

    def _keep_log(self) -> None:
        pipe = self._process.stderr
        assert isinstance(pipe, BufferedReader)
        with pipe:
            while text := pipe.read1(4096):
                self._add_to_log(text)

    def _add_to_log(self, text: bytes) -> None:
        self._log.append(text[-LOG_NBYTES:])
        self._log_nbytes += len(self._log[-1])
        while len(self._log) > 1 and self._log_nbytes - len(self._log[0]) >= LOG_NBYTES:
            self._log_nbytes -= len(self._log.popleft())


def _how_it_ended(status: int, last_words: str) -> str:
    if status < 0 and sys.platform != "win32":
        try:
            name = signal.Signals(-status).name
        except ValueError:  # a real-time signal
            name = f"signal {-status}"
        return f"was ended by {name}"
    said = f" ({last_words})" if last_words else ""
    return f"ended with exit status {status}{said}"
