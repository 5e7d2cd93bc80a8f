"""Attacks what reads bytes of others (`targets`), led by the coverage of our own code: a long run by hand.

    pip install atheris
    python -m tests.attacks.fuzz_guided files --count 300000 [--seed 1]
    python -m tests.attacks.fuzz_guided files --count 300 --unguided      # without atheris, as the tests do

Every input ends in a value or a ViewerError within 5 s and 500 MB, and sets off no audit event but those that any
input does. What breaks that ends the run, and is written to the current folder. An input that reaches new code is
kept and changed further, by libFuzzer's changes of bytes and by those that know the form.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import random
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from tests.attacks.fuzzing import SECONDS, arguments, report, run

MOST_NBYTES = 1 << 16
MEMORY_MB = 500


def write_seeds(name: str, folder: Path) -> None:
    """Write the seeds of a target, in a process of its own: torch makes them, and weighs more than what is tried."""
    program = (
        "import sys, pathlib; from tests.attacks.targets import TARGETS\n"
        "for nth, data in enumerate(TARGETS[sys.argv[1]].seeds()):\n"
        "    pathlib.Path(sys.argv[2], str(nth)).write_bytes(data)"
    )
    subprocess.run([sys.executable, "-c", program, name, str(folder)], check=True)


class Attack:
    """One target, with the seeds in a folder."""

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        from tests.attacks.targets import TARGETS
        from viewer.errors import ViewerError

        self.target = TARGETS[name]
        self.refusals: type[Exception] = ViewerError
        self.pool = [path.read_bytes() for path in sorted(folder.iterdir())]
        self.rng = random.Random(seed)
        for data in self.pool:  # so that all modules are imported before the hook listens
            self.try_out(data)
        for codec in (
            "cp437",
            "utf-16-le",
            "utf-16-be",
        ):  # of old names in zip files, and of text that is no checkpoint
            "".encode(codec)
        ast.literal_eval('"\\N{SPACE}"')  # names of characters in .npy headers: Python loads their table
        warnings.simplefilter("ignore")  # what `re` thinks of odd patterns

    def try_out(self, data: bytes) -> None:
        """Take one input, which may be refused."""
        try:
            self.target.open(data)
        except self.refusals:
            return

    def changed(self, rng: random.Random, data: bytes) -> bytes:
        """Another input, made of this one."""
        from tests.attacks.fuzz_pickle import mutate

        return (self.target.mutate or mutate)(rng, data or rng.choice(self.pool), self.pool)

    # What `fuzzing.run` asks for

    def make(self) -> tuple[str, bytes]:
        return "input", self.changed(self.rng, self.rng.choice(self.pool))

    def open(self, _name: str, data: bytes) -> bool:
        self.target.open(data)
        return True

    def is_own(self, event: str, args: tuple[object, ...]) -> bool:
        return self.target.is_own(event, args)


class Watch:
    """Tells of audit events that a target should not raise."""

    def __init__(self, attack: Attack) -> None:
        self._attack = attack
        self._events: list[str] = []
        self._listening = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[object, ...]) -> None:
        if self._listening and not self._attack.is_own(event, args):
            self._events.append(f"{event} {str(args)[:100]}")

    def try_out(self, data: bytes) -> None:
        self._listening = True
        try:
            self._attack.try_out(data)
        finally:
            self._listening = False
        if self._events:
            raise AssertionError(f"set off {self._events[:5]}")


def guided(name: str, count: int, seed: int, folder: Path) -> None:
    """Run libFuzzer over one target; it ends the process, with a status that tells whether something broke."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["viewer"]):
        attack = Attack(name, seed, folder)
    watch = Watch(attack)

    def mutator(data: bytes, most: int, number: int) -> bytes:
        rng = random.Random(number)
        made: bytes = attack.changed(rng, data) if rng.random() < 0.5 else atheris.Mutate(data, most)
        return made[:most]

    options = (
        f"-runs={count}",
        f"-seed={seed}",
        f"-timeout={SECONDS:g}",
        f"-rss_limit_mb={MEMORY_MB}",
        f"-max_len={MOST_NBYTES}",
        f"-artifact_prefix=fuzz-{name}-{seed}-",
        "-print_final_stats=1",
        "-verbosity=1",
    )
    atheris.Setup([sys.argv[0], str(folder), *options], watch.try_out, custom_mutator=mutator)
    atheris.Fuzz()


def main() -> int:
    options = arguments(
        "Attack what reads bytes of others, led by coverage",
        lambda parser: (
            parser.add_argument("target", help="one of TARGETS in tests/attacks/targets.py"),
            parser.add_argument("--unguided", action="store_true", help="changes alone, without atheris"),
            parser.add_argument("--folder", type=Path, help="where inputs are written; best in memory"),
            parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS),
        ),
    )
    if options.inside is None:
        # libFuzzer ends its process as it likes, so that another one tidies up.
        with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
            seeds, files = Path(scratch, "seeds"), Path(scratch, "files")
            seeds.mkdir()
            files.mkdir()
            write_seeds(options.target, seeds)
            inside = [sys.executable, "-m", "tests.attacks.fuzz_guided", *sys.argv[1:], "--inside", str(seeds)]
            environment = {**os.environ, "CHECKPOINT_VIEWER_FUZZ_FOLDER": str(files)}
            return subprocess.run(inside, env=environment, check=False).returncode
    if not options.unguided:
        guided(options.target, options.count, options.seed, options.inside)
    attack = Attack(options.target, options.seed, options.inside)
    return report(run(attack, options.count), options.seed, f"-{options.target}.bin")


if __name__ == "__main__":
    raise SystemExit(main())
