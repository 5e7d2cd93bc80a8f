"""Opens one file of any container in a process of its own and reports, as JSON, what that took and what it set off.

    python file_child.py FILE

An ordinary file of the same container is opened first, so that what Python itself loads at its first use (modules of
the reader, codecs) is there before the hook listens.
"""

from __future__ import annotations

import io
import json
import pickle
import sys
import time
import zipfile
from pathlib import Path

from viewer.checkpoint.nodes import Kind
from viewer.errors import ViewerError
from viewer.formats.opening import open_task
from viewer.task import run

OUR_OWN = {"builtins.id", "array.__new__", "object.__getattr__", "os.listdir", "os.scandir"}
"""Events of every reading, whatever the file: columns, identities, a look at whether a folder is meant."""


def peak_nbytes() -> int:
    """The most memory that this process has had; 0 on systems that do not say."""
    file = Path("/proc/self/status")
    status = file.read_text(encoding="ascii") if file.exists() else "VmHWM: 0 kB"
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))


def ordinary_files() -> list[bytes]:
    """A sound file of each of the most common containers."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("archive/data.pkl", pickle.dumps({"a": 1}, 2))
        writer.writestr("archive/version", "3\n")
    header = b'{"__metadata__":{"a":"b"},"w":{"shape":[2],"dtype":"F32","data_offsets":[0,8]},"w":{"x":1}}'
    return [archive.getvalue(), len(header).to_bytes(8, "little") + header + bytes(8), pickle.dumps({"a": "ü"})]


def warm_up(beside: Path) -> None:
    file = beside.with_name(f"{beside.name}.ordinary")
    try:
        for data in ordinary_files():
            file.write_bytes(data)
            run(open_task(file))
    finally:
        file.unlink()


def main(path: Path) -> None:
    warm_up(path)
    events: list[str] = []
    listening = False

    def is_usual(event: str, args: tuple[object, ...]) -> bool:
        return event in OUR_OWN or (event == "open" and str(args[0]) == str(path) and not writes(args))

    def writes(args: tuple[object, ...]) -> bool:
        return any(letter in str(args[1] or "") for letter in "wax+")

    def hear(event: str, args: tuple[object, ...]) -> None:
        if listening and not is_usual(event, args):
            events.append(f"{event} {str(args)[:100]}")

    sys.addaudithook(hear)
    before = peak_nbytes()
    started = time.process_time()
    outcome = "opened"
    checkpoint = None
    listening = True
    try:
        checkpoint = run(open_task(path))
    except ViewerError as error:
        outcome = f"{type(error).__name__}: {error}"
    listening = False
    seconds = time.process_time() - started
    peak = peak_nbytes() - before
    problems: list[str] = []
    if checkpoint is not None:
        nodes = checkpoint.nodes
        problems = [str(nodes.value[at]) for at in range(len(nodes)) if nodes.kind[at] == Kind.PROBLEM]
        problems += [*checkpoint.tensors.problem.values(), *checkpoint.storages.problem.values()]
    report = {
        "outcome": outcome,
        "nodes": 0 if checkpoint is None else len(checkpoint.nodes),
        "tensors": 0 if checkpoint is None else len(checkpoint.tensors),
        "warnings": [] if checkpoint is None else [warning[:300] for warning in checkpoint.warnings[:100]],
        "problems": [problem[:300] for problem in problems[:100]],
        "seconds": seconds,
        "peak_nbytes": peak,
        "events": events,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
