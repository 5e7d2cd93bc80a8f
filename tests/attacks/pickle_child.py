"""Opens one pickle in a process of its own and reports, as JSON, what that took and what it set off.

    python pickle_child.py FILE

Prints one line: {"outcome", "nodes", "seconds", "peak_nbytes", "events"}. `events` are the audit events that reading
raised, apart from the few that are in every reading.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from viewer.errors import ViewerError
from viewer.formats.pickle import PickleSession, StorageStandIn, unpickler
from viewer.formats.pickle.actions import ACTIONS
from viewer.formats.tree import build_nodes

OUR_OWN = {"builtins.id", "array.__new__"}
"""Events that the reader itself raises, whatever the file: it makes columns and asks for identities."""


def peak_nbytes() -> int:
    """The most memory that this process has had; 0 on systems that do not say."""
    file = Path("/proc/self/status")
    status = file.read_text(encoding="ascii") if file.exists() else "VmHWM: 0 kB"
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))


def main(path: Path) -> None:
    assert unpickler is not None  # imported before the hook, as opening any file imports it
    assert ACTIONS
    data = path.read_bytes()
    events: list[str] = []
    listening = False

    def hear(event: str, args: tuple[object, ...]) -> None:
        if listening and event not in OUR_OWN:
            events.append(f"{event} {str(args)[:100]}")

    sys.addaudithook(hear)
    before = peak_nbytes()
    session = PickleSession(nested_loader=lambda raw: StorageStandIn(0, 0) if raw else None)
    started = time.process_time()
    outcome = "opened"
    nodes = 0
    listening = True
    try:
        loaded = session.load(data, source_name="data.pkl", partial=True)
        outcome = loaded.problem or outcome
        nodes = len(build_nodes(loaded.root, session))
        del loaded
    except ViewerError as error:
        outcome = f"{type(error).__name__}: {error}"
    listening = False
    report = {
        "outcome": outcome,
        "nodes": nodes,
        "seconds": time.process_time() - started,
        "peak_nbytes": peak_nbytes() - before,
        "events": events,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
