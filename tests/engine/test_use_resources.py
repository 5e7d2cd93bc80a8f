"""The bounds that a person gives the engine: threads, memory, room for kept scans."""

from __future__ import annotations

import queue
import subprocess
import sys

import psutil
import pytest

from viewer.engine.client import EngineClient
from viewer.engine.host import default_memory_nbytes
from viewer.engine.protocol import Event, Result
from viewer.engine.values_requests import MeasureScanCache, UseResources
from viewer.tensors import scan_cache
from viewer.tensors.scan_cache import cache_folder, keep_at_most, kept_nbytes

THREADS = """
import torch
from viewer.tensors import workers
own = torch.get_num_threads()
workers.use_threads(3)
print(torch.get_num_threads(), len(set(workers.answers(lambda job: job, range(5), workers=8))))
workers.use_threads(1)
print(torch.get_num_threads(), workers._bound)
workers.use_threads(0)
print(torch.get_num_threads() == own, workers._bound == workers.WORKERS)
"""


def test_that_threads_are_torchs_own_and_come_back() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == ["3 5", "1 1", "True True"], done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="the bound is RLIMIT_DATA of Linux")
def test_that_the_bound_of_memory_reaches_the_engine_and_is_taken_back() -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    others = {child.pid for child in psutil.Process().children()}  # a virtual screen of other tests, for one
    client = EngineClient(events.put)
    client.start()

    def ask(request: UseResources | MeasureScanCache) -> object:
        number = client.submit(request)
        while not (isinstance(event := events.get(timeout=60), Result) and event.job == number):
            pass
        return event.value

    try:
        assert ask(UseResources(2, 3 << 30, 0)) is None
        (engine,) = (child for child in psutil.Process().children() if child.pid not in others)
        assert engine.rlimit(psutil.RLIMIT_DATA)[0] == 3 << 30
        ask(UseResources(0, 0, 64 << 20))
        assert engine.rlimit(psutil.RLIMIT_DATA)[0] == default_memory_nbytes()
        assert ask(MeasureScanCache()) == kept_nbytes()
    finally:
        client.close()


def test_that_kept_scans_are_bounded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_cache, "_bound", None)
    folder = cache_folder()
    assert folder is not None
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{number}.scan.json" for number in range(3)]
    for path in files:
        path.write_bytes(b"x" * 1000)
    try:
        assert kept_nbytes() >= 3000
        keep_at_most(1500)
        assert kept_nbytes() <= 1500
        keep_at_most(0)
        assert kept_nbytes() == 0
    finally:
        for path in files:
            path.unlink(missing_ok=True)
