"""An engine with requests made for tests, in a process of its own like the real one."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from viewer.checkpoint.document import Checkpoint, FileFacts
from viewer.checkpoint.nodes import Kind, NodeTable, OtherKey
from viewer.checkpoint.tensors import StorageTable, TensorTable
from viewer.engine.admitted import MODULES, AdmittedClasses
from viewer.engine.handlers import HANDLERS
from viewer.engine.protocol import LaneName, OpenFile, Request
from viewer.errors import MalformedFile
from viewer.task import Progress, Task

ROOT = Path(__file__).parents[2]
TEST_ADMITTED = AdmittedClasses((*MODULES, "tests.engine.fake_engine"))


@dataclass(frozen=True, slots=True)
class Steps(Request):
    """Yield `n` times, `step_s` apart; the result is the number of steps."""

    n: int
    step_s: float
    partial: bool = False


@dataclass(frozen=True, slots=True)
class ComputeSteps(Steps):
    lane: ClassVar[LaneName] = "compute"


@dataclass(frozen=True, slots=True)
class IdleSteps(Steps):
    lane: ClassVar[LaneName] = "compute"
    waits_for_idle: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Save(Request):
    """Work for a long time beside a temporary file that is removed at the end."""

    lane: ClassVar[LaneName] = "save"
    path: Path


@dataclass(frozen=True, slots=True)
class Stuck(Request):
    """Never come to a second step: asleep, or in C code that holds the interpreter."""

    holds_interpreter: bool


@dataclass(frozen=True, slots=True)
class Die(Request):
    """End the engine in the middle of a task."""

    how: str


@dataclass(frozen=True, slots=True)
class Fail(Request):
    how: str


@dataclass(frozen=True, slots=True)
class Spew(Request):
    """Print in all ways that a library may, and start a process that does."""


@dataclass(frozen=True, slots=True)
class Allocate(Request):
    nbytes: int


@dataclass(frozen=True, slots=True)
class CountNodes(Request):
    """The number of nodes of a document and the number of its blobs in the engine."""

    lane: ClassVar[LaneName] = "compute"
    document: int

    @property
    def documents(self) -> tuple[int, ...]:
        return (self.document,)


@dataclass(frozen=True, slots=True)
class CountBoth(Request):
    lane: ClassVar[LaneName] = "compute"
    a: int
    b: int

    @property
    def documents(self) -> tuple[int, ...]:
        return (self.a, self.b)


def write_document(path: Path, n_nodes: int, steps: int = 1) -> Path:
    """A file that the fake engine opens as a checkpoint of `n_nodes` nodes, in so many steps of 10 ms."""
    path.write_text(f"{n_nodes} {steps}")
    return path


def make_checkpoint(path: Path, n: int) -> Checkpoint:
    """A checkpoint with `n` nodes below each other, half as many tensors and values of all sorts."""
    m = n // 2
    values: list[object] = [(None, i, i / 7, f"text {i}", b"\0\xff", True)[i % 6] for i in range(n)]
    nodes = NodeTable(
        kind=array("B", [Kind.SCALAR]) * n,
        type_id=array("L", [0]) * n,
        parent=array("q", range(-1, n - 1)),
        first_child=array("q", [0]) * n,
        n_children=array("q", [0]) * n,
        key=[OtherKey(f"({i}, 2)") if i % 1000 == 999 else i if i % 7 == 0 else f"layer.{i}" for i in range(n)],
        value=values,
        types=["int"],
    )
    tensors = TensorTable(
        dtype=array("B", [0]) * m,
        shape=[(i, 3) for i in range(m)],
        stride=[(3, 1)] * m,
        storage=array("q", range(m)),
        storage_offset=array("q", [0]) * m,
        flags=array("B", [0]) * m,
        extra={0: {"scale": 0.5, "names": ("a", None)}},
        problem=dict.fromkeys(range(0, m, 2), "no bytes"),
    )
    storages = StorageTable(key=[str(i) for i in range(m)], nbytes=array("q", range(m)))
    stat = path.stat()
    facts = FileFacts(path, stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_dev)
    return Checkpoint(path, "fake", [facts], nodes, tensors, storages, blobs=[b"secret"])


def open_file(request: OpenFile) -> Task[Checkpoint]:
    try:
        n_nodes, steps = (int(word) for word in request.path.read_text().split())
    except (OSError, ValueError) as error:
        raise MalformedFile("nothing to see", path=request.path) from error
    if n_nodes < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    with request.path.with_suffix(".openings").open("a") as openings:
        openings.write("opened\n")
    for step in range(steps):
        yield Progress(step, steps)
        time.sleep(0.01)
    return make_checkpoint(request.path, n_nodes)


def steps(request: Steps) -> Task[int]:
    for step in range(request.n):
        yield Progress(step, request.n, "steps", step if request.partial else None)
        time.sleep(request.step_s)
    yield Progress(request.n, request.n, "steps")
    return request.n


def save(request: Save) -> Task[None]:
    request.path.write_text("half")
    try:
        for _ in range(2000):
            yield Progress(0, 0)
            time.sleep(0.01)
    finally:
        request.path.unlink()


def stuck(request: Stuck) -> Task[None]:
    yield Progress(0, 1)
    if request.holds_interpreter:
        re.match(r"(a+)+$", "a" * 64 + "b")
    time.sleep(600)


def die(request: Die) -> Task[None]:
    yield Progress(0, 1)
    if request.how == "exit":
        print("last words", file=sys.stderr, flush=True)
        os._exit(3)
    os.kill(os.getpid(), signal.Signals[request.how])
    time.sleep(600)


def fail(request: Fail) -> Task[object]:
    yield Progress(0, 1)
    if request.how == "viewer":
        raise MalformedFile("it is broken", path="/x/model.pth", advice="Mend it")
    if request.how == "other kind":
        raise _Unknown("it is odd", path="/x/model.pth")
    if request.how == "recursion":
        return fail_deeply(0)
    if request.how == "type":
        return object()
    if request.how == "type in parts":
        return [list(range(50_000)), object()]
    if request.how == "exit":
        sys.exit(4)
    raise RuntimeError("a bug")


def fail_deeply(depth: int) -> int:
    return fail_deeply(depth + 1) + 1


class _Unknown(MalformedFile):
    """Not in a module that is admitted by name alone: it begins with an underscore and is looked up by its base."""

    __module__ = "somewhere.else"


def spew(_request: Spew) -> Task[str]:
    yield Progress(0, 1)
    print("a line of a library" * 1000, flush=True)
    os.write(1, bytes(range(256)) * 100)
    os.write(2, b"\xff\xfe" * 20_000)
    subprocess.run([sys.executable, "-c", "print('from a child' * 1000)"], check=True)
    return sys.stdin.read()


def allocate(request: Allocate) -> Task[int]:
    yield Progress(0, 1)
    return len(bytearray(request.nbytes))


def count_nodes(_request: CountNodes, checkpoint: Checkpoint) -> Task[tuple[int, int]]:
    yield Progress(0, 1)
    return len(checkpoint.nodes), len(checkpoint.blobs)


def count_both(_request: CountBoth, a: Checkpoint, b: Checkpoint) -> Task[tuple[int, int]]:
    yield Progress(0, 1)
    return len(a.nodes), len(b.nodes)


TEST_HANDLERS = {
    **HANDLERS,
    OpenFile: open_file,
    Steps: steps,
    ComputeSteps: steps,
    IdleSteps: steps,
    Save: save,
    Stuck: stuck,
    Die: die,
    Fail: fail,
    Spew: spew,
    Allocate: allocate,
    CountNodes: count_nodes,
    CountBoth: count_both,
}


def slow_import() -> None:
    """In place of `import torch`: no place to stop, and no other thread runs where the time is negative."""
    seconds = float(sys.argv[2])
    if seconds < 0:
        ctypes.PyDLL(None).usleep(int(-seconds * 1e6))  # a PyDLL keeps the interpreter's lock
    else:
        time.sleep(seconds)


def main() -> None:
    from viewer.engine import server

    server.main(TEST_HANDLERS, TEST_ADMITTED, slow_import)


def fake_command(import_s: float = 0.0) -> list[str]:
    """The command that starts this engine; its compute lane takes `import_s` to be ready (see `slow_import`)."""
    boot = "import sys; sys.path.insert(0, sys.argv[1]); from tests.engine.fake_engine import main; main()"
    return [sys.executable, "-I", "-c", boot, str(ROOT), str(import_s)]
