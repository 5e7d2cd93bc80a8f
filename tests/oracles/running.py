"""Runs a check over many generated examples."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

Example = TypeVar("Example")

_BATCH = 1_000
"""Examples of one search: it remembers all of them."""


def check_examples(
    examples: st.SearchStrategy[Example], check: Callable[[Example, Path], None], count: int, number: int
) -> int:
    """Check up to `count` examples, fewer where there are no more; returns how many. Raises what a check raises, with
    the smallest example that does."""
    done = 0
    with tempfile.TemporaryDirectory() as folder:

        @seed(number)
        @settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(examples)
        def each(example: Example) -> None:
            nonlocal done
            check(example, Path(folder))
            done += 1

        each()
    return done


def main(what: str, examples: st.SearchStrategy[Example], check: Callable[[Example, Path], None]) -> int:
    """The command line of an oracle."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started, done, batch = time.monotonic(), 0, 0
    while done < options.examples:
        batch += 1
        done += check_examples(examples, check, min(_BATCH, options.examples - done), options.seed * 100_000 + batch)
        print(f"{done:,} examples in {time.monotonic() - started:,.0f} s", flush=True)
    print(f"{what}: {done:,} examples, none failed")
    return 0
