"""The loop that the fuzz programs share: make an input, open it, see that nothing else happens."""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from viewer.errors import ViewerError

SECONDS = 5.0
_PER_REPORT = 100


class Fuzz(Protocol):
    """What is fuzzed."""

    def make(self) -> tuple[str, bytes]:
        """The next input: what it is called, and its bytes. Everything that opening imports is imported already."""

    def open(self, name: str, data: bytes) -> bool:
        """Open it; True where all of it could be shown. Only this is timed and listened to."""

    def is_own(self, event: str, args: tuple[object, ...]) -> bool:
        """Whether an audit event is one that opening any input raises."""


@dataclass
class Outcome:
    """What a run came to.

    Attributes
    ----------
    opened, partial, refused
        How many inputs gave a tree, a part of one, or a ViewerError.
    faults
        What went wrong: the input and what happened.
    slowest_s
        The longest that one input took.
    """

    opened: int = 0
    partial: int = 0
    refused: int = 0
    faults: list[tuple[bytes, str]] = field(default_factory=list)
    slowest_s: float = 0.0

    def __str__(self) -> str:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        return (
            f"{self.opened:,} opened, {self.partial:,} in part, {self.refused:,} refused, "
            f"{len(self.faults):,} faults, slowest {self.slowest_s:.2f} s, peak {peak:,} MiB"
        )


def run(fuzz: Fuzz, count: int) -> Iterator[Outcome]:
    """Open `count` inputs; yields the outcome so far after each hundred, and at the end."""
    events: list[str] = []
    listening = False

    def hear(event: str, args: tuple[object, ...]) -> None:
        if listening and not fuzz.is_own(event, args):
            events.append(f"{event} {str(args)[:100]}")

    sys.addaudithook(hear)
    outcome = Outcome()
    gc.collect()
    for number in range(count):
        name, data = fuzz.make()
        started = time.process_time()
        listening = True
        try:
            whole = fuzz.open(name, data)
            outcome.opened += whole
            outcome.partial += not whole
        except ViewerError:
            outcome.refused += 1
        except BaseException as error:  # noqa: BLE001 - the very thing that is looked for
            outcome.faults.append((data, f"{name}: {type(error).__name__}: {error}"))
        finally:
            listening = False
        seconds = time.process_time() - started
        outcome.slowest_s = max(outcome.slowest_s, seconds)
        if seconds > SECONDS:
            outcome.faults.append((data, f"{name}: took {seconds:.1f} s"))
        if events:
            outcome.faults.append((data, f"{name}: set off {events[:5]}"))
            events.clear()
        if number % _PER_REPORT == _PER_REPORT - 1:
            yield outcome
    yield outcome


def arguments(description: str, more: Callable[[argparse.ArgumentParser], object]) -> argparse.Namespace:
    """The command line of a fuzz program; `more` adds what is its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    more(parser)
    return parser.parse_args()


def report(outcomes: Iterator[Outcome], seed: int, suffix: str) -> int:
    """Print how a run goes, until its end or first fault; what breaks is kept as a file. Returns the exit code."""
    outcome = Outcome()
    for nth, outcome in enumerate(outcomes):
        if nth % 100 == 0 or outcome.faults:
            print(outcome, flush=True)
        if outcome.faults:
            break
    for number, (data, what) in enumerate(outcome.faults):
        Path(f"fuzz-{seed}-{number}{suffix}").write_bytes(data)
        print(what)
    print(f"{outcome.opened + outcome.partial + outcome.refused:,} inputs: {outcome}")
    return bool(outcome.faults)
