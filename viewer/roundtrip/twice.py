"""Are the bytes reproducible? The same part saved by two fresh processes with different hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from viewer.errors import ViewerError
from viewer.interpreter import can_start, module_command
from viewer.roundtrip.results import WayFacts
from viewer.task import Progress, Task

_SEEDS: Final = ("1", "2")
_LOOK_S: Final = 0.05
_PIECE: Final = 1 << 20
_MEANT: Final = (
    ("addresses", "storage keys are memory addresses, which differ from process to process"),
    ("storage keys", "storage keys differ: in this format they are memory addresses"),
)


class Twice:
    """Two processes that save one part of a file in several ways, into a folder each.

    Parameters
    ----------
    folder
        Empty; theirs.
    """

    def __init__(self, source: Path, path: str, ways: Sequence[str], folder: Path, device: str) -> None:
        self._folders = [folder / seed for seed in _SEEDS]
        self._arguments = [(str(source), path, device, str(each), *ways) for each in self._folders]
        self._running: list[subprocess.Popen[bytes]] = []

    def task(self) -> Task[None]:
        """Run both, side by side, to their end; they are ended with the task.

        Raises
        ------
        ViewerError
            Where processes cannot be started, or one fails.
        """
        if not can_start():
            raise ViewerError("this program cannot start the interpreters that would save twice")
        # `-I` would overlook the seed with the other PYTHON* variables, so those are left out here.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        # They read from a pipe that nobody writes to: it ends with this process, however that ends, and they with it.
        watched, kept = os.pipe()
        try:
            for seed, folder, arguments in zip(_SEEDS, self._folders, self._arguments, strict=True):
                folder.mkdir()
                self._running.append(
                    subprocess.Popen(  # noqa: S603 - our own interpreter with our own code
                        module_command("viewer.roundtrip.twice", arguments, flags=("-P", "-s")),
                        stdin=watched,
                        stdout=subprocess.DEVNULL,
                        stderr=subprocess.PIPE,
                        env={**inherited, "PYTHONHASHSEED": seed},
                        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                    )
                )
            for done, process in enumerate(self._running):
                yield from _wait_task(process, done)
        finally:
            os.close(watched)
            os.close(kept)
            for process in self._running:
                process.kill()
                process.wait()
                if process.stderr is not None:
                    process.stderr.close()

    def files(self, way: str) -> tuple[Path, Path] | None:
        """The two files of a way; None where it failed."""
        found = [sorted((folder / way).iterdir()) if (folder / way).is_dir() else [] for folder in self._folders]
        return (found[0][0], found[1][0]) if found[0] and found[1] else None


def _wait_task(process: subprocess.Popen[bytes], done: int) -> Task[None]:
    while True:
        yield Progress(done, len(_SEEDS), "processes")
        with suppress(subprocess.TimeoutExpired):
            _, said = process.communicate(timeout=_LOOK_S)
            break
    if process.returncode:
        lines = said.decode("utf-8", "replace").strip().splitlines()
        raise ViewerError(f"saving in a process of its own failed: {lines[-1] if lines else process.returncode}")


def first_difference(a: Path, b: Path) -> int:
    """Offset of the first byte that differs, the shorter length where one file goes on; -1 where they are equal."""
    offset = 0
    with a.open("rb") as left, b.open("rb") as right:
        while True:
            one, other = left.read(_PIECE), right.read(_PIECE)
            if one != other:
                both = zip(one, other, strict=False)
                return offset + next((at for at, (x, y) in enumerate(both) if x != y), min(len(one), len(other)))
            if not one:
                return -1
            offset += len(one)


def reason_task(way: WayFacts, a: Path, b: Path) -> Task[str]:
    """Why two files that hold the same differ, as far as the explanation of bytes can tell."""
    from viewer.export.explain import explain_task

    if way.name.startswith("pickle"):
        return f"each storage is written in the legacy format inside the pickle: {_MEANT[0][1]}"
    try:
        found = yield from explain_task(a, b)
    except ViewerError as error:
        return f"not explained: {error.fault}"
    texts = [reason.text for reason in found.reasons]
    for part, meaning in _MEANT:
        if any(part in text for text in texts):
            return meaning
    return texts[0] if texts else "not explained"


def _end_with_parent() -> None:
    """Wait for the end of standard input."""
    while os.read(0, 1):
        pass
    os._exit(1)


def main() -> None:
    """Save a part of a file in several ways. Arguments: file, path, device, folder, ways."""
    from viewer.formats.opening import open_task
    from viewer.roundtrip.live import live_task
    from viewer.roundtrip.ways import all_ways
    from viewer.task import run

    threading.Thread(target=_end_with_parent, daemon=True).start()
    source, path, device, folder, *names = sys.argv[1:]
    checkpoint = run(open_task(Path(source)))
    tree = run(live_task(checkpoint, checkpoint.find(path), device)).root
    for way in all_ways():
        if way.facts.name in names:
            own = Path(folder) / way.facts.name
            own.mkdir()
            # Why it fails is told by the row of the way itself, where the same call fails.
            with suppress(Exception):
                way.write(tree, own)
