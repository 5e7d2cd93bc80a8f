"""The real engine, which meets with a fault in the middle of a request when a test plants one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from viewer.engine.handlers import HANDLERS, prepare_compute
from viewer.roundtrip.scratch import PREFIX as SCRATCH
from viewer.task import Task

ROOT: Final = Path(__file__).parents[2]
LAST_WORDS: Final = "no room at the inn"
EXIT_STATUS: Final = 9


def plant(plan: Path, request: str, fault: str) -> None:
    """Have the next request of a class meet with a fault, once."""
    new = plan.with_suffix(".new")
    new.write_text(json.dumps([request, fault]))
    new.replace(plan)


def faulty_command(plan: Path, door: Path) -> list[str]:
    """The command of an engine that looks for faults in the file `plan`, and exits at start while `door` exists."""
    boot = "import sys; sys.path.insert(0, sys.argv[1]); from tests.faults.faulty_engine import main; main()"
    return [sys.executable, "-I", "-c", boot, str(ROOT), str(plan), str(door)]


def commit(fault: str) -> None:
    """Meet with a fault now."""
    if fault in ("SIGKILL", "SIGSTOP"):
        os.kill(os.getpid(), signal.Signals[fault])
    elif fault == "out of memory":
        bytearray(1 << 46)  # 64 TiB: beyond the bound of any engine
    elif fault == "spew":
        print("a line of a library" * 1000, flush=True)
        os.write(1, bytes(range(256)) * 100)
        os.write(2, b"\xff\xfe" * 20_000)
        subprocess.run(["/bin/echo", "from a child " * 1000], check=True)
    else:
        raise ValueError(fault)


def _met(plan: Path, name: str) -> str:
    """The fault that is planted for this request; it is gone then."""
    try:
        request, fault = json.loads(plan.read_text())
    except FileNotFoundError:
        return ""
    if request != name:
        return ""
    plan.unlink()
    return str(fault)


def _is_under_way(name: str, request: object) -> bool:
    """Of what writes: it has begun to. Others have begun with their first step."""
    if name == "TryRoundTrip":
        return any(Path(tempfile.gettempdir()).glob(f"{SCRATCH}{os.getpid()}-*"))
    target = getattr(request, "target", None)
    return not isinstance(target, Path) or any(target.parent.glob(".checkpoint-viewer-*"))


def _faulty(name: str, handler: Callable[..., Task[object]], plan: Path) -> Callable[..., Task[object]]:
    def handle(*arguments: object) -> Task[object]:
        task = handler(*arguments)
        try:
            while True:
                yield next(task)
                if _is_under_way(name, arguments[0]) and (fault := _met(plan, name)):
                    commit(fault)
        except StopIteration as stop:
            return stop.value
        finally:
            task.close()  # as a lane does: what is half done is removed

    return handle


def main() -> None:
    plan, door = Path(sys.argv[2]), Path(sys.argv[3])
    if door.exists():
        print(LAST_WORDS, file=sys.stderr, flush=True)
        os._exit(EXIT_STATUS)
    from viewer.engine import server

    handlers = {kind: _faulty(kind.__name__, handler, plan) for kind, handler in HANDLERS.items()}
    server.main(handlers, prepare_compute=prepare_compute)
