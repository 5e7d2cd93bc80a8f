from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engine.fake_engine import TEST_ADMITTED, fake_command
from tests.engine.recorder import Recorder
from viewer.engine.client import EngineClient


@pytest.fixture
def no_descriptor_left() -> Iterator[None]:
    """No file descriptor outlives its test (that no process and no thread does is looked at for all tests)."""
    gc.collect()
    before = _open_fds()
    yield
    # The thread that keeps the log of a lost engine may be closing its pipe.
    end_s = time.monotonic() + 3
    while _open_fds() - before and time.monotonic() < end_s:
        time.sleep(0.01)
    assert _open_fds() - before == set()


def _open_fds() -> set[str]:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        return set()
    found = set()
    for fd in folder.iterdir():
        try:
            found.add(f"{fd.name} {fd.readlink()}")
        except OSError:  # the one that listed the folder
            continue
    return found


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def start_client(recorder: Recorder) -> Iterator[Callable[..., EngineClient]]:
    """Start clients of the fake engine; they are closed at the end."""
    clients: list[EngineClient] = []

    def start(**settings: object) -> EngineClient:
        settings.setdefault("command", fake_command())
        client = EngineClient(recorder, admitted=TEST_ADMITTED, **settings)
        client.start()
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.close()


@pytest.fixture
def client(start_client: Callable[..., EngineClient]) -> EngineClient:
    return start_client()
